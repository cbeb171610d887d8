"""One owner per file: a lock beside it, which also says who holds it.

SQLite's own lock is lost as soon as anything in the same process opens and closes the file (POSIX), and its message does not say
who is there. The operating system releases this one when its holder dies, so a file left behind harms nobody. Where the system
has no `flock`, SQLite's lock remains.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path

from hive_mind.errors import DatabaseLocked

if sys.platform != "win32":
    import fcntl

# A process id and a line feed; what is longer was not written here.
_NOTE_MAX_BYTES = 20
_COMMAND_CHARACTERS_MAX = 200


class Lock:
    """Held from construction to `release`. Raises `DatabaseLocked`, and `OSError` where the file system has no locks."""

    def __init__(self, database: Path, owner: str) -> None:
        self._descriptor = os.open(lock_path(database), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if sys.platform != "win32":
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _holder(self._descriptor)
            os.close(self._descriptor)
            raise locked_error(database, owner, holder) from None
        except OSError:
            os.close(self._descriptor)
            raise
        self._say(f"{os.getpid()}\n")

    def release(self) -> None:
        """Let others in."""
        self._say("")
        if sys.platform != "win32":
            # Not left to close(): a forked child that still has the descriptor would keep the lock.
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        os.close(self._descriptor)

    def _say(self, note: str) -> None:
        # It only helps whoever finds the file taken; a disk without room for it must not end anything.
        with suppress(OSError):
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, note.encode(), 0)


def lock_path(database: Path) -> Path:
    """Where a file's lock is. It may be deleted while nobody has the file open."""
    return database.with_name(database.name + ".lock")


def locked_error(database: Path, owner: str, holder_pid: int = 0) -> DatabaseLocked:
    """What to tell someone who found an `owner`'s file taken by `holder_pid`, 0 where that is not known."""
    if holder_pid == os.getpid():
        what = f"this process has it open already; use that {owner}, or close it first"
    elif holder_pid:
        what = f"process {holder_pid}{_command(holder_pid)} has it open; stop that process, or give this {owner} another path"
    else:
        what = f"another process has it open; find it with `fuser` and stop it, or give this {owner} another path"
    return DatabaseLocked("sqlite", f"{database}: {what}", holder_pid or None)


def _holder(descriptor: int) -> int:
    note = os.pread(descriptor, _NOTE_MAX_BYTES, 0).strip()
    return int(note) if note.isdigit() else 0


def _command(pid: int) -> str:
    """ " (command line)" of a process, "" where the system does not tell."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return ""
    line = " ".join(words).strip()[:_COMMAND_CHARACTERS_MAX]
    return f" ({line})" if line else ""
