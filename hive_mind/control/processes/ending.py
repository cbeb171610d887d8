"""Ending a process: it is asked to, and made to when its time is over. Only ever the one that was meant."""

import asyncio
import time
from collections.abc import Callable
from signal import SIGCONT, SIGKILL, SIGTERM

from hive_mind.errors import BackendTimeout
from hive_mind.runtime.process_identity import Identity, is_running, send

_LOOK_S = 0.05
# The kernel ends a killed process at once, unless it waits for a disk.
_KILLED_WITHIN_S = 30.0
_LETS_GO_WITHIN_S = 10.0


async def end_all(name: str, find: Callable[[], Identity | None], is_taken: Callable[[], bool], until: float) -> None:
    """Return when no process is found and the lock of this name is free. `until` is a time of `time.monotonic`.

    Raises `BackendTimeout` where somebody holds it who can't be shown to be ours: that one is left alone.
    """
    while (one := find()) is not None or is_taken():
        if one is not None:
            await _end(name, one, until)
            # Its threads let go of what they hold a moment after it has ended.
            until = max(until, time.monotonic() + _LETS_GO_WITHIN_S)
        elif time.monotonic() > until:
            raise BackendTimeout(name, "a process holds its lock that can't be shown to be ours; it is left alone")
        else:
            await asyncio.sleep(_LOOK_S)


async def _end(name: str, one: Identity, until: float) -> None:
    send(one, SIGTERM)
    # One that was paused would not hear it.
    send(one, SIGCONT)
    if await _is_gone(one, until):
        return
    send(one, SIGKILL)
    if not await _is_gone(one, time.monotonic() + _KILLED_WITHIN_S):
        raise BackendTimeout(name, f"process {one.pid} was killed and has not ended in {_KILLED_WITHIN_S:g} s")


async def _is_gone(one: Identity, until: float) -> bool:
    while is_running(one):
        if time.monotonic() > until:
            return False
        await asyncio.sleep(_LOOK_S)
    return True
