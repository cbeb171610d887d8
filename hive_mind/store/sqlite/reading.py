"""Reading a record: pages of nodes, edges and vectors, lookups, and counts. Damaged rows are left out and named.

Each function is one or a few queries and leaves nothing open. Pages are ranges of `seq`, so that a reader needs no transaction
while other writes go on.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact, Relation
from hive_mind.store.base import Link, Narrow
from hive_mind.store.sqlite.rows import (
    EDGE_COLUMNS,
    FACT,
    KIND_NAMES,
    NAMED_COLUMNS,
    NODE_COLUMNS,
    RELATION_NUMBERS,
    RELATIONS,
    VECTOR_COLUMNS,
    EdgeRow,
    NamedRow,
    NodeRow,
    VectorRow,
    is_itself,
)
from hive_mind.store.sqlite.schema import IDENTITY_KEY, PROBE_KEY

Damage = Callable[[str], None]
"""Told what is damaged: "fact 1f3a…"."""
_Value = TypeVar("_Value", Fact, Episode)

Part = tuple[int, int]
"""Rows numbered above the first and up to the second."""

PAGE_ROWS = 4096


def last_tick(connection: sqlite3.Connection) -> int:
    """The highest number given out so far; 0 in an empty record."""
    # A flipped bit may have made bytes of a number, and bytes are greater than all numbers.
    newest = (
        "SELECT max(seq) FROM node UNION ALL SELECT max(changed) FROM node WHERE changed < x'' "
        "UNION ALL SELECT max(seq) FROM edge UNION ALL SELECT max(seq) FROM vector "
        "UNION ALL SELECT max(changed) FROM named WHERE changed < x''"
    )
    return max((tick for (tick,) in connection.execute(newest) if isinstance(tick, int)), default=0)


def nodes(connection: sqlite3.Connection, kind: int, part: Part, damage: Damage) -> tuple[list[NodeRow], int]:
    """The sound nodes of the next page of a part, in order, and where the page ends: the last `seq` looked at, 0 for none."""
    query = f"SELECT {NODE_COLUMNS} FROM node WHERE seq > ? AND seq <= ? AND +kind = ? ORDER BY seq LIMIT ?"  # noqa: S608
    rows = [NodeRow(*row) for row in connection.execute(query, (*part, kind, PAGE_ROWS))]
    return list(_sound(rows, damage)), rows[-1].seq if rows else 0


def _sound(rows: Iterable[NodeRow], damage: Damage) -> Iterator[NodeRow]:
    for row in rows:
        if row.is_sound:
            yield row
        else:
            damage(row.told)


def themselves(rows: Iterable[NodeRow], damage: Damage) -> list[Fact | Episode | str]:
    """What rows hold, but what stands under an id that is not its own."""
    found = []
    for row in rows:
        if is_itself(row.id.decode(), value := row.value):
            found.append(value)
        else:
            damage(row.told)
    return found


def vectors(connection: sqlite3.Connection, model: str, part: Part, damage: Damage) -> tuple[dict[str, Narrow], int]:
    """The embeddings of the next page, and where it ends."""
    query = f"SELECT {VECTOR_COLUMNS}, seq FROM vector WHERE seq > ? AND seq <= ? AND +model = ? ORDER BY seq LIMIT ?"  # noqa: S608
    rows = connection.execute(query, (*part, model, PAGE_ROWS)).fetchall()
    found: dict[str, Narrow] = {}
    for by, key, value, sum, _ in rows:
        row = VectorRow(by, key, value, sum)
        if row.is_sound:
            found[key.decode()] = row.vector
        else:
            damage(f"embedding {key.decode(errors='replace')}")
    return found, rows[-1][-1] if rows else 0


def links(connection: sqlite3.Connection, part: Part, damage: Damage) -> tuple[list[Link], int]:
    """The edges of the next page, and where it ends."""
    ends = "SELECT a.id, b.id FROM node a, node b WHERE a.seq = ? AND b.seq = ?"
    query = f"SELECT {EDGE_COLUMNS} FROM edge WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?"  # noqa: S608
    found: list[Link] = []
    last = 0
    for row in (EdgeRow(*row) for row in connection.execute(query, (*part, PAGE_ROWS))):
        last = row.seq
        if not row.is_sound:
            damage(f"edge {row.seq}")
        elif named := connection.execute(ends, (row.from_seq, row.to_seq)).fetchone():
            found.append(Link(RELATIONS[row.relation], *named))
    return found, last


def linked(connection: sqlite3.Connection, relation: Relation, id: str, *, backwards: bool, damage: Damage) -> list[str]:
    """Ids at the other end of an id's edges."""
    here, there = ("to_seq", "from_seq") if backwards else ("from_seq", "to_seq")
    edges = f"SELECT {EDGE_COLUMNS} FROM edge WHERE {here} = (SELECT seq FROM node WHERE id = ?) AND relation = ? ORDER BY seq"  # noqa: S608
    found = []
    for row in (EdgeRow(*row) for row in connection.execute(edges, (id, RELATION_NUMBERS[relation]))):
        if not row.is_sound:
            damage(f"edge {row.seq}")
        elif end := connection.execute("SELECT id FROM node WHERE seq = ?", (getattr(row, there),)).fetchone():
            found.append(str(end[0]))
    return found


def by_id(connection: sqlite3.Connection, ids: Iterable[str], wanted: type[_Value], damage: Damage) -> dict[str, _Value]:
    """What exists of one kind among `ids`."""
    found: dict[str, _Value] = {}
    query = f"SELECT {NODE_COLUMNS} FROM node WHERE id = ?"  # noqa: S608
    for id in dict.fromkeys(ids):
        rows = [NodeRow(*row) for row in connection.execute(query, (id,))]
        for value in themselves(_sound(rows, damage), damage):
            if isinstance(value, wanted):
                found[id] = value
    return found


def named(connection: sqlite3.Connection, damage: Damage) -> dict[str, str]:
    """All named values, the record's own among them."""
    found = {}
    for row in (NamedRow(*row) for row in connection.execute(f"SELECT {NAMED_COLUMNS} FROM named ORDER BY key")):  # noqa: S608
        if row.is_sound:
            found[row.key.decode()] = row.value.decode()
        else:
            damage(f"named value {row.key.decode(errors='replace')}")
    return found


def meta(connection: sqlite3.Connection, damage: Damage) -> Mapping[str, str]:
    """All named values of the memory."""
    return {key: value for key, value in named(connection, damage).items() if key not in (IDENTITY_KEY, PROBE_KEY)}


def counts(connection: sqlite3.Connection) -> dict[str, int]:
    """How many of each kind."""
    kept = dict(connection.execute("SELECT kind, rows FROM total"))
    return {
        "facts": kept[FACT],
        "episodes": kept[FACT + 1],
        "entities": kept[FACT + 2],
        "vectors": connection.execute("SELECT count(*) FROM vector").fetchone()[0],
    }


def missing(connection: sqlite3.Connection, kind: int, rows: int, sums: int) -> str:
    """What to say where a reading of a whole kind found other rows than were written, "" where it found all."""
    written = connection.execute("SELECT rows, sums FROM total WHERE kind = ?", (kind,)).fetchone()
    if written == (rows, sums):
        return ""
    name = KIND_NAMES.get(kind, "edge")
    if written is None:
        return f"the count of {name} rows is missing"
    return (
        f"{written[0] - rows} {name} rows are missing" if written[0] != rows else f"{name} rows are not those that were written"
    )
