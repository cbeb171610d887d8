"""A program that keeps what an arm of processes needs: a folder, a private Redis server in it, and nothing once the arm is gone.

It runs beside the measuring program, in a session of its own. The first line it prints says where things are, or why there
are none. Then it takes numbers of processes, one a line; when its input ends, however that came about, it sees to it that these
processes, the server and the folder are gone. Run it as `python -m hive_mind.evals.arms.processes.process_guardian`.
"""

import asyncio
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from hive_mind.control.processes import private_redis
from hive_mind.errors import HiveError
from hive_mind.runtime.process_identity import Identity, identity_of, is_running, send
from hive_mind.runtime.secrets.references import resolved_here

_END_BY_THEMSELVES_S = 5.0
_LOOK_S = 0.02


class GuardianReady(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where things are; or `error` says why not."""

    folder: str = ""
    url: str = ""
    credential: str = ""
    error: str = ""


def main() -> None:
    """Keep it until nobody needs it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = Path(tempfile.mkdtemp(prefix="hive-mind-eval-"))
    processes: list[Identity] = []
    try:
        _say(asyncio.run(_begin(folder)))
        # One by one: a process is known by when it began, too, and has to be looked at while it is there.
        processes.extend(found for line in sys.stdin if (found := identity_of(int(line))) is not None)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        _end(processes)
        asyncio.run(private_redis.stop(folder))
        shutil.rmtree(folder)


async def _begin(folder: Path) -> GuardianReady:
    try:
        bus = await private_redis.ensure(folder)
        return GuardianReady(str(folder), bus.url, resolved_here(bus.credential))
    except HiveError as error:
        return GuardianReady(error=str(error))


def _say(kept: GuardianReady) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(kept) + b"\n")
    sys.stdout.buffer.flush()


def _end(processes: list[Identity]) -> None:
    """They end when their own input does; those that don't are ended."""
    until_s = time.monotonic() + _END_BY_THEMSELVES_S
    while any(map(is_running, processes)) and time.monotonic() < until_s:
        time.sleep(_LOOK_S)
    for one in processes:
        send(one, signal.SIGKILL)
    while any(map(is_running, processes)):
        time.sleep(_LOOK_S)


if __name__ == "__main__":
    main()
