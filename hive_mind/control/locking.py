"""One command at a time changes a fleet: a lock on its folder that says who holds it.

The operating system releases it when its holder dies, so a file left behind harms nobody.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from hive_mind.errors import HiveError
from hive_mind.file_lock import holder_in, note_holder, try_lock, unlock

_LOOK_S = 0.1


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
            note_holder(descriptor, os.getpid())
            yield has_waited
        finally:
            note_holder(descriptor, None)
            unlock(descriptor)
    finally:
        os.close(descriptor)


async def _taken(descriptor: int, fleet: str, wait_s: float) -> bool:
    until, has_waited = time.monotonic() + wait_s, False
    while not try_lock(descriptor):
        if time.monotonic() >= until:
            raise FleetLocked(fleet, holder_in(descriptor))
        has_waited = True
        await asyncio.sleep(_LOOK_S)
    return has_waited
