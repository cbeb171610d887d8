"""Reading a journal without touching it: a copy of the file and its log is opened in its place.

Also while its node runs. The log only grows until everything in it is in the file; then it begins anew under another salt. So if
the log's header is the same before the file was copied and after the log was, the copied log has every page of which the file may
have been caught half-written, and SQLite puts them right. Otherwise the copy is made again.
"""

import asyncio
import shutil
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from hive_mind.errors import BackendError, BackendUnavailable, DatabaseUnreadable
from hive_mind.hive.effects import Kept, Put, SetAside
from hive_mind.journal.sqlite.database import FORMAT, Database
from hive_mind.sqlite.file import unreadable
from hive_mind.sqlite.lock import Lock, lock_path
from hive_mind.sqlite.log import HEADER_BYTES
from hive_mind.sqlite.replacement import log_path

# The log begins anew after some 16 MB, far more than is written while a file is copied.
_ATTEMPTS = 20


async def read(path: Path, *, while_open: bool = False) -> list[Put]:
    """Everything in the journal at `path`, which stays as it is. `while_open`: also where a node has it open.

    Raises `DatabaseLocked`, `DatabaseUnreadable` or `BackendError`; the last one too where there is no such file.
    """
    return await asyncio.to_thread(_read_open if while_open else _read_at_rest, path)


def _read_at_rest(path: Path) -> list[Put]:
    if not lock_path(path).exists():
        # No node ever had it open.
        return _read_open(path)
    try:
        lock = Lock(path, FORMAT.owner)
    except OSError as error:
        raise BackendError("sqlite", f"{path}: {error.strerror or error}; check the folder and its permissions") from error
    try:
        return _read_open(path)
    finally:
        lock.release()


def _read_open(path: Path) -> list[Put]:
    with TemporaryDirectory(prefix="hive-mind-journal-") as folder:
        copy = Path(folder) / path.name
        try:
            return _load_copy(path, copy)
        except DatabaseUnreadable as error:
            raise DatabaseUnreadable("sqlite", _of(path, copy, error)) from error
        except OSError as error:
            raise BackendError(
                "sqlite", f"{path}: {error.strerror or error}; check the folder, its permissions and the disk"
            ) from error


def _load_copy(path: Path, copy: Path) -> list[Put]:
    """A write under way may be caught half done with later ones behind it, which looks like damage: then it is copied again."""
    for attempt in range(_ATTEMPTS):
        before = _state(path)
        _copy(path, copy)
        try:
            with closing(Database(copy)) as database:
                return [_whole(copy, record) for record in database.load()]
        except DatabaseUnreadable:
            if attempt == _ATTEMPTS - 1 or _state(path) == before:
                raise
    raise AssertionError


def _whole(copy: Path, record: Kept) -> Put:
    """The record. Without it the journal would say that something was taken back which only is lost."""
    if isinstance(record, SetAside):
        what = f"has a damaged record ({record.table} {record.key.hex()})"
        raise unreadable(copy.resolve(), what, "start its node: it sets the record aside and has it from others again")
    return record


def _state(path: Path) -> tuple[int, int]:
    """Differs when the log was written to in between."""
    try:
        status = log_path(path).stat()
    except FileNotFoundError:
        return 0, 0
    return status.st_size, status.st_mtime_ns


def _copy(path: Path, copy: Path) -> None:
    log, log_copy = log_path(path), log_path(copy)
    for _ in range(_ATTEMPTS):
        before = _header(log)
        if not path.exists() and not before:
            raise BackendError("sqlite", f"there is no journal {path}")
        if path.exists():
            shutil.copyfile(path, copy)
        log_copy.unlink(missing_ok=True)
        if log.exists():
            shutil.copyfile(log, log_copy)
        if before == _header(log) == _header(log_copy):
            return
    raise BackendUnavailable("sqlite", f"{path} is written so fast that no copy can be taken; try again later")


def _header(log: Path) -> bytes:
    try:
        with log.open("rb") as file:
            return file.read(HEADER_BYTES)
    except FileNotFoundError:
        return b""


def _of(path: Path, copy: Path, error: DatabaseUnreadable) -> str:
    """The message, about the file a person knows."""
    return str(error).removeprefix("sqlite: ").replace(str(copy.resolve()), str(path))
