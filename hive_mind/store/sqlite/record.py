"""One agent's record: the file, its writes, its readings. Synchronous, and owned by one thread."""

import shutil
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

from hive_mind.errors import BackendError
from hive_mind.sqlite.file import File
from hive_mind.store.base import Change, SetMeta
from hive_mind.store.sqlite import aside, reading
from hive_mind.store.sqlite.batch import Batch
from hive_mind.store.sqlite.committing import Commit
from hive_mind.store.sqlite.health import Health
from hive_mind.store.sqlite.repair import refuse_half_repaired
from hive_mind.store.sqlite.schema import FORMAT, IDENTITY_KEY, PROBE_KEY

_Result = TypeVar("_Result")

# Places of nodes that were written or looked up last, so that the same entities are not looked up each time; some 150 bytes each.
_KNOWN_MAX = 2000


class Record:
    """Open from construction to `close`. Raises `DatabaseLocked`, `DatabaseUnreadable` or `BackendError`."""

    def __init__(self, path: Path, health: Health) -> None:
        refuse_half_repaired(path)
        self._file = File(path, FORMAT)
        self._known: dict[str, int] = {}
        self.health = health
        try:
            with self._file.reading() as connection:
                # A damaged name must not end a whole query.
                connection.text_factory = _lenient
                self.tick = reading.last_tick(connection)
                is_new = IDENTITY_KEY not in reading.named(connection, health.note_damage)
            if is_new:
                self.write([SetMeta(IDENTITY_KEY, uuid4().hex)])
        except BaseException:
            self._file.close()
            raise

    def note_if_missing(self, kind: int, rows: int, sums: int) -> None:
        """Compare what a reading of a whole kind found with what was written."""
        if missing := self.ask(lambda connection: reading.missing(connection, kind, rows, sums)):
            self.health.note_damage(missing)

    def write(self, items: Sequence[Change]) -> None:
        """All changes, durable, or none. Raises `InvalidInput` for what does not fit what is there."""
        batch = Batch()
        batch.take(items)
        if batch.erased:
            # What was made of the record as it was is of another record.
            batch.named[IDENTITY_KEY] = uuid4().hex
        try:
            with self._file.writing() as connection:
                commit = Commit(connection, self.tick, self._known)
                commit.write(batch)
        except BackendError as error:
            self.health.note_failure(error)
            raise
        self.tick, self.health.failure = commit.tick, ""
        self._known = {id: place for id, place in self._known.items() if place not in commit.gone}
        self._remember(commit.places)

    def ask(self, query: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """The result of a query of `reading`."""
        with self._file.reading() as connection:
            return query(connection)

    def tidy(self) -> None:
        """Write the log back and give the cache back to the system; after a failed write, find out whether one goes now."""
        if self.health.failure:
            self.write([SetMeta(PROBE_KEY, "")])
        with self._file.reading() as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.execute("PRAGMA shrink_memory")

    def scrub(self) -> None:
        """Leave nothing of what was erased, in the file and in what was made of it."""
        aside.remove(self.health.path)
        # Its lock stays: a process that makes a graph meanwhile must keep others from it, and has seen another record.
        for made in (path for path in self.health.path.parent.glob("graph.*") if path.suffix != ".lock"):
            shutil.rmtree(made) if made.is_dir() else made.unlink()
        self._file.scrub()

    def close(self) -> None:
        """Write the log back and release the file."""
        self._file.close()

    def _remember(self, places: dict[str, int]) -> None:
        if len(self._known) + len(places) > _KNOWN_MAX:
            self._known.clear()
        if len(places) <= _KNOWN_MAX:
            self._known.update(places)


def _lenient(text: bytes) -> str:
    return text.decode(errors="replace")
