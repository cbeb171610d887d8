"""Seeing from outside when a process is inside a checkpoint: by the files alone.

In WAL mode only a checkpoint writes into the file itself. While one is under way, the memory SQLite maps (-shm) says how far it
means to come (`nBackfillAttempted`) and how far the last one came (`nBackfill`); a killed process leaves both as they were.
"""

import struct
import subprocess
import threading
import time
from pathlib import Path

_NONE = (0, 0)
# Two copies of a header of 48 bytes, then: nBackfill, five read marks, eight lock bytes, nBackfillAttempted.
_BACKFILL_AT, _ATTEMPTED_AT = 96, 128
_NUMBER = struct.Struct("=I")
# Far shorter than a checkpoint, and it leaves the processor to the one that is waited for.
_LOOK_S = 0.0003


def state_of(path: Path) -> tuple[int, int]:
    """Changes whenever the file is written to."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return _NONE
    return found.st_mtime_ns, found.st_size


def seen(path: Path, child: "subprocess.Popen[bytes]", until: float) -> bool:
    """Wait for the first sight of a checkpoint; False where the child ended, or none was seen `until` (of `time.monotonic`)."""
    before = state_of(path)
    while state_of(path) == before:
        if child.poll() is not None or time.monotonic() > until:
            return False
        threading.Event().wait(_LOOK_S)
    return True


def was_under_way(path: Path) -> bool:
    """Whether whoever wrote was killed inside a checkpoint. Only before anybody opens the file again."""
    try:
        mapped = path.with_name(path.name + "-shm").read_bytes()
    except FileNotFoundError:
        return False
    if len(mapped) < _ATTEMPTED_AT + _NUMBER.size:
        return False
    return bool(_NUMBER.unpack_from(mapped, _ATTEMPTED_AT) > _NUMBER.unpack_from(mapped, _BACKFILL_AT))
