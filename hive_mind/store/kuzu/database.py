"""One database file from opening to closing: locked, inspected, migrated, and checkpointed at most once per open.

Kuzu 0.11's second checkpoint within one open is not crash-safe: killed inside it, the file never opens again. So a
checkpoint here always ends the open and begins another. Synchronous, and owned by one thread; the thread is in `worker`.
"""

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from hive_mind.errors import BackendError, HiveError
from hive_mind.store.base import Change
from hive_mind.store.kuzu import reading
from hive_mind.store.kuzu.batch import Batch
from hive_mind.store.kuzu.commit import commit
from hive_mind.store.kuzu.engine import Engine, EngineError, is_duplicate, is_out_of_pool
from hive_mind.store.kuzu.inspection import check_header, check_log, try_reading, unreadable
from hive_mind.store.kuzu.lock import Lock, kuzu_lock_holder, locked_error, stamp
from hive_mind.store.kuzu.migration import migrated
from hive_mind.store.kuzu.resolve import Resolver
from hive_mind.store.kuzu.schema import MIGRATIONS, Migration
from hive_mind.store.kuzu.settings import KuzuSettings
from hive_mind.store.kuzu.upkeep import create, log_bytes, refuse_without_room, return_freed_memory, write_back

_log = logging.getLogger(__name__)

# A checkpoint needs about three times the log in the buffer pool; eight leaves room for what else is there.
POOL_BYTES_PER_LOG_BYTE = 8

_Found = TypeVar("_Found")


class Database:
    """Open from construction to `close`. Raises `DatabaseLocked`, `DatabaseUnreadable` or `BackendError`."""

    def __init__(self, path: Path, settings: KuzuSettings, migrations: Sequence[Migration] = MIGRATIONS) -> None:
        self._path, self._settings, self._migrations = path.resolve(), settings, migrations
        # Raised when a checkpoint fails, so that it is not tried again at every commit.
        self._checkpoint_from_bytes = settings.checkpoint_log_bytes
        self._resolver = Resolver(settings.known_ids_max)
        with _translating(self._path):
            check_header(self._path)
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = Lock(self._path)
            try:
                self.engine = self._open_first()
                self.last_seq = reading.last_seq(self.engine)
            except BaseException:
                self._lock.release(self._lock.left_as)
                raise

    def write(self, changes: Sequence[Change]) -> None:
        """All changes, durable, or none. Raises `InvalidInput` or `BackendError`."""
        batch = Batch(changes)
        refuse_without_room(self._path, batch.log_bytes_max)
        try:
            self._commit(batch, is_careful=False)
        except EngineError as error:
            if not (is_duplicate(error) or is_out_of_pool(error)):
                raise self._write_error(error) from error
            # What is not written back yet lives in the pool: so large a write needs a larger one, until the checkpoint.
            self._ensure_open(16 * self._pool_bytes_wanted(self._path) if is_out_of_pool(error) else 0)
            self._write_carefully(batch)

    def _write_carefully(self, batch: Batch) -> None:
        try:
            self._commit(batch, is_careful=True)
        except EngineError as error:
            raise self._write_error(error) from error

    def _commit(self, batch: Batch, *, is_careful: bool) -> None:
        self._ensure_open()
        resolved = self._resolver.resolve(self.engine, batch, is_careful=is_careful)
        for row in (*resolved.created, *resolved.cached):
            # Numbers of a failed transaction are not used again: the order has gaps, which nobody sees.
            self.last_seq += 1
            row["seq"] = self.last_seq
        try:
            commit(self.engine, resolved)
        except BaseException:
            # What is on disk is right; what a rollback leaves in memory is not, and may crash a later statement.
            self.engine.close()
            raise
        self._resolver.remember(batch.once)

    def _write_error(self, error: EngineError) -> BackendError:
        return BackendError("kuzu", f"{self._path}: the write failed: {error}; look at memory and disk space, then write again")

    def read(self, work: Callable[[Engine], _Found]) -> _Found:
        """The result of a function of `reading`. Raises `BackendError`."""
        self._ensure_open()
        try:
            return work(self.engine)
        except EngineError as error:
            raise BackendError(
                "kuzu", f"{self._path}: reading failed: {error}; raise buffer_pool_bytes if memory was short"
            ) from error
        except (ValueError, msgspec.MsgspecError) as error:
            raise unreadable(self._path, f"holds a value that can't be read ({error})") from error

    def checkpoint_if_due(self) -> None:
        """Write the log back into the file when it has grown long; the next statement finds a fresh open."""
        if log_bytes(self._path) >= self._checkpoint_from_bytes:
            self._ensure_open()
            self.checkpoint()

    def tidy(self) -> None:
        """Write the log back if there is one, and give the memory of its rows back to the system."""
        if log_bytes(self._path):
            self._ensure_open()
            self.checkpoint()
            return_freed_memory()

    def checkpoint(self) -> None:
        """The one checkpoint of this open, which it ends. A failed one is logged: the log still holds everything."""
        wanted = self._pool_bytes_wanted(self._path)
        # Long texts need more room than can be foreseen. Each try is an open of its own.
        if not any(self._is_written_back(factor * wanted) for factor in (1, 4, 16)):
            _log.warning("%s: no checkpoint was possible; nothing is lost, the log holds all", self._path)
        self._checkpoint_from_bytes = max(self._settings.checkpoint_log_bytes, 2 * log_bytes(self._path))
        self._reopen()

    def _is_written_back(self, pool_bytes: int) -> bool:
        if self.engine.pool_bytes < pool_bytes:
            self._reopen(pool_bytes)
        try:
            write_back(self.engine, self._path)
        except EngineError as error:
            _log.info("%s: checkpoint with a pool of %d bytes failed: %s", self._path, pool_bytes, error)
            return False
        finally:
            self.engine.close()
        return True

    def close(self) -> None:
        """Release the file and give the memory back. Nothing may be called afterwards."""
        left_as = None
        try:
            if log_bytes(self._path) >= self._settings.checkpoint_at_close_log_bytes:
                self._ensure_open()
                self.checkpoint()
            self.engine.close()
            left_as = stamp(self._path)
        finally:
            self._lock.release(left_as)
            return_freed_memory()

    def _open_first(self) -> Engine:
        # Checked again, now that nobody else can be busy with it.
        check_header(self._path)
        if not self._path.exists():
            create(self._path, lambda unborn: migrated(unborn, lambda: self._engine_at(unborn), self._migrations))
        elif self._lock.left_as != stamp(self._path):
            check_log(self._path, self._lock.left_as)
            try_reading(self._path, self._settings.trial_timeout_s)
        return migrated(self._path, lambda: self._engine_at(self._path), self._migrations)

    def _reopen(self, pool_bytes: int = 0) -> None:
        self.engine.close()
        self._ensure_open(pool_bytes)

    def _ensure_open(self, pool_bytes: int = 0) -> None:
        if self.engine.is_closed:
            with _translating(self._path):
                self.engine = self._engine_at(self._path, pool_bytes)

    def _engine_at(self, path: Path, pool_bytes: int = 0) -> Engine:
        return Engine(
            os.fspath(path),
            pool_bytes=max(pool_bytes, self._pool_bytes_wanted(path)),
            max_bytes=self._settings.database_max_bytes,
            threads=self._settings.threads_max,
        )

    def _pool_bytes_wanted(self, path: Path) -> int:
        return max(self._settings.buffer_pool_bytes, log_bytes(path) * POOL_BYTES_PER_LOG_BYTE)


@contextmanager
def _translating(path: Path) -> Iterator[None]:
    """Errors of opening, as ours."""
    try:
        yield
    except EngineError as error:
        raise _translated(path, error) from error
    except OSError as error:
        raise BackendError("kuzu", f"{path}: {error.strerror or error}; check the folder, its rights and the disk") from error


def _translated(path: Path, error: EngineError) -> HiveError:
    text = str(error)
    if "Could not set lock" in text:
        return locked_error(path, kuzu_lock_holder(path))
    if is_out_of_pool(error) or "IO exception" in text:
        return BackendError("kuzu", f"{path}: {text}; check memory, disk space and rights, then open again")
    return unreadable(path, f"can't be opened ({text})")
