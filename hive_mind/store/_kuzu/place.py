"""Where an old database is, and copies of it to work on. Nothing here changes it: Kuzu writes to whatever it opens.

A reader holds the lock that its owners used to take, so no older hive-mind writes to it meanwhile.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from hive_mind.errors import BackendError, DatabaseLocked, DatabaseUnreadable

if sys.platform != "win32":
    import fcntl

# Files of a database: its log, and those a checkpoint or a large query may have left.
LOG = ".wal"
_PARTS = ("", LOG, ".shadow", ".tmp")
_MAGIC, _PAGE_BYTES, _STORAGE_VERSION = b"KUZU", 4096, 39
# Others write to the same disk; and no disk is better for being filled to its last block.
_SPARE_BYTES = 16 << 20


class _Note(msgspec.Struct):
    """Content of the lock file."""

    pid: int = 0


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
    with path.open("rb") as file:
        head = file.read(_PAGE_BYTES)
    if not head.startswith(_MAGIC):
        raise unreadable(path, "is empty" if not head else "is not a Kuzu database")
    if len(head) < _PAGE_BYTES:
        raise unreadable(path, "is a Kuzu database cut short")
    if (version := int.from_bytes(head[4:12], "little")) != _STORAGE_VERSION:
        raise unreadable(path, f"has Kuzu's storage version {version}, and {_STORAGE_VERSION} is what can be read")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep older versions away. Raises `DatabaseLocked`."""
    descriptor = os.open(part(path, ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "rb") as lock, path.open("rb") as file:
        if sys.platform != "win32":
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Kuzu's own, which its shell takes and nothing else of ours.
                fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                pid = _pid_in(lock.fileno())
                who = f"process {pid}" if pid else "another process"
                raise DatabaseLocked("kuzu", f"{path}: {who} has it open; stop it, then open this again", pid or None) from None
        yield


def _pid_in(lock: int) -> int:
    try:
        return msgspec.json.decode(os.pread(lock, 4096, 0), type=_Note).pid
    except msgspec.MsgspecError:
        return 0


@contextmanager
def workshop(path: Path) -> Iterator[Path]:
    """A folder with room for copies beside the database. Blocks. Raises `BackendError` where there is no room."""
    folder = part(path, ".reading")
    # Somebody was killed here; the lock says that nobody works in it.
    shutil.rmtree(folder, ignore_errors=True)
    needed = 3 * sum(size(part(path, suffix)) for suffix in _PARTS) + _SPARE_BYTES
    if shutil.disk_usage(folder.parent).free < needed:
        raise BackendError("kuzu", f"{path}: reading it takes {needed >> 20:,} MB for copies beside it: make room")
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def copied(path: Path, copy: Path, *, parts: tuple[str, ...] = _PARTS) -> Path:
    """The database with what belongs to it, or only some of it. Blocks."""
    for suffix in parts:
        if part(path, suffix).is_file():
            shutil.copyfile(part(path, suffix), part(copy, suffix))
    return copy
