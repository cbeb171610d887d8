"""Where an old database is, and a copy of it to work on. Nothing here changes it: Kuzu writes to whatever it opens.

Whoever looks at it holds the lock its owners took, so no older hive-mind writes to it meanwhile.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir

import msgspec

from hive_mind.errors import BackendError, DatabaseLocked, DatabaseUnreadable

if sys.platform != "win32":
    import fcntl

# What belongs to a database: its log, and what a checkpoint or a large query may have left.
LOG = ".wal"
_PARTS = ("", LOG, ".shadow", ".tmp")
_MAGIC, _PAGE_BYTES, _STORAGE_VERSION = b"KUZU", 4096, 39
# Others write to the same disk; and no disk is better for being filled to its last block.
_SPARE_BYTES = 16 << 20

Stamp = tuple[int, int, int, int]


class _Note(msgspec.Struct):
    """What the lock file says: who holds the database, or how its last owner left it."""

    pid: int = 0
    left_as: Stamp | None = None
    """Size and time of change of the file, and of its log; None where it was not closed."""


def part(path: Path, suffix: str) -> Path:
    """A file that belongs to a database."""
    return path.with_name(path.name + suffix)


def size(path: Path) -> int:
    """In bytes; 0 for one that is not there."""
    return path.stat().st_size if path.exists() else 0


def unreadable(path: Path, what: str) -> DatabaseUnreadable:
    """The error for one that can't be read; says that nothing was changed, and what to do."""
    advice = (
        f"restore a copy if you have one, take back what was shared with: hive-mind doctor --repair --from-hive, "
        f"or move {path.name}* away to begin anew"
    )
    return DatabaseUnreadable("kuzu", f"{path}: {what}. Nothing was changed; {advice}")


def check_header(path: Path) -> None:
    """Raises `DatabaseUnreadable` for what certainly is no database that can be read here."""
    if path.is_dir():
        raise unreadable(path, "is a folder where a database file is wanted")
    if not path.exists():
        raise unreadable(path, f"is missing but its log {part(path, LOG).name} is there")
    with path.open("rb") as file:
        head = file.read(_PAGE_BYTES)
    if not head.startswith(_MAGIC):
        raise unreadable(path, "is empty" if not head else "is not a Kuzu database")
    if len(head) < _PAGE_BYTES:
        raise unreadable(path, "is a Kuzu database cut short")
    if (version := int.from_bytes(head[4:12], "little")) != _STORAGE_VERSION:
        raise unreadable(path, f"has Kuzu's storage version {version}, and {_STORAGE_VERSION} is what can be read")


@contextmanager
def locked(path: Path) -> Iterator[int]:
    """Keep older versions away. Gives how long the log was when it was closed, -1 where nobody says.

    Raises `DatabaseLocked`.
    """
    lock = os.open(part(path, ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    file = os.open(path, os.O_RDONLY)
    try:
        note = _note(os.pread(lock, 4096, 0))
        _take(path, lock, file, note.pid)
        left = note.left_as
        status = os.fstat(file)
        # A file that was copied, or that Kuzu itself wrote to since, is not the one they spoke of.
        yield left[2] if left and left[:2] == (status.st_size, status.st_mtime_ns) else -1
    finally:
        os.close(file)
        os.close(lock)


def _take(path: Path, lock: int, file: int, pid: int) -> None:
    if sys.platform == "win32":
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Kuzu's own, which its shell takes and nothing else of ours.
        fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        who = f"process {pid}" if pid else "another process"
        raise DatabaseLocked("kuzu", f"{path}: {who} has it open; stop it, then open this again", pid or None) from None


def _note(body: bytes) -> _Note:
    try:
        return msgspec.json.decode(body, type=_Note)
    except msgspec.MsgspecError:
        return _Note()


@contextmanager
def workshop(path: Path) -> Iterator[Path]:
    """A folder with room for copies: beside the database or, where there is none, where temporary files go. Blocks."""
    needed = 3 * sum(size(part(path, suffix)) for suffix in _PARTS) + _SPARE_BYTES
    beside = part(path, ".reading")
    # Somebody was killed here; the lock says that nobody works in it.
    shutil.rmtree(beside, ignore_errors=True)
    for folder in (beside, Path(gettempdir()) / f"hive-mind-{os.getpid()}-{path.name}.reading"):
        if shutil.disk_usage(folder.parent).free >= needed:
            break
    else:
        raise BackendError(
            "kuzu", f"{path}: reading it takes {needed >> 20:,} MB for copies, beside it or in {gettempdir()}: make room"
        )
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def copied(path: Path, copy: Path, *, log: bool = True) -> Path:
    """The database with what belongs to it, or only its file, in place of what was there. Blocks."""
    for suffix in _PARTS:
        part(copy, suffix).unlink(missing_ok=True)
        if part(path, suffix).is_file() and (log or not suffix):
            shutil.copyfile(part(path, suffix), part(copy, suffix))
    return copy
