"""One owner per file, or several that share it: a lock beside it, which also names its holder.

SQLite's own lock is lost as soon as anything in the same process opens and closes the file (POSIX), and its message does not name
the holder. The operating system releases this one when its holder dies, so a file left behind harms nobody. Where the system has
no `flock`, SQLite's lock remains.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hive_mind.errors import DatabaseLocked
from hive_mind.file_lock import holder_in, is_locked, lock, note_holder, try_lock, unlock

_COMMAND_CHARACTERS_MAX = 200


class Lock:
    """Held from construction to `release`. Raises `DatabaseLocked`, and `OSError` where the file system has no locks.

    With `is_shared` others that share may hold it, too; a lone holder may make and mend the file until it calls `share`.
    """

    def __init__(self, database: Path, owner: str, *, is_shared: bool = False) -> None:
        self._database, self._owner = database, owner
        self._descriptor = os.open(lock_path(database), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            self.is_alone = self._take(is_shared)
        except BaseException:
            os.close(self._descriptor)
            raise
        note_holder(self._descriptor, os.getpid())

    def share(self) -> None:
        """Let others that share in. Raises `DatabaseLocked` where one that does not was faster."""
        if not try_lock(self._descriptor, is_shared=True):
            raise locked_error(self._database, self._owner, holder_in(self._descriptor))

    def release(self) -> None:
        if holder_in(self._descriptor) == os.getpid():
            note_holder(self._descriptor, None)
        unlock(self._descriptor)
        os.close(self._descriptor)

    def _take(self, is_shared: bool) -> bool:
        """Whether nobody else has it."""
        if try_lock(self._descriptor):
            return True
        if is_shared and try_lock(self._descriptor, is_shared=True):
            return False
        raise locked_error(self._database, self._owner, holder_in(self._descriptor))


@contextmanager
def turn(database: Path) -> Iterator[None]:
    """Processes that share a file open it one after the other, so that the first can check, create or repair it."""
    descriptor = os.open(database.with_name(database.name + ".turn"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def lock_path(database: Path) -> Path:
    """Where a file's lock is. It may be deleted while nobody has the file open."""
    return database.with_name(database.name + ".lock")


def in_use_by(database: Path) -> int | None:
    """The process that has it open to write; None where none has."""
    try:
        with lock_path(database).open("rb") as file:
            holder = holder_in(file.fileno())
    except OSError:
        return None
    # One that was killed leaves its number behind. Nobody is kept out by looking where there is none.
    return holder if holder and is_locked(lock_path(database)) else None


def locked_error(database: Path, owner: str, holder_pid: int = 0) -> DatabaseLocked:
    """The error for finding an `owner`'s file taken by `holder_pid`, 0 where that is not known."""
    if holder_pid == os.getpid():
        problem = f"this process has it open already; use that {owner}, or close it first"
    elif holder_pid:
        stop = "stop it (hive-mind serve --stop, if serve, mcp or ui started it)"
        problem = f"process {holder_pid}{_command(holder_pid)} has it open; {stop}, or give this {owner} another path"
    else:
        problem = f"another process has it open; find it with `fuser` and stop it, or give this {owner} another path"
    return DatabaseLocked("sqlite", f"{database}: {problem}", holder_pid or None)


def _command(pid: int) -> str:
    """ " (command line)" of a process, "" where the system does not tell."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return ""
    line = " ".join(words).strip()[:_COMMAND_CHARACTERS_MAX]
    return f" ({line})" if line else ""
