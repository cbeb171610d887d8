"""One SQLite file from opening to closing: locked, known for ours, brought to the newest version, errors in our words.

A commit is on disk when it returns (WAL, synchronous=FULL). Synchronous, and owned by one thread; the thread is `sqlite.Worker`.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from hive_mind.errors import BackendError, DatabaseUnreadable, HiveError, reason_of
from hive_mind.safe_files import private_folder, publish, sync_file, sync_folder
from hive_mind.sqlite import Lock, is_half_replaced, is_unwritable, locked_error, log_path, mend, turn
from hive_mind.sqlite.log import begun, connect, connect_copy, reading, refuse_damaged_log

_MAGIC, _HEADER_BYTES = b"SQLite format 3\0", 100
# A write takes milliseconds: a longer wait is for a process that hangs.
_TURN_MAX_S = 10.0


@dataclass(frozen=True, slots=True)
class FileFormat:
    """The format of a kind of file."""

    owner: str
    """the file's owner in messages: "node", "agent" …"""
    application_id: int
    """in the file's header: other SQLite files are recognised before anything in them is touched"""
    migrations: Sequence[Sequence[str]]
    """statements that lead from version n to n + 1; only ever append. The version is the header's `user_version`."""
    page_bytes: int
    log_bytes: int
    """so much log between two checkpoints: a page that changes often is then written back once"""
    when_damaged: str
    """what a person can do about a damaged file, as a clause"""
    is_exclusive: bool = False
    """nobody else may read it while it is open: one file less, and no lock to take for each commit"""
    is_shared: bool = False
    """several may have it open at once, in any number of processes; each waits for its turn to write"""
    cache_bytes: int = 2 << 20
    functions: Mapping[str, Callable[..., int]] = field(default_factory=dict, hash=False)
    """what migrations may call, by name"""

    @property
    def version(self) -> int:
        return len(self.migrations)


class File:
    """Open from construction to `close`. Raises `DatabaseLocked`, `DatabaseUnreadable` or `BackendError`.

    `is_first`: nobody else had it open. In a folder that can't be written to it is opened to be read, also beside others.
    """

    def __init__(self, path: Path, form: FileFormat) -> None:
        # Not `Path.resolve`, to which a loop of links is a defect.
        self.path, self._form = Path(os.path.realpath(path)), form
        self._lock: Lock | None = None
        with translating(self.path, form):
            if is_unwritable(self.path):
                self.is_first, self.connection = False, connect_for_reading(self.path, form)
                return
            private_folder(self.path.parent)
            with turn(self.path) if form.is_shared else nullcontext():
                self._lock = Lock(self.path, form.owner, is_shared=form.is_shared)
                try:
                    self.is_first = self._lock.is_alone
                    self.connection = self._opened(form, self._lock) if self.is_first else _joined(self.path, form)
                    self._places = [(place, place.stat()) for place in (self.path, self.path.parent)]
                except BaseException:
                    self._lock.release()
                    raise

    def _opened(self, form: FileFormat, lock: Lock) -> sqlite3.Connection:
        path = self.path
        mend(path)
        if not is_there(path, form):
            create(path, form)
        is_torn = False
        if log_path(path).exists():
            is_torn = refuse_damaged_log(path, form.when_damaged)
            # A write of a process killed before it could sync is seen from now on, and more comes behind it.
            sync_file(log_path(path))
        try:
            connection = _connected(path, form, is_torn=is_torn)
        except sqlite3.OperationalError as error:
            # The memory shared by processes takes room, too. On a disk without any the file can still be read alone.
            if form.is_exclusive or _kind(error) not in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
                raise
            connection = _connected(path, replace(form, is_exclusive=True), is_torn=is_torn)
        try:
            if form.is_shared:
                lock.share()
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        with translating(self.path, self._form):
            yield self.connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The connection inside a transaction: on disk when the block ends, or nothing of it ever."""
        if self._lock is not None and [_is_still(*place) for place in self._places] == [False, True]:
            # A file without a name takes what is written, and nobody ever finds it again. With its folder it may have moved.
            advice = "end its process, put the file back (hive-mind restore), and start it again"
            raise BackendError("sqlite", f"{self.path} was deleted or replaced while it is open; nothing is written: {advice}")
        with translating(self.path, self._form, "nothing of this was written"), transaction(self.connection):
            yield self.connection

    def refuse_damaged(self, check: str) -> None:
        """Close it where a check of SQLite's finds damage. Raises `DatabaseUnreadable` then."""
        try:
            with self.reading() as connection:
                ((verdict,),) = connection.execute(f"PRAGMA {check}(1)").fetchall()
            if verdict != "ok":
                raise unreadable(self.path, f"is damaged ({verdict})", self._form.when_damaged)
        except BaseException:
            self.close()
            raise

    def scrub(self) -> None:
        """Leave no freed page and no log. Raises `BackendError` where another connection still reads what was there before."""
        with translating(self.path, self._form, "what was erased is found no more, but its bytes are still in the file"):
            self.connection.execute("PRAGMA secure_delete = ON")
            self.connection.execute("VACUUM")
            (is_busy, *_), *_ = self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        if is_busy:
            raise BackendError("sqlite", f"{self.path} is being read by another process: erase again when it has ended")

    def close(self) -> None:
        try:
            with translating(self.path, self._form):
                self.connection.close()
        finally:
            if self._lock is not None:
                self._lock.release()


def _is_still(place: Path, stat: os.stat_result) -> bool:
    try:
        return os.path.samestat(stat, place.stat())
    except OSError:
        return False


def is_there(path: Path, form: FileFormat) -> bool:
    """Whether there is such a file to open; raises `DatabaseUnreadable` for any other file. Touches nothing."""
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
    except FileNotFoundError:
        header = b""
    if not header:
        if log_path(path).exists():
            # SQLite would replay it into the new file.
            advice = "put it back, or move the log away"
            raise unreadable(path, "is missing or empty although its log is there", advice)
        return False
    if not header.startswith(_MAGIC) or len(header) < _HEADER_BYTES:
        raise unreadable(path, "is not an SQLite file, or is damaged", form.when_damaged)
    _check_identity(path, form, int.from_bytes(header[68:72], "big"), int.from_bytes(header[60:64], "big"))
    return True


def create(path: Path, form: FileFormat) -> None:
    """Make it beside its place and move it there whole, so that a crash leaves no file without its identity."""
    # The names of all folders down to it, without one of which it is lost, and before it is there: after a kill in between, the
    # next process would take them for durable. This user can't have changed a folder it may not even open.
    with suppress(OSError):
        for above in path.parent.parents:
            sync_folder(above)
    unborn = path.with_name(path.name + ".new")
    unborn.unlink(missing_ok=True)
    # The log SQLite makes beside it gets the same rights.
    os.close(os.open(unborn, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    with closing(sqlite3.connect(unborn, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA page_size = {form.page_bytes}")
        connection.execute("PRAGMA synchronous = FULL")
        with transaction(connection):
            connection.execute(f"PRAGMA application_id = {form.application_id}")
            _migrate(connection, form, 0)
    publish(unborn, path)


def connect_for_reading(path: Path, form: FileFormat) -> sqlite3.Connection:
    """A connection that changes nothing, for any thread, also while another process writes.

    Raises `DatabaseUnreadable` or `BackendError`.
    """
    if is_half_replaced(path):
        with owned(path, form):
            mend(path)
    if not path.exists():
        raise BackendError("sqlite", f"there is no file {path}")
    with translating(path, form):
        try:
            connection = _unwritable(path, form) if is_unwritable(path) else begun(reading(path))
        except sqlite3.OperationalError as error:
            # The memory shared by processes takes room, and the disk has none: nobody has it open, or it was there.
            if _kind(error) not in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
                raise
            connection = _unwritable(path, form)
        try:
            connection.execute("PRAGMA query_only = ON")
            version = number(connection, "user_version")
            _check_identity(path, form, number(connection, "application_id"), version)
            if version == form.version:
                _check_schema(path, form, connection)
        except BaseException:
            connection.close()
            raise
    return connection


def _unwritable(path: Path, form: FileFormat) -> sqlite3.Connection:
    """Of the newest version, as no other is understood."""
    refuse_damaged_log(path, form.when_damaged)
    connection = connect(path, log_path(path))
    version = number(connection, "user_version")
    if version >= form.version:
        return connection
    connection.close()
    return connect_copy(path, log_path(path), lambda copy: _migrate(copy, form, version))


def _joined(path: Path, form: FileFormat) -> sqlite3.Connection:
    """Of a file that others have open. Its bytes are not read here: closing it again would end this process's locks on it."""
    if not path.exists():
        raise unreadable(path, "was removed while other processes have it open", "put it back, or stop them first")
    return _connected(path, form, is_torn=False)


def _connected(path: Path, form: FileFormat, *, is_torn: bool) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_TURN_MAX_S if form.is_shared else 0, isolation_level=None)
    try:
        if form.is_exclusive:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        # macOS: fsync alone does not reach the disk there. Nothing changes elsewhere.
        connection.execute("PRAGMA fullfsync = ON")
        connection.execute(f"PRAGMA wal_autocheckpoint = {form.log_bytes // form.page_bytes}")
        connection.execute(f"PRAGMA cache_size = {-(form.cache_bytes >> 10)}")
        # The log may be newer than the header that was read before.
        version = number(connection, "user_version")
        _check_identity(path, form, number(connection, "application_id"), version)
        if version < form.version:
            with transaction(connection):
                _migrate(connection, form, version)
        _check_schema(path, form, connection)
        if is_torn:
            # Remains of a torn write would lie under the next, and look like acknowledged ones if one of those was torn, too.
            # On a full disk for instance: opening comes first, and this again at the next one.
            with suppress(sqlite3.OperationalError):
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except BaseException:
        connection.close()
        raise
    return connection


# As bytes: a flipped bit can make text invalid UTF-8.
_DEFINITIONS = (
    "SELECT CAST(type AS BLOB), CAST(name AS BLOB), CAST(tbl_name AS BLOB), CAST(sql AS BLOB) FROM sqlite_schema ORDER BY name"
)


def _check_schema(path: Path, form: FileFormat, connection: sqlite3.Connection) -> None:
    """A flipped bit may turn a table's definition into another one that works, and is wrong."""
    definitions = connection.execute(_DEFINITIONS).fetchall()
    if connection.execute("PRAGMA encoding").fetchone() != ("UTF-8",) or definitions != _definitions_of(form):
        raise unreadable(path, "is damaged (its tables are not defined as they were)", form.when_damaged)


@cache
def _definitions_of(form: FileFormat) -> Sequence[tuple[object, ...]]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        _migrate(connection, form, 0)
        return connection.execute(_DEFINITIONS).fetchall()


def _migrate(connection: sqlite3.Connection, form: FileFormat, version: int) -> None:
    for name, function in form.functions.items():
        connection.create_function(name, -1, function, deterministic=True)
    for statements in form.migrations[version:]:
        for statement in statements:
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {form.version}")


def _check_identity(path: Path, form: FileFormat, application_id: int, version: int) -> None:
    if application_id != form.application_id:
        raise unreadable(path, "is an SQLite file of another program", f"give this {form.owner} another path")
    if version > form.version:
        raise unreadable(path, f"was written by a newer hive-mind (format {version}, known up to {form.version})", "upgrade")


@contextmanager
def owned(path: Path, form: FileFormat) -> Iterator[None]:
    """Keep everybody from opening the file while the block runs. Raises like `File`."""
    with translating(path, form):
        lock = Lock(path, form.owner)
        try:
            yield
        finally:
            lock.release()


def number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of the block, on disk at its end, or nothing."""
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
def translating(path: Path, form: FileFormat, outcome: str = "") -> Iterator[None]:
    """Errors of SQLite and of the file system, as ours. `outcome`: of what the disk refuses, as a clause."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translated(path, form, error, outcome) from error
    except UnicodeDecodeError as error:
        # SQLite names what is damaged, by a name that is damaged.
        raise unreadable(path, "is damaged (a name in it is not text)", form.when_damaged) from error
    except OSError as error:
        raise BackendError("sqlite", f"{path}: {reason_of(error)}; check the folder, its permissions and the disk") from error


def _translated(path: Path, form: FileFormat, error: sqlite3.Error, outcome: str) -> HiveError:
    kind = _kind(error)
    # Our statements fit our tables, so what does not fit is the file.
    if kind in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR):
        return unreadable(path, f"is damaged ({error})", form.when_damaged)
    if kind in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return locked_error(path, form.owner)
    if kind in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
        advice = "check the disk, its permissions and its free space, then try again"
        return BackendError("sqlite", f"{path}: {'; '.join(filter(None, (str(error), outcome)))}: {advice}")
    return BackendError("sqlite", f"{path}: {error}")


def _kind(error: sqlite3.Error) -> int:
    """An extended code's low byte is the kind of error."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def unreadable(path: Path, problem: str, advice: str) -> DatabaseUnreadable:
    """The error for a file that can't be used as it is; says that nothing was changed and what to do."""
    return DatabaseUnreadable("sqlite", f"{path} {problem}. Nothing was changed; {advice}")


def remove(path: Path) -> None:
    for leftover in (path, log_path(path)):
        leftover.unlink(missing_ok=True)
