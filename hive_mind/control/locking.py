"""One command at a time changes a fleet: a lock on its folder that says who holds it.

The operating system releases it when its holder dies, so a file left behind harms nobody.
"""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from hive_mind.errors import HiveError

if sys.platform != "win32":
    import fcntl

_LOOK_S = 0.1
# A process id and a line feed; what is longer was not written here.
_NOTE_MAX_BYTES = 20


class FleetLocked(HiveError):
    """Somebody else changes this fleet. `holder_pid` is 0 where it is not known."""

    def __init__(self, fleet: str, holder_pid: int) -> None:
        self.holder_pid = holder_pid
        who = f"process {holder_pid}" if holder_pid else "another process"
        super().__init__(f"fleet {fleet!r} is being changed by {who}: wait until that has ended, or stop it")


class FleetChanged(HiveError):
    """Somebody else changed the fleet while this one waited to; nothing was done, as it would undo what nobody here has seen."""

    def __init__(self, fleet: str, steps: str) -> None:
        what = f"now this would do: {steps}"
        advice = "look at it with hive-mind plan, take over into the manifest what is to stay, and apply again"
        super().__init__(f"fleet {fleet!r} was changed by somebody else meanwhile, and nothing was done; {what}; {advice}")


@asynccontextmanager
async def fleet_lock(path: Path, fleet: str, wait_s: float) -> AsyncIterator[bool]:
    """Held inside the block; whether it had to be waited for. Raises `FleetLocked` when somebody else holds it for that long."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        has_waited = await _taken(descriptor, fleet, wait_s)
        try:
            _say(descriptor, f"{os.getpid()}\n")
            yield has_waited
        finally:
            _say(descriptor, "")
            if sys.platform != "win32":
                # Not left to close(): a forked child that still has the descriptor would keep the lock.
                fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)


async def _taken(descriptor: int, fleet: str, wait_s: float) -> bool:
    until, has_waited = time.monotonic() + wait_s, False
    while not _take(descriptor):
        if time.monotonic() >= until:
            raise FleetLocked(fleet, _holder(descriptor))
        has_waited = True
        await asyncio.sleep(_LOOK_S)
    return has_waited


def _take(descriptor: int) -> bool:
    if sys.platform != "win32":
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _holder(descriptor: int) -> int:
    note = os.pread(descriptor, _NOTE_MAX_BYTES, 0).strip()
    return int(note) if note.isdigit() else 0


def _say(descriptor: int, note: str) -> None:
    # The lock is held without the note, also where the disk has no room for it.
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, note.encode(), 0)
