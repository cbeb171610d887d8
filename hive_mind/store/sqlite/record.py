"""One agent's record: the file, its writes, its readings, and how it is. Synchronous, and owned by one thread.

A batch is written inside one transaction: existing rows are looked up, rows made, totals kept. A mistake in it is found on the
way; its caller then rolls it back, and nothing has happened. Nodes that are taken out go with all that hangs
on them, damaged rows as well. The totals are reduced by their own numbers, which may be wrong: then a reading of the whole names
the difference, as it does with every damage.

A derivation of the record lies beside it: whole or not there, and no loss where it is gone. It is not synced: a power failure may
leave half of it, which its checksum then shows.
"""

import logging
import os
import shutil
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar
from uuid import uuid4
from zlib import crc32

from msgspec.structs import astuple

from hive_mind.errors import BackendError, BackendUnavailable, DatabaseLocked
from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact
from hive_mind.model.ids import vector_key
from hive_mind.safe_files import is_locked
from hive_mind.sqlite import lock_path, log_path
from hive_mind.sqlite.file import File, connect_for_reading, owned, translating, unreadable
from hive_mind.sqlite.log import read_log
from hive_mind.store import Change, Link, SetMeta, WriteBatch, already_there, no_end, not_there
from hive_mind.store.sqlite.reading import Reading
from hive_mind.store.sqlite.rows import (
    EDGE_TOTAL,
    ENTITY,
    FACT,
    FORMAT,
    IDENTITY_KEY,
    PROBE_KEY,
    RELATION_NUMBERS,
    SELECT,
    EdgeRow,
    NamedRow,
    NodeRow,
    VectorRow,
    is_sound,
    node_row,
    summed,
)

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
        if len(self._known) + len(commit.places) > _KNOWN_MAX:
            self._known.clear()
        if len(commit.places) <= _KNOWN_MAX:
            self._known.update(commit.places)

    def ask(self, query: Callable[[Reading], _Result]) -> _Result:
        with translating(self._file.path, FORMAT):
            return query(self._reading)

    def put_aside(self, derived: bytes) -> None:
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
        path = self._health.path
        remove(path)
        # Its lock stays: a process that makes a graph meanwhile must keep others from it, and has seen another record.
        for made_path in (derived for derived in path.parent.glob("graph.*") if derived.suffix != ".lock"):
            shutil.rmtree(made_path) if made_path.is_dir() else made_path.unlink()
        self._file.scrub()

    def close(self) -> None:
        self._file.close()


class RecordView:
    """A record as it was when it was opened, although others write it meanwhile. See `RecordFile`; raises like it.

    It takes no lock and changes nothing, so any number of processes have one.
    """

    def __init__(self, path: Path, health: Health) -> None:
        path = path.resolve()
        self._path, self._health, self._alone = path, health, threading.Lock()
        self._connection = connect_for_reading(self._path, FORMAT)
        self._reading = Reading(self._connection, health.note_damage)
        try:
            # As opening it to write does. While somebody writes, a log that is read piece by piece looks like a damaged one.
            if (log := read_log(log_path(path))) and (damage := log.damage) and not is_locked(lock_path(path)):
                raise unreadable(path, f"can't be read: {damage}", FORMAT.when_damaged)
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
        with self._alone, translating(self._path, FORMAT):
            return query(self._reading)

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


def aside_of(record: Path) -> bytes:
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


_IS_EDGE = "SELECT 1 FROM edge WHERE relation = ? AND from_seq = ? AND to_seq = ?"
_INSERT_NODE = "INSERT INTO node VALUES (?, ?, CAST(? AS TEXT), ?, ?, ?)"
_PUT_VECTOR = (
    "INSERT INTO vector VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT), ?, ?)"
    " ON CONFLICT (model, key) DO UPDATE SET value = excluded.value, sum = excluded.sum"
)
_PUT_NAMED = (
    "INSERT INTO named VALUES (CAST(? AS TEXT), CAST(? AS TEXT), ?, ?)"
    " ON CONFLICT (key) DO UPDATE SET value = excluded.value, changed = excluded.changed, sum = excluded.sum"
)


@dataclass(slots=True)
class Commit:
    """One transaction's writing. `_known` are places (`seq`) of nodes by id, as far as they are remembered."""

    _connection: sqlite3.Connection
    tick: int
    _known: Mapping[str, int]
    places: dict[str, int] = field(default_factory=dict)
    """of the nodes this commit wrote or looked up"""
    gone: set[int] = field(default_factory=set)
    """places of what was erased"""
    _new: set[int] = field(default_factory=set)
    # By kind, the amount to add to `total`.
    _rows: Counter[int] = field(default_factory=Counter)
    _sums: Counter[int] = field(default_factory=Counter)

    def write(self, batch: WriteBatch) -> None:
        """All of it. Raises `InvalidInput`."""
        for id, fact in batch.added.items():
            if row := self._row(id):
                if is_sound(row):
                    raise already_there(id)
                # Damaged, so that nobody was shown it: it is written anew in its place.
                self._overwrite(row, id, fact)
        self._insert((id, fact) for id, fact in batch.added.items() if id not in self.places)
        for id, fact in batch.revised.items():
            row = self._row(id)
            if row is None or row.kind != FACT:
                raise not_there(id)
            value = row.value if is_sound(row) else None
            self._overwrite(row, id, replace(fact, content=value.content) if isinstance(value, Fact) else fact)
        self._insert((id, value) for id, value in batch.once.items() if self._place(id) is None)
        self._link(batch.links)
        for model in batch.dropped_models:
            self._connection.execute("DELETE FROM vector WHERE model = ?", (model,))
        vectors = (
            summed(VectorRow(self._next(), model.encode(), key.encode(), vector.astype("<f2").tobytes()))
            for (model, key), vector in batch.vectors.items()
        )
        self._connection.executemany(_PUT_VECTOR, map(astuple, vectors))
        if batch.erased or batch.erased_texts:
            erasing = Erasing(self._connection)
            erasing.nodes(place for id in batch.erased if (place := self._place(id)) is not None)
            erasing.embeddings(batch.erased_texts)
            self._rows.subtract(erasing.rows)
            self._sums.subtract(erasing.sums)
            self.gone = erasing.gone
            self.places = {id: place for id, place in self.places.items() if place not in self.gone}
        rows = (summed(NamedRow(key.encode(), value.encode(), self._next())) for key, value in batch.named.items())
        self._connection.executemany(_PUT_NAMED, map(astuple, rows))
        totals = [(self._rows[kind], sums, kind) for kind, sums in self._sums.items()]
        self._connection.executemany("UPDATE total SET rows = rows + ?, sums = sums + ? WHERE kind = ?", totals)

    def _next(self) -> int:
        self.tick += 1
        return self.tick

    def _insert(self, values: Iterable[tuple[str, Fact | Episode | str]]) -> None:
        rows = []
        for id, value in values:
            tick = self._next()
            row = node_row(tick, id, value, tick)
            rows.append(row)
            self.places[id] = tick
            self._new.add(tick)
            self._rows[row.kind] += 1
            self._sums[row.kind] += row.sum
        self._connection.executemany(_INSERT_NODE, map(astuple, rows))

    def _overwrite(self, former: NodeRow, id: str, fact: Fact) -> None:
        row = node_row(former.seq, id, fact, self._next())
        update = "UPDATE node SET kind = ?, id = CAST(? AS TEXT), changed = ?, body = ?, sum = ? WHERE seq = ?"
        self._connection.execute(update, (*astuple(row)[1:], former.seq))
        self._sums[row.kind] += row.sum - former.sum

    def _link(self, links: Iterable[Link]) -> None:
        rows = []
        for link in links:
            start, end = self._place(link.from_id), self._place(link.to_id)
            if start is None or end is None:
                raise no_end(link.from_id if start is None else link.to_id)
            edge = (RELATION_NUMBERS[link.relation], start, end)
            if start in self._new or self._connection.execute(_IS_EDGE, edge).fetchone() is None:
                row = summed(EdgeRow(self._next(), *edge))
                rows.append(row)
                self._rows[EDGE_TOTAL] += 1
                self._sums[EDGE_TOTAL] += row.sum
        self._connection.executemany("INSERT INTO edge VALUES (?, ?, ?, ?, ?)", map(astuple, rows))

    def _place(self, id: str) -> int | None:
        place = self.places.get(id) or self._known.get(id)
        if place is None:
            row = self._connection.execute("SELECT seq FROM node WHERE id = ?", (id,)).fetchone()
            place = row[0] if row else None
        if place is not None:
            self.places[id] = place
        return place

    def _row(self, id: str) -> NodeRow | None:
        place = self._place(id)
        return (
            None if place is None else NodeRow(*self._connection.execute(f"{SELECT[NodeRow]} WHERE seq = ?", (place,)).fetchone())
        )


class Erasing:
    """`gone` are places of nodes; `rows` and `sums` are how many rows of each kind went, and the sum of their checksums."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.gone: set[int] = set()
        self.rows, self.sums = Counter[int](), Counter[int]()

    def nodes(self, places: Iterable[int]) -> None:
        """Facts, episodes or entities; and the entities that nothing names any more."""
        named: set[int] = set()
        for place in places:
            edge_rows = self._connection.execute(
                "SELECT seq, from_seq, to_seq, sum FROM edge WHERE from_seq = ? OR to_seq = ?", (place, place)
            ).fetchall()
            for _, _, _, sum in edge_rows:
                self._count(EDGE_TOTAL, sum)
            self._connection.executemany("DELETE FROM edge WHERE seq = ?", [row[:1] for row in edge_rows])
            named.update(end for _, *ends, _ in edge_rows for end in ends if end != place)
            self._node(place)
        query = "SELECT 1 FROM node WHERE seq = ? AND kind = ? AND NOT EXISTS (SELECT 1 FROM edge WHERE to_seq = node.seq)"
        for place in named - self.gone:
            if self._connection.execute(query, (place, ENTITY)).fetchone() is not None:
                self._node(place)

    def embeddings(self, texts: Iterable[str]) -> None:
        models = [model for (model,) in self._connection.execute("SELECT DISTINCT model FROM vector")]
        keys = [(model, vector_key(model, text)) for model in models for text in texts]
        self._connection.executemany("DELETE FROM vector WHERE model = ? AND key = ?", keys)

    def _node(self, place: int) -> None:
        row = self._connection.execute("SELECT kind, sum FROM node WHERE seq = ?", (place,)).fetchone()
        if row is None:
            return
        self._count(*row)
        self._connection.execute("DELETE FROM node WHERE seq = ?", (place,))
        self.gone.add(place)

    def _count(self, kind: int, sum: object) -> None:
        self.rows[kind] += 1
        self.sums[kind] += sum if isinstance(sum, int) else 0
