"""A program that keeps what an arm of processes needs: a folder, a private Redis server in it, and nothing once the arm is gone.

It runs beside the measuring program, in a session of its own. The one line it prints says where things are, or why there are
none. When its input ends, however that came about, it sees to it that the workers of the folder, the server and the folder are
gone. Run it as `python -m hive_mind.evals.arms.process_guardian`; `open_guardian` does.
"""

import asyncio
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from pathlib import Path

import msgspec

from hive_mind.control.platforms import local
from hive_mind.control.processes import private_redis, processes_in
from hive_mind.errors import BackendNotInstalled, BackendUnavailable, ConfigError, HiveError
from hive_mind.model.decoding import json_decoder
from hive_mind.runtime.workers.config import BusConfig
from hive_mind.safe_files import PassingFolder

_SERVER_WITHIN_S = 90.0
_GONE_WITHIN_S = 60.0
_WORKERS_WITHIN_S = 5.0


class GuardianReady(msgspec.Struct, frozen=True):
    """Where things are; or `error` says why not."""

    folder: str = ""
    bus: BusConfig = BusConfig()
    error: str = ""


class Guardian:
    """The program that keeps folder and server. Open it with `open_guardian`."""

    def __init__(self, process: Process, kept: GuardianReady) -> None:
        self._process = process
        self.folder, self.bus = Path(kept.folder), kept.bus

    async def close(self) -> None:
        """Return when server, folder and all workers are gone. Raises `BackendUnavailable` where that fails."""
        await _ended(self._process)
        if self._process.returncode:
            raise BackendUnavailable("redis", f"what was started for an arm is not all gone; look at {self.folder}")


async def open_guardian() -> Guardian:
    """A server and a folder. Raises `ConfigError` where something has to be installed first, and `BackendError`."""
    try:
        private_redis.found_program()
    except BackendNotInstalled:
        raise
    except ConfigError as error:
        text = "processes talk over Redis, and there is no redis-server here: install it (apt-get install redis-server, brew "
        raise ConfigError(text + "install redis), or let the arm run in-process or in the simulator") from error
    # In a session of its own: Ctrl-C is for the measuring program, which ends it.
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "hive_mind.evals.arms.process_guardian"),
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        start_new_session=True,
    )
    try:
        ready = await asyncio.wait_for(_said(process), _SERVER_WITHIN_S)
    except BaseException:
        await _ended(process)
        raise
    if ready.error:
        await _ended(process)
        raise BackendUnavailable("redis", ready.error)
    return Guardian(process, ready)


async def _said(process: Process) -> GuardianReady:
    assert process.stdout is not None  # noqa: S101 - asked for
    if not (line := await process.stdout.readline()):
        raise BackendUnavailable("process", "the program that keeps folder and server has ended and said nothing")
    return json_decoder(GuardianReady)(line)


async def _ended(process: Process) -> None:
    """Close its input, by which it ends."""
    assert process.stdin is not None  # noqa: S101 - asked for
    process.stdin.close()
    with suppress(ConnectionError):
        await process.stdin.wait_closed()
    try:
        await asyncio.wait_for(process.wait(), _GONE_WITHIN_S)
    except TimeoutError:
        raise BackendUnavailable("process", f"process {process.pid} does not end; end it by hand") from None


def main() -> None:
    """Keep it until nobody needs it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with PassingFolder() as folder:
        try:
            sys.stdout.buffer.write(msgspec.json.encode(asyncio.run(_begin(folder.path))) + b"\n")
            sys.stdout.buffer.flush()
            sys.stdin.read()
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            asyncio.run(_end(folder.path))


async def _begin(folder: Path) -> GuardianReady:
    try:
        return GuardianReady(str(folder), await private_redis.ensure(folder))
    except HiveError as error:
        return GuardianReady(error=str(error))


async def _end(folder: Path) -> None:
    platform = await local.open(folder, folder)
    await asyncio.gather(*(platform.stop(name, _WORKERS_WITHIN_S) for name in processes_in(folder)))
    await private_redis.stop(folder)


if __name__ == "__main__":
    main()
