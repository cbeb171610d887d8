"""Programs that are started here and run on without us: no terminal, nothing to read, a session of their own.

One is ended by being asked to, and made to when its time is over; only ever the one that was meant.
"""

import asyncio
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGTERM

from hive_mind.errors import BackendTimeout, BackendUnavailable
from hive_mind.runtime.process_identity import Identity, is_running, send


class Child(subprocess.Popen[bytes]):
    """A process meant to outlive its starter, so losing its handle deserves no warning."""

    def __del__(self) -> None:
        """The standard library takes note of the ends of those whom it lost sight of whenever another one begins."""
        # The type stubs do not know of this argument.
        super().__del__(_warn=lambda *_, **__: None)  # type: ignore[call-arg]


def begin(command: Sequence[str], *, sees: Mapping[str, str], where: Path, says: int, holds: Sequence[int] = ()) -> Child:
    """Run it with these variables in a folder. `says` is a descriptor for what it prints, closed here; it inherits `holds`.

    Raises `BackendUnavailable` where it can't be run.
    """
    try:
        return Child(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=says,
            stderr=says,
            env=dict(sees),
            cwd=where,
            start_new_session=True,
            # Its data are somebody's memory: for its owner alone, whatever the shell it was started from has set.
            umask=0o077,
            pass_fds=tuple(holds),
        )
    except OSError as error:
        raise BackendUnavailable(command[0], f"it can't be started: {error}") from error
    finally:
        os.close(says)


_LOOK_S = 0.05
# The kernel ends a killed process at once, unless it waits for a disk.
_KILLED_WITHIN_S = 30.0
_LETS_GO_WITHIN_S = 10.0


async def end_all(name: str, find: Callable[[], Identity | None], is_taken: Callable[[], bool], until: float) -> None:
    """Return when no process is found and the lock of this name is free. `until` is a time of `time.monotonic`.

    Raises `BackendTimeout` where somebody holds it who can't be shown to be ours: that one is left alone.
    """
    while (identity := find()) is not None or is_taken():
        if identity is not None:
            await _end(name, identity, until)
            # Its threads let go of what they hold a moment after it has ended.
            until = max(until, time.monotonic() + _LETS_GO_WITHIN_S)
        elif time.monotonic() > until:
            raise BackendTimeout(name, "a process holds its lock that can't be shown to be ours; it is left alone")
        else:
            await asyncio.sleep(_LOOK_S)


async def _end(name: str, identity: Identity, until: float) -> None:
    send(identity, SIGTERM)
    # One that was paused would not hear it.
    send(identity, SIGCONT)
    if await _is_gone(identity, until):
        return
    send(identity, SIGKILL)
    if not await _is_gone(identity, time.monotonic() + _KILLED_WITHIN_S):
        raise BackendTimeout(name, f"process {identity.pid} was killed and has not ended in {_KILLED_WITHIN_S:g} s")


async def _is_gone(identity: Identity, until: float) -> bool:
    while is_running(identity):
        if time.monotonic() > until:
            return False
        await asyncio.sleep(_LOOK_S)
    return True
