"""One SQLite file from opening to closing: locked, checked, one table of (table, key) → value.

A commit is on disk when it returns (WAL, synchronous=FULL). Synchronous, and owned by one thread; the thread is in `worker`.
"""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from hive_mind.errors import BackendError, DatabaseUnreadable, HiveError
from hive_mind.hive.effects import Put, Record
from hive_mind.journal.sqlite.lock import Lock, locked_error

VERSION = 1
"""Of the schema, kept in the file's header as `user_version`."""
APPLICATION_ID = int.from_bytes(b"hvmj", "big")
"""In the file's header, so that a journal is told from other SQLite files before anything in it is touched."""

_MAGIC, _HEADER_BYTES = b"SQLite format 3\0", 100
_MOVE_AWAY = "restore a backup, or move it away: the node then fetches from its peers what they hold"
_SCHEMA = "CREATE TABLE record (tbl TEXT, key BLOB, value BLOB NOT NULL, PRIMARY KEY (tbl, key)) WITHOUT ROWID"
_PUT = "INSERT INTO record VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"
_DELETE = "DELETE FROM record WHERE tbl = ? AND key = ?"
# A value that needs more than a quarter of a page gets a page of its own. An assertion with its vector is 1 to 3 kB, so SQLite's
# usual 4 kB page would make a file four times as large (benchmarks/journal.py).
_PAGE_BYTES = 16_384
# So much log between two write-backs: a page that changes often is then written back once.
_CHECKPOINT_PAGES = (16 << 20) // _PAGE_BYTES


class Database:
    """Open from construction to `close`. Raises `DatabaseLocked`, `DatabaseUnreadable` or `BackendError`."""

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()
        with _translating(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = Lock(self._path)
            try:
                if not _is_there(self._path):
                    _create(self._path)
                self._connection = _opened(self._path)
            except BaseException:
                self._lock.release()
                raise

    def load(self) -> list[Put]:
        """Every value, in order of table and key."""
        with _translating(self._path):
            tables = [table for (table,) in self._connection.execute("SELECT DISTINCT tbl FROM record ORDER BY tbl")]
            query = "SELECT key, value FROM record WHERE tbl = ? ORDER BY key"
            return [Put(table, key, value) for table in tables for key, value in self._connection.execute(query, (table,))]

    def write(self, records: Sequence[Record]) -> None:
        """All of them, durable, or none."""
        # The last word on each key, in the order of the tree they go to.
        final = {(record.table, record.key): record for record in records}
        ordered = [final[place] for place in sorted(final)]
        with _translating(self._path), _transaction(self._connection):
            self._connection.executemany(_PUT, ((r.table, r.key, r.value) for r in ordered if isinstance(r, Put)))
            self._connection.executemany(_DELETE, ((r.table, r.key) for r in ordered if not isinstance(r, Put)))

    def close(self) -> None:
        """Write the log back and release the file."""
        try:
            with _translating(self._path):
                self._connection.close()
        finally:
            self._lock.release()


def _is_there(path: Path) -> bool:
    """Whether there is a journal of ours to open; raises `DatabaseUnreadable` for what is no journal of ours. Touches nothing."""
    header = _first_bytes(path)
    if not header:
        if path.with_name(path.name + "-wal").exists():
            # SQLite would replay it into the new file.
            raise _unreadable(path, "is missing or empty although its log is there", "put it back, or move the log away")
        return False
    if not header.startswith(_MAGIC) or len(header) < _HEADER_BYTES:
        raise _unreadable(path, "is no SQLite file, or is damaged")
    _check_identity(path, int.from_bytes(header[68:72], "big"), int.from_bytes(header[60:64], "big"))
    return True


def _check_identity(path: Path, application_id: int, version: int) -> None:
    if application_id != APPLICATION_ID:
        raise _unreadable(path, "is an SQLite file of another program", "give this node another path")
    if version > VERSION:
        raise _unreadable(path, f"was written by a newer hive-mind (format {version}, known up to {VERSION})", "upgrade")


def _create(path: Path) -> None:
    """Make it beside its place and move it there whole, so that a crash leaves no file without its identity."""
    unborn = path.with_name(path.name + ".new")
    unborn.unlink(missing_ok=True)
    # The log SQLite makes beside it gets the same rights.
    os.close(os.open(unborn, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    with closing(sqlite3.connect(unborn, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
        connection.execute("PRAGMA synchronous = FULL")
        with _transaction(connection):
            connection.execute(_SCHEMA)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
    unborn.replace(path)
    _sync_folder(path.parent)


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=0, isolation_level=None)
    try:
        # Exclusive also keeps the index of the log in RAM: one file less, and no lock to take for each commit.
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        # macOS: fsync alone does not reach the disk there. Nothing changes elsewhere.
        connection.execute("PRAGMA fullfsync = ON")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        # The log may be newer than the header that was read before.
        _check_identity(path, *(_number(connection, name) for name in ("application_id", "user_version")))
        ((found,),) = connection.execute("PRAGMA quick_check(1)").fetchall()
        if found != "ok":
            raise _unreadable(path, f"is damaged ({found})")
    except BaseException:
        connection.close()
        raise
    return connection


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # Some errors, such as a full disk, have ended it already.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def _translating(path: Path) -> Iterator[None]:
    """Errors of SQLite and of the file system, as ours."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translated(path, error) from error
    except OSError as error:
        raise BackendError("sqlite", f"{path}: {error.strerror or error}; check the folder, its rights and the disk") from error


def _translated(path: Path, error: sqlite3.Error) -> HiveError:
    # An extended code's low byte is the kind of error.
    kind = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if kind in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return _unreadable(path, f"is damaged ({error})")
    if kind in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return locked_error(path)
    if kind in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return BackendError(
            "sqlite", f"{path}: {error}; nothing of this was kept: look at the disk and its free space, then start again"
        )
    return BackendError("sqlite", f"{path}: {error}")


def _unreadable(path: Path, what: str, advice: str = _MOVE_AWAY) -> DatabaseUnreadable:
    return DatabaseUnreadable("sqlite", f"{path} {what}. Nothing was changed; {advice}")


def _first_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEADER_BYTES)
    except FileNotFoundError:
        return b""


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
