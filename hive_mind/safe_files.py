"""The one way in which a file gets its content: made beside its place, on disk, and then named, in one step.

Killed at any moment, or without power, the place has what it had or all of the new. A process that is killed leaves half a file
whose name ends in `.part`. It holds a lock on it while it writes, so that what nobody holds is known for abandoned: the next
one that writes to that place removes it. So it is with folders for copies among the system's temporary ones: they hold
memories, and the next one that makes such a folder, or erases, removes what killed processes left.

The lock goes when its holder dies, however it does, for the operating system releases it; where the system has no `flock`,
everybody gets what they ask for. A holder may leave its number in the file. Folders of memories, journals, keys and what agents
wrote are their owner's alone.
"""

import os
import secrets
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from typing import BinaryIO, Self

from hive_mind.regex import regex

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


def private_folder(path: Path) -> Path:
    """The folder, made where it is missing with all that is missing above it. One that is there keeps its rights.

    Raises `OSError`.
    """
    missing = []
    above = path
    while not above.exists():
        missing.append(above)
        above = above.parent
    for folder in reversed(missing):
        folder.mkdir(exist_ok=True, mode=0o700)
    # Where a file stands in its place, this says so.
    path.mkdir(exist_ok=True)
    return path


PRIVATE = 0o600
"""For its owner alone."""
READABLE = 0o666
"""To be sent, shown or edited by anybody: the user's own mask decides who else may."""

BEGUN, PART = ".", ".part"
"""How the name of a file begins and ends that is not whole yet."""
UNFINISHED, REPLACED = ".partial", ".replaced"
"""How the name of a folder ends that is not whole yet, and of one whose place another took."""
# Files that SQLite has beside a database that is open; of a half that is one, it is part of it.
_BESIDE = ("-journal", "-wal", "-shm")
# A name may have 255 bytes, and a character of it four.
_NAME_MAX = 40
# With the writer's number, as earlier versions called it, too; they held no lock.
_HIDDEN, _VISIBLE = regex(r"\.(?:([0-9]+)|[^.]+)\.part"), regex(r"\.([0-9]+)\.part")


@contextmanager
def replacing(path: Path, mode: int = PRIVATE) -> Iterator[Path]:
    """An empty file to fill, which takes the place at `path` when the block ends, and is gone when that raises.

    A link is replaced; the file that it led to stays as it is. Raises `OSError` that names the file.
    """
    remove_abandoned(path)
    try:
        descriptor, unfinished = _begun(path, mode)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    try:
        yield unfinished
        os.fsync(descriptor)
        unfinished.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        if error.filename not in (None, str(unfinished)):
            raise
        # Writing knows a descriptor only, and a person did not choose the other name.
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        unfinished.unlink(missing_ok=True)
        os.close(descriptor)


def write_whole(path: Path, body: bytes, mode: int = PRIVATE) -> None:
    """Make `body` the content of a file, whose folder is made where it is missing. Raises like `replacing`."""
    if mode == PRIVATE:
        private_folder(path.parent)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path, mode) as unfinished:
        unfinished.write_bytes(body)


def append_line(path: Path, line: bytes) -> None:
    """Add a line to a private file, durable. Raises `OSError` that names the file.

    A full disk, or a power failure, may leave half a line: the next one begins behind it, and those who read skip the half.
    """
    private_folder(path.parent)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, PRIVATE)
    try:
        size = os.fstat(descriptor).st_size
        is_behind_half = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        body = b"\n" * is_behind_half + line + b"\n"
        # Where a disk is nearly full, less than all may be written, and the rest is what is refused.
        while body:
            body = body[os.write(descriptor, body) :]
        os.fsync(descriptor)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        os.close(descriptor)
    if not size:
        sync_folder(path.parent)


def publish(made_path: Path, path: Path) -> None:
    """Give a file that is complete and closed its place, durable. Raises `OSError`."""
    sync_file(made_path)
    made_path.replace(path)
    sync_folder(path.parent)


def abandoned(paths: Iterable[Path]) -> list[Path]:
    """The halves of these files that killed processes left; those of processes that still write are not among them."""
    return list(dict.fromkeys(half for _, half in _halves_of(paths) if is_abandoned(half)))


def being_written(paths: Iterable[Path]) -> list[Path]:
    """Those of these files that some process is writing now."""
    return list(dict.fromkeys(path for path, half in _halves_of(paths) if not is_abandoned(half)))


def is_half(path: Path) -> bool:
    """Whether its name is that of half a file, or of what a database has beside its half."""
    return _half(path.name).endswith(PART)


def is_abandoned(path: Path) -> bool:
    """Whether nobody writes to this half of a file any more."""
    half = path.with_name(_half(path.name))
    if (match := _VISIBLE.search(half.name)) and _lives(int(match[1])):
        return False
    try:
        descriptor = os.open(half, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        # The half is gone, and what it had beside it was left.
        return half != path
    except OSError:
        return False
    try:
        return try_lock(descriptor)
    except OSError:
        # A file system without locks: nobody can tell.
        return False
    finally:
        os.close(descriptor)


def remove_abandoned(*paths: Path) -> list[Path]:
    """Remove the halves of these files that killed processes left. Those that were there."""
    halves = abandoned(paths)
    for half in halves:
        half.unlink(missing_ok=True)
    return halves


# A folder is called so from when it is locked. A process that is killed before leaves one that is empty.
_PASSING, _BEFORE = "hive-mind-passing-", "hive-mind-"


class PassingFolder:
    """A folder for copies that are of use to this process alone, and gone once it is closed. Raises `OSError`."""

    def __init__(self) -> None:
        remove_passed()
        folder = Path(mkdtemp(prefix=_BEFORE))
        self._lock = os.open(folder, os.O_RDONLY)
        with suppress(OSError):
            # Without locks nobody removes it.
            try_lock(self._lock)
        self.path = folder.rename(folder.with_name(_PASSING + folder.name.removeprefix(_BEFORE)))

    def close(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def remove_passed() -> None:
    """Remove the folders for copies that killed processes of this user left."""
    for folder in Path(gettempdir()).glob(f"{_PASSING}*"):
        with suppress(OSError):
            if folder.lstat().st_uid == os.getuid() and is_abandoned(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _halves_of(paths: Iterable[Path]) -> Iterator[tuple[Path, Path]]:
    """These files, each with the halves of it that there are."""
    by_folder = defaultdict[Path, set[Path]](set)
    for path in paths:
        by_folder[path.parent].add(path)
    for folder, files in by_folder.items():
        for half in _halves_in(folder):
            yield from ((path, half) for path in files if _is_half_of(path.name, half.name))


def _halves_in(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return sorted(folder / entry.name for entry in entries if is_half(Path(entry.name)))
    except OSError:
        return []


def _half(name: str) -> str:
    return next((name.removesuffix(ending) for ending in _BESIDE if name.endswith(PART + ending)), name)


def _is_half_of(name: str, path: str) -> bool:
    half = _half(path)
    for begin, ending in ((BEGUN + name[:_NAME_MAX], _HIDDEN), (name, _VISIBLE)):
        if half.startswith(begin) and ending.fullmatch(half, len(begin)):
            return True
    return False


def sync_file(path: Path) -> None:
    """Make everything written to a file durable, also by other processes."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Make a rename, a new name or a deletion durable. Not everywhere can a folder be opened."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _begun(path: Path, mode: int) -> tuple[int, Path]:
    while True:
        half = path.with_name(f"{BEGUN}{path.name[:_NAME_MAX]}.{os.getpid()}-{secrets.token_hex(4)}{PART}")
        descriptor = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with suppress(OSError):
            if not try_lock(descriptor) or is_deleted(descriptor):
                # Another writer of this place looked at it before it was locked.
                os.close(descriptor)
                half.unlink(missing_ok=True)
                continue
        return descriptor, half


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
