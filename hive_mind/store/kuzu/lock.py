"""One owner per database: a lock beside the file, which also says who holds it and how the last owner left it.

Kuzu's own lock keeps other processes out but lets the same process open a file twice, which destroys it; and its message does
not say who is there. The operating system releases this lock when its holder dies, so a file left behind harms nobody. Where the
system has no `flock` Kuzu's own lock remains, which on such systems keeps the same process out too.
"""

import os
import sys
from pathlib import Path
from typing import Any

import msgspec

from hive_mind.errors import DatabaseLocked

if sys.platform != "win32":
    import fcntl

Stamp = tuple[int, int, int, int]
"""Size and time of change of a database file and of its log: enough to see that somebody touched them."""


class Note(msgspec.Struct):
    """What the lock file says: who holds the database, or how it was left."""

    pid: int = 0
    left_as: Stamp | None = None


class Lock:
    """Held from construction to `release`.

    Raises `DatabaseLocked`, naming the holder, when it is taken, and `OSError` where the file system has no locks.
    """

    def __init__(self, database: Path) -> None:
        self._database = database
        self._descriptor = os.open(lock_path(database), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _take(self._descriptor)
        except BlockingIOError:
            note = _read(self._descriptor)
            os.close(self._descriptor)
            raise locked_error(database, note.pid) from None
        except OSError:
            os.close(self._descriptor)
            raise
        self.left_as = _read(self._descriptor).left_as
        """How the last owner left the files; None when it did not get to say."""
        self._say(Note(pid=os.getpid()))

    def release(self, left_as: Stamp | None) -> None:
        """Let others in, and tell them how the files were left: None for "look closely"."""
        self._say(Note(left_as=left_as))
        if sys.platform != "win32":
            # Not left to close(): a forked child that still has the descriptor would keep the lock.
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        os.close(self._descriptor)

    def _say(self, note: Note) -> None:
        body = msgspec.json.encode(note)
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, body, 0)


def lock_path(database: Path) -> Path:
    """Where a database's lock file is. It may be deleted while nobody has the database open."""
    return database.with_name(database.name + ".lock")


def stamp(database: Path) -> Stamp:
    """The files as they are now."""
    log = log_path(database)
    size, changed_ns = _size_and_change(database)
    return (size, changed_ns, *_size_and_change(log))


def log_path(database: Path) -> Path:
    """Kuzu's write-ahead log of a database."""
    return database.with_name(database.name + ".wal")


def locked_error(database: Path, pid: int) -> DatabaseLocked:
    """What to tell someone who found the database taken by `pid`, 0 where that is not known."""
    if pid == os.getpid():
        what = "this process has it open already; use that store, or close it first"
    elif pid and (command := _command(pid)) is not None:
        what = f"process {pid}{command} has it open; stop that process, ask it instead, or use another path"
    else:
        what, pid = "another process has it open; find it with `fuser` and stop it, or use another path", 0
    return DatabaseLocked("kuzu", f"{database}: {what}", pid or None)


def kuzu_lock_holder(database: Path) -> int:
    """The process that holds Kuzu's own lock on the file (its shell, for one), 0 where it can't be found. Linux only."""
    try:
        inode = database.stat().st_ino
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return 0
    # "1: POSIX ADVISORY WRITE 4242 08:01:131090 0 EOF"; the device number differs on some file systems, so inode only.
    holders = (fields[-4] for fields in map(str.split, lines) if fields[-3].rpartition(":")[2] == str(inode))
    return next((int(pid) for pid in holders if pid.isdecimal()), 0)


def _take(descriptor: int) -> None:
    if sys.platform != "win32":
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _read(descriptor: int) -> Note:
    try:
        return msgspec.json.decode(os.pread(descriptor, 4096, 0), type=Note)
    except msgspec.DecodeError:
        # New, torn or not ours: it says nothing.
        return Note()


def _command(pid: int) -> str | None:
    """ " (command line)" of a living process, "" where it can't be read, None for a process that is gone."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except OSError:
        pass
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return ""
    return f" ({' '.join(words).strip()[:200]})"


def _size_and_change(path: Path) -> tuple[int, int]:
    try:
        status: Any = path.stat()
    except FileNotFoundError:
        return 0, 0
    return status.st_size, status.st_mtime_ns
