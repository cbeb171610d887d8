"""Writes a batch: looks up existing rows, makes the rows, keeps the totals. Runs inside one transaction.

A mistake in a batch is found on the way; the caller, which opened the transaction, then rolls it back, and nothing has happened.

Takes nodes out of a record, with all that hangs on them. Runs inside a commit's transaction.

Rows that are damaged go as well. The totals are reduced by their own numbers, which may be wrong: then a reading of the whole
names the difference, as it does with every damage.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from msgspec.structs import astuple

from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact
from hive_mind.model.ids import vector_key
from hive_mind.store._batch import WriteBatch, already_there, no_end, not_there
from hive_mind.store.base import Link
from hive_mind.store.sqlite.rows import (
    EDGE_TOTAL,
    ENTITY,
    FACT,
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

_INSERT_NODE = "INSERT INTO node VALUES (?, ?, CAST(? AS TEXT), ?, ?, ?)"
_PUT_VECTOR = (
    "INSERT INTO vector VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT), ?, ?)"
    " ON CONFLICT (model, key) DO UPDATE SET value = excluded.value, sum = excluded.sum"
)
_PUT_NAMED = (
    "INSERT INTO named VALUES (CAST(? AS TEXT), CAST(? AS TEXT), ?, ?)"
    " ON CONFLICT (key) DO UPDATE SET value = excluded.value, changed = excluded.changed, sum = excluded.sum"
)


class Commit:
    """One transaction's writing. `known` are places (`seq`) of nodes by id, as far as they are remembered."""

    def __init__(self, connection: sqlite3.Connection, tick: int, places: Mapping[str, int]) -> None:
        self._connection, self.tick, self._known = connection, tick, places
        self.places: dict[str, int] = {}
        """of the nodes this commit wrote or looked up"""
        self.gone: set[int] = set()
        """places of what was erased"""
        self._new: set[int] = set()
        # By kind, the amount to add to `total`.
        self._rows, self._sums = Counter[int](), Counter[int]()

    def write(self, batch: WriteBatch) -> None:
        """All of it. Raises `InvalidInput`."""
        self._add(batch.added)
        self._revise(batch.revised)
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
            self._erase(batch)
        rows = (summed(NamedRow(key.encode(), value.encode(), self._next())) for key, value in batch.named.items())
        self._connection.executemany(_PUT_NAMED, map(astuple, rows))
        totals = [(self._rows[kind], sums, kind) for kind, sums in self._sums.items()]
        self._connection.executemany("UPDATE total SET rows = rows + ?, sums = sums + ? WHERE kind = ?", totals)

    def _erase(self, batch: WriteBatch) -> None:
        erasing = Erasing(self._connection)
        erasing.nodes(place for id in batch.erased if (place := self._place(id)) is not None)
        erasing.embeddings(batch.erased_texts)
        self._rows.subtract(erasing.rows)
        self._sums.subtract(erasing.sums)
        self.gone = erasing.gone
        self.places = {id: place for id, place in self.places.items() if place not in self.gone}

    def _next(self) -> int:
        self.tick += 1
        return self.tick

    def _add(self, added: Mapping[str, Fact]) -> None:
        for id, fact in added.items():
            if row := self._row(id):
                if is_sound(row):
                    raise already_there(id)
                # Damaged, so that nobody was shown it: it is written anew in its place.
                self._overwrite(row, id, fact)
        self._insert((id, fact) for id, fact in added.items() if id not in self.places)

    def _revise(self, revised: Mapping[str, Fact]) -> None:
        for id, fact in revised.items():
            row = self._row(id)
            if row is None or row.kind != FACT:
                raise not_there(id)
            value = row.value if is_sound(row) else None
            self._overwrite(row, id, replace(fact, content=value.content) if isinstance(value, Fact) else fact)

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
            relation, start, end = RELATION_NUMBERS[link.relation], self._end(link.from_id), self._end(link.to_id)
            if start in self._new or not self._has_edge(start, relation, end):
                row = summed(EdgeRow(self._next(), relation, start, end))
                rows.append(row)
                self._rows[EDGE_TOTAL] += 1
                self._sums[EDGE_TOTAL] += row.sum
        self._connection.executemany("INSERT INTO edge VALUES (?, ?, ?, ?, ?)", map(astuple, rows))

    def _end(self, id: str) -> int:
        place = self._place(id)
        if place is None:
            raise no_end(id)
        return place

    def _has_edge(self, *edge: int) -> bool:
        cursor = self._connection.execute("SELECT 1 FROM edge WHERE from_seq = ? AND relation = ? AND to_seq = ?", edge)
        return cursor.fetchone() is not None

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
            named.update(self._edges_of(place))
            self._node(place)
        for place in named - self.gone:
            if self._is_lonely_entity(place):
                self._node(place)

    def embeddings(self, texts: Iterable[str]) -> None:
        """Delete these texts' vectors of all models."""
        models = [model for (model,) in self._connection.execute("SELECT DISTINCT model FROM vector")]
        keys = [(model, vector_key(model, text)) for model in models for text in texts]
        self._connection.executemany("DELETE FROM vector WHERE model = ? AND key = ?", keys)

    def _edges_of(self, place: int) -> list[int]:
        """Take away the edges of a node; the places at their other ends."""
        edge_rows = self._connection.execute(
            "SELECT seq, from_seq, to_seq, sum FROM edge WHERE from_seq = ? OR to_seq = ?", (place, place)
        ).fetchall()
        for _, _, _, sum in edge_rows:
            self._count(EDGE_TOTAL, sum)
        self._connection.executemany("DELETE FROM edge WHERE seq = ?", [row[:1] for row in edge_rows])
        return [end for _, *ends, _ in edge_rows for end in ends if end != place]

    def _node(self, place: int) -> None:
        row = self._connection.execute("SELECT kind, sum FROM node WHERE seq = ?", (place,)).fetchone()
        if row is None:
            return
        self._count(*row)
        self._connection.execute("DELETE FROM node WHERE seq = ?", (place,))
        self.gone.add(place)

    def _is_lonely_entity(self, place: int) -> bool:
        query = "SELECT 1 FROM node WHERE seq = ? AND kind = ? AND NOT EXISTS (SELECT 1 FROM edge WHERE to_seq = node.seq)"
        return self._connection.execute(query, (place, ENTITY)).fetchone() is not None

    def _count(self, kind: int, sum: object) -> None:
        self.rows[kind] += 1
        self.sums[kind] += sum if isinstance(sum, int) else 0
