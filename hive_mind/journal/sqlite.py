"""The one table of a journal: (table, key) → value, each row with a checksum; and what was set aside. Owned by one thread.

One bit of a row makes text of bytes, or another name of a table: so rows are read as bytes, and judged before they mean anything.

Reading a journal without touching it: a copy of the file and its log is opened in its place.

Also while its node runs. The log only grows until everything in it is in the file; then it begins anew under another salt. So if
the log's header is the same before the file was copied and after the log was, the copied log has every page of which the file may
have been caught half-written, and SQLite puts them right. Otherwise the copy is made again.

A journal in an SQLite file: durable when `write` returns, safe to kill at any moment, needs no package.

`open` is all that nodes need; `read` is for looking at a journal from outside. `hive_mind.sqlite` owns the file, `Database`
holds its statements. Beside `name.sqlite` lie `name.sqlite-wal` while it is open (part of the
data: copy both or none) and `name.sqlite.lock`.
"""

import asyncio
import logging
import shutil
import weakref
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from zlib import crc32

from hive_mind.errors import BackendError, BackendUnavailable, DatabaseUnreadable, reason_of
from hive_mind.hive.effects import Kept, Put, Record, SetAside
from hive_mind.journal import Journal
from hive_mind.safe_files import PassingFolder
from hive_mind.sqlite import Lock, Worker, lock_path, log_path
from hive_mind.sqlite.file import File, FileFormat, unreadable
from hive_mind.sqlite.log import HEADER_BYTES

_log = logging.getLogger(__name__)

_SCHEMA = "CREATE TABLE record (tbl TEXT, key BLOB, value BLOB NOT NULL, PRIMARY KEY (tbl, key)) WITHOUT ROWID"
_LOAD = "SELECT CAST(tbl AS BLOB), CAST(key AS BLOB), CAST(value AS BLOB), sum FROM record ORDER BY tbl, key"
_PUT = "INSERT INTO record VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value, sum = excluded.sum"
_DELETE = "DELETE FROM record WHERE tbl = ? AND key = ?"
_THIS = "FROM record WHERE CAST(tbl AS BLOB) = ? AND CAST(key AS BLOB) = ?"
# A table's name that is no text any more comes back as the same bytes.
_ERRORS = "surrogateescape"
_PLACE_BITS = (1 << 31) - 1


def checksum(table: str | bytes, key: bytes, value: bytes) -> int:
    """Of the place in the upper half and of the value in the lower one: a value may be lost while its place is known."""
    name = table.encode() if isinstance(table, str) else table
    return (crc32(key, crc32(b"%s\0" % name)) & _PLACE_BITS) << 32 | crc32(value)


FORMAT = FileFormat(
    owner="node",
    application_id=int.from_bytes(b"hvmj", "big"),
    migrations=(
        (_SCHEMA,),
        (
            "ALTER TABLE record ADD COLUMN sum INTEGER NOT NULL DEFAULT 0",
            "UPDATE record SET sum = record_sum(tbl, key, value)",
            "CREATE TABLE damaged (tbl BLOB, key BLOB, value BLOB, sum INTEGER)",
        ),
    ),
    # A value that needs more than a quarter of a page gets one of its own. An assertion with its vector is 1 to 3 kB, so SQLite's
    # usual 4 kB page would make a file four times as large (benchmarks/journal.py).
    page_bytes=16_384,
    log_bytes=16 << 20,
    when_damaged="restore a backup, or move it away: the node then fetches from its peers what they hold",
    is_exclusive=True,
    functions={"record_sum": checksum},
)


class Database:
    """Open from construction to `close`. Raises `DatabaseLocked`, `DatabaseUnreadable` or `BackendError`."""

    def __init__(self, path: Path) -> None:
        self._file = File(path, FORMAT)
        self._file.refuse_damaged("quick_check")

    def load(self) -> list[Kept]:
        """Every value, in order of table and key; of a damaged one where it is, or seems to be."""
        with self._file.reading() as connection:
            return [_kept(*row) for row in connection.execute(_LOAD)]

    def write(self, items: Sequence[Record]) -> None:
        aside = [record for record in items if isinstance(record, SetAside)]
        # The last word on each key, in the order of the tree they go to.
        final = {(record.table, record.key): record for record in items if not isinstance(record, SetAside)}
        ordered = [final[place] for place in sorted(final)]
        puts = [(r.table, r.key, r.value, checksum(r.table, r.key, r.value)) for r in ordered if isinstance(r, Put)]
        with self._file.writing() as connection:
            for place in [(record.table.encode(errors=_ERRORS), record.key) for record in aside]:
                connection.execute(f"INSERT INTO damaged SELECT tbl, key, value, sum {_THIS}", place)
                connection.execute(f"DELETE {_THIS}", place)
            connection.executemany(_PUT, puts)
            connection.executemany(_DELETE, ((r.table, r.key) for r in ordered if not isinstance(r, Put)))
        for record in aside:
            _log.error(
                "%s: record %s of table %r is damaged: kept in table 'damaged'; its node asks others for what it held",
                self._file.path,
                record.key.hex(),
                record.table,
            )

    def scrub(self) -> None:
        """Leave no byte of what was deleted, nor what was set aside: nobody can tell what a damaged record says."""
        with self._file.writing() as connection:
            connection.execute("DELETE FROM damaged")
        self._file.scrub()

    def close(self) -> None:
        self._file.close()


def _kept(table: bytes, key: bytes, value: bytes, sum: object) -> Kept:
    name, right = table.decode(errors=_ERRORS), checksum(table, key, value)
    if sum == right:
        return Put(name, key, value)
    return SetAside(name, key, is_place_sure=isinstance(sum, int) and sum >> 32 == right >> 32)


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
        raise BackendError("sqlite", f"{path}: {reason_of(error)}; check the folder and its permissions") from error
    try:
        return _read_open(path)
    finally:
        lock.release()


def _read_open(path: Path) -> list[Put]:
    with PassingFolder() as folder:
        copy = folder.path / path.name
        try:
            # A write under way may be caught half done with later ones behind it, which looks like damage: then it is
            # copied again.
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
        except DatabaseUnreadable as error:
            raise DatabaseUnreadable("sqlite", _of(path, copy, error)) from error
        except OSError as error:
            raise BackendError("sqlite", f"{path}: {reason_of(error)}; check the folder, its permissions and the disk") from error


def _whole(copy: Path, record: Kept) -> Put:
    """The record. Without it the journal would say that something was taken back which only is lost."""
    if isinstance(record, SetAside):
        problem = f"has a damaged record ({record.table} {record.key.hex()})"
        raise unreadable(copy.resolve(), problem, "start its node: it sets the record aside and has it from others again")
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


async def open(path: Path) -> Journal:
    """The journal in the file `path`, created with its folder if it does not exist, for its owner's eyes only.

    Raises `DatabaseLocked`, `DatabaseUnreadable` or `BackendError`; the file is then as it was.
    """
    worker = Worker[Database, Record](partial(Database, path), name=f"journal {path.name}")
    await worker.start()
    return _SqliteJournal(worker)


class _SqliteJournal:
    """See `journal.Journal`."""

    def __init__(self, worker: Worker[Database, Record]) -> None:
        self._worker = worker
        # A journal that is forgotten closes when it is collected, or at the latest when the interpreter ends.
        self._forgotten = weakref.finalize(self, worker.stop)

    async def load(self) -> list[Kept]:
        return await self._worker.do(Database.load)

    async def write(self, records: Sequence[Record]) -> None:
        await self._worker.write(tuple(records))

    async def scrub(self) -> None:
        await self._worker.do(Database.scrub)

    async def close(self) -> None:
        """Finish what was handed in, write the log back, release the file, end the thread."""
        await self._worker.close()
        self._forgotten.detach()
