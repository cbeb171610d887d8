"""One agent's record: the file, its writes, its readings, and how it is. Synchronous, and owned by one thread.

A derivation of a record that lies beside it: whole or not there, and no loss where it is gone.

It is not synced: a power failure may leave half of it, which its checksum then shows.
"""

import logging
import os
import shutil
import threading
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from uuid import uuid4
from zlib import crc32

from hive_mind.errors import BackendError, BackendUnavailable, DatabaseLocked
from hive_mind.file_lock import is_locked
from hive_mind.sqlite.file import File, connect_for_reading, owned, translating, unreadable
from hive_mind.sqlite.lock import lock_path
from hive_mind.sqlite.log import read_log
from hive_mind.sqlite.replacement import log_path
from hive_mind.store._batch import WriteBatch
from hive_mind.store.base import Change, SetMeta
from hive_mind.store.sqlite.committing import Commit
from hive_mind.store.sqlite.reading import Reading
from hive_mind.store.sqlite.rows import FORMAT, IDENTITY_KEY, PROBE_KEY

_log = logging.getLogger(__name__)
_Result = TypeVar("_Result")

# Places of nodes that were written or looked up last, so that the same entities are not looked up each time; some 150 bytes each.
_KNOWN_MAX = 2000
_DAMAGED_MAX, _NAMED_MAX = 1000, 3
_PROBE_BYTES = 64 << 10

_SUM_BYTES = 4


@dataclass(slots=True)
class Health:
    """How the record at `path` is. Written by its thread, read by anybody."""

    path: Path
    damaged: dict[str, None] = field(default_factory=dict)
    """what was left out, each by its name, the first thousand"""
    failure: str = ""
    """of the last write, until one succeeds"""

    @property
    def trouble(self) -> str:
        """One line for a person, "" where all is well."""
        if self.failure or not self.damaged:
            return self.failure
        named = ", ".join(list(self.damaged)[:_NAMED_MAX]) + (", …" if len(self.damaged) > _NAMED_MAX else "")
        return f"{self.path}: {len(self.damaged)} damaged and left out ({named}); see: hive-mind doctor --repair"

    def note_damage(self, damage: str) -> None:
        """Remember that something was left out because it is damaged, and say so once."""
        if damage not in self.damaged and len(self.damaged) < _DAMAGED_MAX:
            self.damaged[damage] = None
            _log.error("%s: %s is damaged and left out; see: hive-mind doctor --repair", self.path, damage)


class RecordFile:
    """Open from construction to `close`. Raises `DatabaseLocked`, `DatabaseUnreadable` or `BackendError`."""

    def __init__(self, path: Path, health: Health) -> None:
        self._file = File(path, FORMAT)
        self._reading = Reading(self._file.connection, health.note_damage)
        self._known: dict[str, int] = {}
        self._health = health
        try:
            self.tick = self.ask(Reading.newest_tick)
            if not self.ask(Reading.identity):
                self.write([SetMeta(IDENTITY_KEY, uuid4().hex)])
        except BaseException:
            self._file.close()
            raise

    def write(self, items: Sequence[Change]) -> None:
        """All changes, durable, or none. Raises `InvalidInput` for what does not fit what is there."""
        batch = WriteBatch().take(items)
        if batch.erased:
            # Derivations of the record as it was belong to another record.
            batch.named[IDENTITY_KEY] = uuid4().hex
        try:
            with self._file.writing() as connection:
                commit = Commit(connection, self.tick, self._known)
                commit.write(batch)
        except BackendError as error:
            self._health.failure = str(error)
            raise
        self.tick, self._health.failure = commit.tick, ""
        if commit.gone:
            self._known = {id: place for id, place in self._known.items() if place not in commit.gone}
        self._remember(commit.places)

    def ask(self, query: Callable[[Reading], _Result]) -> _Result:
        """The answer, with errors in our words."""
        with self._file.reading():
            return query(self._reading)

    def compare(self, kind: int, rows: int, sums: int, tick: int) -> None:
        """Look whether a reading of a whole kind found what was written until `tick`, where nothing was written since."""
        if self.tick == tick and not self._health.damaged:
            self.ask(lambda reading: reading.name_missing(kind, rows, sums))

    def put_aside(self, derived: bytes) -> None:
        """Keep a derivation of the record beside it."""
        put(self._health.path, derived)

    def tidy(self) -> None:
        """Write the log back and give the cache back to the system; after a failed write, find out whether one goes now."""
        if self._health.failure:
            # Where one more page goes, a fact with its links may not.
            self.write([SetMeta(PROBE_KEY, " " * _PROBE_BYTES)])
            self.write([SetMeta(PROBE_KEY, "")])
        with self._file.reading() as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.execute("PRAGMA shrink_memory")

    def scrub(self) -> None:
        """Leave nothing of what was erased, in the file and in what was made of it."""
        path = self._health.path
        remove(path)
        # Its lock stays: a process that makes a graph meanwhile must keep others from it, and has seen another record.
        for made_path in (derived for derived in path.parent.glob("graph.*") if derived.suffix != ".lock"):
            shutil.rmtree(made_path) if made_path.is_dir() else made_path.unlink()
        self._file.scrub()

    def close(self) -> None:
        self._file.close()

    def _remember(self, places: dict[str, int]) -> None:
        if len(self._known) + len(places) > _KNOWN_MAX:
            self._known.clear()
        if len(places) <= _KNOWN_MAX:
            self._known.update(places)


class RecordView:
    """A record as it was when it was opened, although others write it meanwhile. See `RecordFile`; raises like it.

    It takes no lock and changes nothing, so any number of processes have one.
    """

    def __init__(self, path: Path, health: Health) -> None:
        self._path, self._health, self._alone = path.resolve(), health, threading.Lock()
        self._connection = connect_for_reading(self._path, FORMAT)
        self._reading = Reading(self._connection, health.note_damage)
        try:
            _refuse_damaged_log(self._path)
            with translating(self._path, FORMAT):
                self._connection.execute("BEGIN")
                self._identity, self.tick = self._reading.identity(), self._reading.newest_tick()
        except BaseException:
            self._connection.close()
            raise

    def write(self, items: Sequence[Change]) -> None:
        del items
        raise BackendUnavailable("sqlite", f"{self._path} is open for reading: open it anew to write")

    def ask(self, query: Callable[[Reading], _Result]) -> _Result:
        """The answer, with errors in our words. Any thread may ask."""
        with self._alone, translating(self._path, FORMAT):
            return query(self._reading)

    def compare(self, kind: int, rows: int, sums: int, tick: int) -> None:
        if self.tick == tick and not self._health.damaged:
            self.ask(lambda reading: reading.name_missing(kind, rows, sums))

    def put_aside(self, derived: bytes) -> None:
        """Not where somebody writes, and not what is made of a record of which something was erased since."""
        with suppress(DatabaseLocked), owned(self._path, FORMAT):
            with closing(connect_for_reading(self._path, FORMAT)) as now:
                identity = Reading(now, self._health.note_damage).identity()
            if identity == self._identity:
                put(self._path, derived)

    def tidy(self) -> None:
        """There is nothing to write back."""

    def scrub(self) -> None:
        self.write(())

    def close(self) -> None:
        with self._alone:
            self._connection.close()


def _refuse_damaged_log(path: Path) -> None:
    """As opening it to write does. While somebody writes, a log that is read piece by piece looks like a damaged one."""
    log = read_log(log_path(path))
    if log and (damage := log.damage) and not is_locked(lock_path(path)):
        raise unreadable(path, f"can't be read: {damage}", FORMAT.when_damaged)


def put(record: Path, derived: bytes) -> None:
    """Replace what was there. Where the disk has no room for it, nothing is left there."""
    place, draft = _place(record), record.with_name(f"{record.name}-aside.new")
    try:
        file = os.open(draft, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(file, "wb") as out:
            out.write(_sum(derived))
            out.write(derived)
        draft.replace(place)
    except OSError:
        for left in (draft, place):
            with suppress(OSError):
                left.unlink()


def get(record: Path) -> bytes:
    """The bytes put there; nothing where they can't be read or are not as they were written."""
    try:
        read = _place(record).read_bytes()
    except OSError:
        return b""
    derived = read[_SUM_BYTES:]
    return derived if _sum(derived) == read[:_SUM_BYTES] else b""


def _sum(derived: bytes) -> bytes:
    return crc32(derived).to_bytes(_SUM_BYTES, "big")


def remove(record: Path) -> None:
    _place(record).unlink(missing_ok=True)


def _place(record: Path) -> Path:
    return record.with_name(f"{record.name}-aside")
