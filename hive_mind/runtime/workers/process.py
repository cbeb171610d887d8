"""A worker as a process of its own: one of its name at a time, a log that does not grow for ever, and a note on how to reach it.

It ends well when it is told to: what is under way is answered, what was written is kept, and the note is taken away. It also
ends when its home was deleted: nobody could find it any more to tell it.
"""

import asyncio
import logging
import os
import secrets
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from hashlib import sha256
from logging.handlers import RotatingFileHandler
from pathlib import Path

import msgspec
import psutil
from aiohttp import web

from hive_mind import __version__
from hive_mind.errors import HiveError, InvalidInput, reason_of
from hive_mind.runtime.logs import JsonLines, send_spans
from hive_mind.runtime.secrets import RedactedLines, redact_error, redaction_of, resolved_here
from hive_mind.runtime.settings import Settings, secret, set_variables
from hive_mind.runtime.workers import Contact
from hive_mind.runtime.workers.config import WorkerConfig, read_config
from hive_mind.runtime.workers.health import is_loopback, serve_worker
from hive_mind.runtime.workers.worker import Worker, open_worker
from hive_mind.runtime.workers.worker_host import ORDINARY, Hosting
from hive_mind.safe_files import holder_in, is_deleted, note_holder, try_lock, write_whole

_log = logging.getLogger(__name__)

_LOG_BYTES_MAX = 5_000_000
_LOGS_KEPT = 2
_LOOK_S = 2.0
# A model's thread asks for the interpreter again after each of its hundred steps, and has to wait so long while a question is
# answered: at Python's 5 ms, 32 questions are embedded in three times the time.
_SWITCH_S = 0.0003
_TEXT = "%(asctime)s %(levelname)s %(message)s"

Further = Callable[[WorkerConfig, str], Mapping[str, web.Application]]
"""Of a configuration and the worker's token: applications that it is to answer beside its own, by path."""


class AlreadyRuns(HiveError):
    """Another process has this name in this fleet."""


async def run_worker(
    path: Path,
    stop: asyncio.Event,
    log_here: logging.Handler | None = None,
    further: Further = lambda *_: {},
    hosting: Hosting = ORDINARY,
) -> None:
    """Be the worker of a configuration file until `stop`. Raises `AlreadyRuns`, `ConfigError`, or what ended it.

    Off this machine's loopback, as in a container, it logs to `log_here` and not into files.
    """
    body = await asyncio.to_thread(_read, path)
    config, settings = read_config(path), Settings.from_environment()
    host = settings.http_host
    run = Path(config.run)
    with _only_one(run / f"{config.process}.lock", config.process) as lock:
        contact = run / f"{config.process}.json"
        # That of a predecessor that was killed.
        contact.unlink(missing_ok=True)
        async with AsyncExitStack() as stack:
            handler = stack.enter_context(_logged(config, log_here if not is_loopback(host) else None))
            looking = asyncio.create_task(_stop_without_home(lock, stop, config.process))
            stack.callback(looking.cancel)
            try:
                with _redacted(config, handler):
                    digest = sha256(body).hexdigest()
                    set_variables({name: resolved_here(value, home=Path(config.home)) for name, value in config.env.items()})
                    sys.setswitchinterval(_SWITCH_S)
                    host, token = settings.http_host, secret("WORKER_TOKEN") or secrets.token_urlsafe(32)
                    if not is_loopback(host) and not secret("WORKER_TOKEN"):
                        raise InvalidInput(f"to listen on {host} a worker needs a token of yours: set HIVE_MIND_WORKER_TOKEN")
                    if config.seen.trace:
                        stack.callback(send_spans(config.seen.trace, f"hive-mind {config.fleet} {config.process}", __version__))
                    worker = await open_worker(config, _log.info, digest, hosting)
                    stack.push_async_callback(worker.close)
                    server = await serve_worker(
                        worker, host, config.seen.port, token, further(config, token), settings.http_requests_max
                    )
                    stack.push_async_callback(server.close)
                    stack.callback(worker.drain)
                    await asyncio.to_thread(_note, contact, config, server.port, token, digest)
                    await worker.run_until(stop)
                    _log.info("%s: finishing", config.process)
            except HiveError as error:
                _log.error("%s: %s", config.process, error)
                raise
        contact.unlink(missing_ok=True)


def _note(path: Path, config: WorkerConfig, port: int, token: str, digest: str) -> None:
    started = psutil.Process().create_time()
    contact = Contact(config.process, os.getpid(), started, port, token, digest, __version__, config.models.answering)
    write_whole(path, msgspec.json.encode(contact))


@asynccontextmanager
async def reached_here(worker: Worker, config: WorkerConfig) -> AsyncIterator[None]:
    """While it lasts, commands of this machine ask and teach a worker whose memories are open in this process."""
    token, contact = secrets.token_urlsafe(32), Path(config.run) / f"{config.process}.json"
    server = await serve_worker(worker, "127.0.0.1", 0, token)
    try:
        await asyncio.to_thread(_note, contact, config, server.port, token, "")
        yield
    finally:
        contact.unlink(missing_ok=True)
        worker.drain()
        await server.close()


async def _stop_without_home(lock: int, stop: asyncio.Event, process: str) -> None:
    if is_deleted(lock):
        # It was made just now: a file system that counts no names.
        return
    while not is_deleted(lock):  # noqa: ASYNC110 - a deleted file wakes nobody
        await asyncio.sleep(_LOOK_S)
    _log.warning("%s: its home was deleted, so it ends", process)
    stop.set()


@contextmanager
def _only_one(path: Path, process: str) -> Iterator[int]:
    """Hold a lock that the system releases when this process dies, however it does. Gives its descriptor."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not try_lock(descriptor):
            holder = holder_in(descriptor)
            raise AlreadyRuns(f"{process} runs already" + (f" (process {holder})" if holder else ""))
        note_holder(descriptor, os.getpid())
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _redacted(config: WorkerConfig, handler: logging.Handler) -> Iterator[None]:
    """From here on neither the log nor an error that ends the process holds the value of a credential."""
    hidden = redaction_of(config)
    handler.setFormatter(RedactedLines(handler.formatter or logging.Formatter(), hidden))
    try:
        yield
    except Exception as error:
        redact_error(error, hidden)
        raise


@contextmanager
def _logged(config: WorkerConfig, handler: logging.Handler | None) -> Iterator[logging.Handler]:
    """While it lasts, what this package logs goes into the worker's own file, or to a handler that is given instead."""
    if handler is None:
        folder = Path(config.run).parent / "logs"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handler = RotatingFileHandler(folder / f"{config.process}.log", maxBytes=_LOG_BYTES_MAX, backupCount=_LOGS_KEPT)
    handler.setFormatter(logging.Formatter(_TEXT) if config.seen.log == "text" else JsonLines())
    loggers = [logging.getLogger(name) for name in ("hive_mind", "aiohttp", "asyncio")]
    for logger in loggers:
        logger.addHandler(handler)
    loggers[0].setLevel(logging.DEBUG if config.seen.log == "hops" else logging.INFO)
    try:
        yield handler
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
        handler.close()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path} can't be read: {reason_of(error)}") from error
