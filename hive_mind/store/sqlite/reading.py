"""Reading a record: pages of nodes, edges and vectors, lookups, counts, what is damaged; and a second copy, or a sound one, of
it.

Pages are ranges of `seq`, so that a reader needs no transaction while other writes go on. Any process may read while the agent
writes: everything one `RecordReader` sees is of one moment, that of its opening.

A copy taken meanwhile is of one moment, too, and one file without a log. It gets its name once it was read again and found whole.
A repair keeps each row with a right checksum and names lost ones; the old file stays. Killed at any moment, the record is the old
one or the new one.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec.structs import astuple

from hive_mind.errors import BackendError, DatabaseUnreadable
from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact, Relation
from hive_mind.safe_files import private_folder, replacing
from hive_mind.sqlite import log_path, mend, replace_database
from hive_mind.sqlite.file import connect_for_reading, create, owned, remove, transaction, translating, unreadable
from hive_mind.sqlite.log import Value, refuse_damaged_log, rows
from hive_mind.store import Link, Narrow
from hive_mind.store.sqlite.rows import (
    EDGE_TOTAL,
    FACT,
    FORMAT,
    IDENTITY_KEY,
    KIND_NAMES,
    PROBE_KEY,
    RELATION_NUMBERS,
    RELATIONS,
    SELECT,
    AnyRow,
    EdgeRow,
    NamedRow,
    NodeRow,
    Row,
    VectorRow,
    is_itself,
    is_sound,
    row_of,
)

Damage = Callable[[str], None]
"""Takes the name of what is damaged: "fact 1f3a…"."""
_Value = TypeVar("_Value", Fact, Episode)

Part = tuple[int, int]
"""Rows numbered above the first and up to the second."""

_PROBLEMS_MAX = 1000
_AMONG = "IN (SELECT value FROM json_each(?1))"
_DEGREE = (
    "SELECT (SELECT count(*) FROM edge WHERE from_seq IN (SELECT value FROM json_each(?1)))"
    " + (SELECT count(*) FROM edge WHERE to_seq IN (SELECT value FROM json_each(?1)))"
)


class RecordNode(msgspec.Struct, frozen=True):
    """A node as it is now. `tick` is that of its last change; `value` of an entity is its name."""

    tick: int
    id: str
    value: Fact | Episode | str


class Edge(msgspec.Struct, frozen=True):
    """An edge; it is never changed."""

    tick: int
    relation: Relation
    from_id: str
    to_id: str

    @property
    def link(self) -> Link:
        return Link(self.relation, self.from_id, self.to_id)


class Reading:
    """A connection's view of a record. Damaged rows are left out and named to `damage`."""

    def __init__(self, connection: sqlite3.Connection, damage: Damage) -> None:
        self._connection, self._damage = connection, damage
        # A damaged name must not end a whole query.
        connection.text_factory = lambda text: text.decode(errors="replace")

    def rows(self, kind: type[AnyRow], where: str = "", *values: object) -> Iterator[AnyRow]:
        for columns in self._connection.execute(f"{SELECT[kind]} {where}", values):
            row = kind(*columns)
            if is_sound(row):
                yield row
            else:
                self._damage(row.label)

    def themselves(self, rows: Iterable[NodeRow]) -> Iterator[tuple[NodeRow, Fact | Episode | str]]:
        """Nodes with what they hold; content under an id that is not its own is damage."""
        for row in rows:
            if is_itself(row.id.decode(), value := row.value):
                yield row, value
            else:
                self._damage(row.label)

    def newest_tick(self) -> int:
        """The highest number given out so far; 0 in an empty record."""
        # A flipped bit may have made bytes of a number, and bytes are greater than all numbers.
        newest = (
            "SELECT max(seq) FROM node UNION ALL SELECT max(changed) FROM node WHERE changed < x'' "
            "UNION ALL SELECT max(seq) FROM edge UNION ALL SELECT max(seq) FROM vector "
            "UNION ALL SELECT max(changed) FROM named WHERE changed < x''"
        )
        return max((tick for (tick,) in self._connection.execute(newest) if isinstance(tick, int)), default=0)

    def vectors(self, model: str, part: Part) -> dict[str, Narrow]:
        rows = self.rows(VectorRow, "WHERE seq > ? AND seq <= ? AND +model = ? ORDER BY seq", *part, model)
        return {row.key.decode(): row.vector for row in rows}

    def edges(self, part: Part) -> Iterator[Edge]:
        """Edges in their order; those with damaged ends are left out."""
        query = (
            "SELECT e.seq, e.relation, e.from_seq, e.to_seq, e.sum, a.id, b.id FROM edge e"
            " LEFT JOIN node a ON a.seq = e.from_seq LEFT JOIN node b ON b.seq = e.to_seq"
            " WHERE e.seq > ? AND e.seq <= ? ORDER BY e.seq"
        )
        for *columns, from_id, to_id in self._connection.execute(query, part):
            row = EdgeRow(*columns)
            if not is_sound(row):
                self._damage(row.label)
            elif from_id is not None and to_id is not None:
                yield Edge(row.seq, RELATIONS[row.relation], from_id, to_id)

    def linked(self, relation: Relation, id: str, *, backwards: bool) -> list[str]:
        near_end, far_end = ("to_seq", "from_seq") if backwards else ("from_seq", "to_seq")
        where = f"WHERE {near_end} = (SELECT seq FROM node WHERE id = ?) AND relation = ? ORDER BY seq"  # noqa: S608
        ends = (getattr(row, far_end) for row in self.rows(EdgeRow, where, id, RELATION_NUMBERS[relation]))
        rows = (self._connection.execute("SELECT id FROM node WHERE seq = ?", (end,)).fetchone() for end in ends)
        return [str(row[0]) for row in rows if row]

    def degree(self, places: Iterable[int]) -> int:
        return int(self._connection.execute(_DEGREE, (json.dumps([*places]),)).fetchone()[0])

    def edges_at(self, places: Iterable[int]) -> Iterator[EdgeRow]:
        """The edges from and to nodes in these rows; one between two of them twice."""
        edges_of_both_ends = f"WHERE from_seq {_AMONG} UNION ALL {SELECT[EdgeRow]} WHERE to_seq {_AMONG}"
        return self.rows(EdgeRow, edges_of_both_ends, json.dumps([*places]))

    def by_id(self, ids: Iterable[str], kind: type[_Value]) -> dict[str, _Value]:
        rows = ((id, self.rows(NodeRow, "WHERE id = ?", id)) for id in dict.fromkeys(ids))
        return {id: value for id, of_id in rows for _, value in self.themselves(of_id) if isinstance(value, kind)}

    def identity(self) -> str:
        """The record's own name, made with it; "" where that is lost."""
        rows = self.rows(NamedRow, "WHERE key = ?", IDENTITY_KEY)
        return next((row.value.decode() for row in rows), "")

    def meta(self) -> dict[str, str]:
        named = {row.key.decode(): row.value.decode() for row in self.rows(NamedRow, "ORDER BY key")}
        return {key: value for key, value in named.items() if key not in (IDENTITY_KEY, PROBE_KEY)}

    def counts(self) -> dict[str, int]:
        counts = dict(self._connection.execute("SELECT kind, rows FROM total"))
        (vectors,) = self._connection.execute("SELECT count(*) FROM vector").fetchone()
        return {"facts": counts[FACT], "episodes": counts[FACT + 1], "entities": counts[FACT + 2], "vectors": vectors}

    def name_missing(self, kind: int, rows: int, sums: int) -> None:
        """Name it as damage where a reading of a whole kind found other rows than were written."""
        totals = self._connection.execute("SELECT rows, sums FROM total WHERE kind = ?", (kind,)).fetchone()
        name = KIND_NAMES.get(kind, "edge")
        if totals is None:
            self._damage(f"the count of {name} rows is missing")
        elif totals[0] != rows:
            self._damage(f"{totals[0] - rows} {name} rows are missing")
        elif totals[1] != sums:
            self._damage(f"{name} rows are not those that were written")

    def close(self) -> None:
        self._connection.close()


class RecordReader(Reading):
    """A record read from outside: a context manager. Raises `DatabaseUnreadable` or `BackendError`.

    Damaged rows are left out and collected in `damaged`.
    """

    def __init__(self, path: Path) -> None:
        self.damaged: list[str] = []
        super().__init__(connect_for_reading(path.resolve(), FORMAT), self.damaged.append)
        try:
            with translating(path, FORMAT):
                self._connection.execute("BEGIN")
                self.record, self.last_tick = self.identity(), self.newest_tick()
        except BaseException:
            self.close()
            raise

    def nodes_since(self, tick: int) -> Iterator[RecordNode]:
        """Nodes added or revised after `tick`, in the order of their last change."""
        for row, value in self.themselves(self.rows(NodeRow, "WHERE changed > ? ORDER BY changed", tick)):
            yield RecordNode(row.changed, row.id.decode(), value)

    def edges_since(self, tick: int) -> Iterator[Edge]:
        """Edges added after `tick`, in their order."""
        return self.edges((tick, self.last_tick))

    def fingerprint(self) -> str:
        """Of all nodes and edges: another one after any change of them."""
        return json.dumps(self._connection.execute("SELECT kind, rows, sums FROM total ORDER BY kind").fetchall())

    def check(self) -> None:
        """Look at all of it: SQLite's own check of its trees, the checksum of each row, and whether rows are missing."""
        lines = [str(line) for (line,) in self._connection.execute("PRAGMA integrity_check(100)")]
        self.damaged += [] if lines == ["ok"] else lines
        # Trees that are damaged lead readers in circles.
        if self.damaged:
            return
        rows, sums = Counter[int](), Counter[int]()
        for node, _ in self.themselves(self.rows(NodeRow)):
            rows[node.kind] += 1
            sums[node.kind] += node.sum
        for edge in self.rows(EdgeRow):
            rows[EDGE_TOTAL] += 1
            sums[EDGE_TOTAL] += edge.sum
        for _ in self.rows(VectorRow):
            pass
        if not self.damaged:
            for kind in (EDGE_TOTAL, *KIND_NAMES):
                self.name_missing(kind, rows[kind], sums[kind])

    def __enter__(self) -> "RecordReader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def problems(path: Path) -> list[str]:
    """The damaged parts, each by its name, the first thousand; empty for a record that is whole. It may be in use.

    Raises `BackendError` where there is no such file or it can't be read at all.
    """
    rows: list[str] = []
    try:
        refuse_damaged_log(path, FORMAT.when_damaged)
        with RecordReader(path) as reader, translating(path, FORMAT):
            rows = reader.damaged
            reader.check()
    except DatabaseUnreadable as error:
        rows.append(str(error))
    return rows[:_PROBLEMS_MAX]


_PAGES_PER_STEP = 4096


def backup(path: Path, target: Path) -> int:
    """Copy the record at `path` to `target`, which must not exist. Returns how many facts the copy holds.

    Raises `DatabaseUnreadable` where the record is damaged, `BackendError` where the disk fails.
    """
    with translating(target, FORMAT), replacing(target) as unfinished:
        _copy(path.resolve(), unfinished)
    with RecordReader(target) as reader:
        return reader.counts()["facts"]


def restore(copy: Path, path: Path) -> Path | None:
    """Put a copy in the place of the record at `path`. The file there is kept under another name, which is returned.

    Raises `DatabaseLocked` where the record is in use, `DatabaseUnreadable` for a copy that is damaged or none.
    """
    _refuse_damaged(copy)
    path = path.resolve()
    with translating(path, FORMAT):
        private_folder(path.parent)
    made_path = path.with_name(path.name + ".restoring")
    with owned(path, FORMAT), translating(path, FORMAT):
        mend(path)
        with replacing(made_path) as unfinished:
            _copy(copy.resolve(), unfinished)
        return replace_database(path, made_path, "before")


def _refuse_damaged(copy: Path) -> None:
    if problems_found := problems(copy):
        raise unreadable(copy, f"is damaged ({problems_found[0]})", "restore another copy")


def _copy(path: Path, unfinished: Path) -> None:
    """All of a record at one moment, what is in its log, too; read again."""
    with closing(connect_for_reading(path, FORMAT)) as source, closing(sqlite3.connect(unfinished, isolation_level=None)) as copy:
        # One moment for all steps: writes made meanwhile are not in the copy.
        source.execute("BEGIN")
        # Between steps Python looks whether it was interrupted, if it has something to call.
        source.backup(copy, pages=_PAGES_PER_STEP, progress=lambda *_: None)
        copy.execute("PRAGMA journal_mode = DELETE")
    try:
        _refuse_damaged(unfinished)
    except DatabaseUnreadable as error:
        raise BackendError("sqlite", f"the copy is not whole: {error}") from error


_LOST_NAMED_MAX = 1000
_NAMES = ("links", "facts", "episodes", "entities")
_PUT: dict[type[Row], str] = {
    # Of the same row the one that was written last counts.
    NodeRow: "INSERT INTO node VALUES (?, ?, CAST(? AS TEXT), ?, ?, ?) ON CONFLICT (seq) DO UPDATE SET kind = excluded.kind,"
    " id = excluded.id, changed = excluded.changed, body = excluded.body, sum = excluded.sum WHERE excluded.changed > changed",
    EdgeRow: "INSERT OR IGNORE INTO edge VALUES (?, ?, ?, ?, ?)",
    VectorRow: "INSERT OR REPLACE INTO vector VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT), ?, ?)",
    NamedRow: "INSERT INTO named VALUES (CAST(? AS TEXT), CAST(? AS TEXT), ?, ?) ON CONFLICT (key) DO UPDATE SET"
    " value = excluded.value, changed = excluded.changed, sum = excluded.sum WHERE excluded.changed > changed",
}
_COUNT = "INSERT OR REPLACE INTO total SELECT {kind}, count(*), coalesce(sum(sum), 0) FROM {table}"


@dataclass(slots=True)
class Repair:
    """Result of a repair. `kept_aside` is the old file."""

    kept_aside: Path
    kept: Counter[str] = field(default_factory=Counter)
    lost: dict[str, None] = field(default_factory=dict)


def repair(path: Path) -> Repair:
    """Do it. Raises `DatabaseLocked` where the record is in use, `BackendError` where the disk fails."""
    path = path.resolve()
    with owned(path, FORMAT):
        mend(path)
        made_path = path.with_name(path.name + ".repaired")
        repair = _salvage(path, made_path)
        repair.kept_aside = replace_database(path, made_path, "damaged") or path
        return repair


def _salvage(path: Path, made_path: Path) -> Repair:
    repair = Repair(path)
    remove(made_path)
    create(made_path, FORMAT)
    unsound: dict[str, None] = {}
    counted: Counter[int] = Counter()
    with closing(sqlite3.connect(made_path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        with transaction(connection):
            for salvaged_row in rows(path, log_path(path), FORMAT.page_bytes, _is_sound):
                row = row_of(salvaged_row.rowid, salvaged_row.values)
                if row is not None and is_sound(row):
                    connection.execute(_PUT[type(row)], astuple(row))
                elif isinstance(row, NodeRow):
                    unsound[row.label] = None
                elif total := _total(salvaged_row.values):
                    # The former number, as nothing that is counted is ever taken out.
                    counted[salvaged_row.rowid] = max(counted[salvaged_row.rowid], total)
            sound_ids = {bytes(key).decode() for (key,) in connection.execute("SELECT CAST(id AS BLOB) FROM node")}
            repair.lost = {
                lost_name: None for lost_name in list(unsound)[:_LOST_NAMED_MAX] if lost_name.rpartition(" ")[2] not in sound_ids
            }
            _count(connection, repair, counted)
    return repair


def _is_sound(rowid: int, values: Sequence[Value]) -> bool:
    row = row_of(rowid, values)
    return _total(values) is not None if row is None else is_sound(row)


def _total(values: Sequence[Value]) -> int | None:
    """How many rows a row of `total` counts, None for other rows. It has no checksum, and is made anew."""
    match values:
        case [None, int(count), int()]:
            return count
        case _:
            return None


def _count(connection: sqlite3.Connection, repair: Repair, counted: Counter[int]) -> None:
    connection.execute(_COUNT.format(kind=0, table="edge"))
    for kind in KIND_NAMES:
        connection.execute(_COUNT.format(kind=kind, table=f"node WHERE kind = {kind}"))
    for kind, count in connection.execute("SELECT kind, rows FROM total").fetchall():
        repair.kept[_NAMES[kind]] = count
        named_count = sum(lost_name.startswith(f"{KIND_NAMES.get(kind, 'edge')} ") for lost_name in repair.lost)
        if count + named_count < counted[kind]:
            repair.lost[f"{counted[kind] - count - named_count} {_NAMES[kind]} that can't be named"] = None
    repair.kept["embeddings"] = connection.execute("SELECT count(*) FROM vector").fetchone()[0]
    # An edge with a lost end leads nowhere, and goes with it.
    ends = "(SELECT seq FROM node)"
    connection.execute(f"DELETE FROM edge WHERE from_seq NOT IN {ends} OR to_seq NOT IN {ends}")  # noqa: S608
    connection.execute(_COUNT.format(kind=0, table="edge"))
