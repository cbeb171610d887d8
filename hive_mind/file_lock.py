"""Locks on files that are open, which the operating system releases when their holder dies, however it does.

Where the system has no `flock`, everybody gets what they ask for. A holder may leave its number in the file.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

if sys.platform != "win32":
    import fcntl

# A process id and a line feed; what is longer was not written here.
_NOTE_MAX_BYTES = 20

File = int | BinaryIO
"""Or its descriptor."""


def try_lock(file: File, *, is_shared: bool = False) -> bool:
    """Take it at once; False where somebody else has it. Raises `OSError` where the file system has no locks."""
    if sys.platform != "win32":
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def is_locked(path: Path) -> bool:
    """Whether a living process holds the lock on this file. Ask only where nothing else tells: it takes the lock for a moment."""
    if sys.platform == "win32":
        return False
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        return not try_lock(descriptor, is_shared=True)
    except OSError:
        return False
    finally:
        os.close(descriptor)


def is_deleted(descriptor: int) -> bool:
    """Whether a file that is open has no name any more; one that was moved has another."""
    return os.fstat(descriptor).st_nlink == 0


def lock(file: File) -> None:
    """Take it, once nobody else has it."""
    if sys.platform != "win32":
        fcntl.flock(file, fcntl.LOCK_EX)


def unlock(file: File) -> None:
    """Not left to closing the file: a forked child that still has the descriptor would keep the lock."""
    if sys.platform != "win32":
        fcntl.flock(file, fcntl.LOCK_UN)


def note_holder(descriptor: int, pid: int | None) -> None:
    """Say who holds it, None for nobody. That only helps a person who finds it locked; a full disk must not end anything here."""
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, b"" if pid is None else b"%d\n" % pid, 0)


def holder_in(descriptor: int) -> int:
    """The process that noted itself last; 0 where none did."""
    note = os.pread(descriptor, _NOTE_MAX_BYTES, 0).strip()
    return int(note) if note.isdigit() else 0
