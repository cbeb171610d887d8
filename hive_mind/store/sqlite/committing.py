"""Writes a batch: looks up what is there, makes the rows, keeps the totals. Runs inside one transaction.

What is wrong with a batch is found on the way; whoever opened the transaction then rolls it back, and nothing has happened.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from hive_mind.errors import InvalidInput
from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact
from hive_mind.store.sqlite.batch import Batch, already_there
from hive_mind.store.sqlite.erasing import Erasing
from hive_mind.store.sqlite.rows import FACT, NODE_COLUMNS, NodeRow, edge_row, named_row, node_row, vector_row
from hive_mind.store.sqlite.schema import EDGE_TOTAL

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

    def __init__(self, connection: sqlite3.Connection, tick: int, known: Mapping[str, int]) -> None:
        self._connection, self.tick, self._known = connection, tick, known
        self.places: dict[str, int] = {}
        """of the nodes this commit wrote or looked up"""
        self.gone: set[int] = set()
        """places of what was erased"""
        self._new: set[int] = set()
        self._totals: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0])

    def write(self, batch: Batch) -> None:
        """All of it. Raises `InvalidInput`."""
        self._add(batch.added)
        self._revise(batch.revised)
        self._insert((id, value) for id, value in batch.once.items() if self._place(id) is None)
        self._link(batch)
        for model in batch.dropped_models:
            self._connection.execute("DELETE FROM vector WHERE model = ?", (model,))
        vectors = [vector_row(model, key, vector) for (model, key), vector in batch.vectors.items()]
        self._connection.executemany(_PUT_VECTOR, [(self._next(), *row) for row in vectors])
        if batch.erased or batch.erased_texts:
            self._erase(batch)
        self._connection.executemany(_PUT_NAMED, [named_row(key, value, self._next()) for key, value in batch.named.items()])
        totals = [(rows, sums, kind) for kind, (rows, sums) in self._totals.items()]
        self._connection.executemany("UPDATE total SET rows = rows + ?, sums = sums + ? WHERE kind = ?", totals)

    def _erase(self, batch: Batch) -> None:
        erasing = Erasing(self._connection)
        erasing.nodes(place for id in batch.erased if (place := self._place(id)) is not None)
        erasing.embeddings(batch.erased_texts)
        for kind, (rows, sums) in erasing.totals.items():
            self._count(kind, -rows, -sums)
        self.gone = erasing.gone
        self.places = {id: place for id, place in self.places.items() if place not in self.gone}

    def _next(self) -> int:
        self.tick += 1
        return self.tick

    def _add(self, added: Mapping[str, Fact]) -> None:
        for id, fact in added.items():
            if self._place(id) is None:
                continue
            if self._row(id).is_sound:
                raise already_there(id)
            # Damaged, so that nobody was shown it: it is written anew in its place.
            self._overwrite(self._row(id), id, fact)
        self._insert((id, fact) for id, fact in added.items() if id not in self.places)

    def _revise(self, revised: Mapping[str, Fact]) -> None:
        for id, fact in revised.items():
            row = self._row(id) if self._place(id) is not None else None
            if row is None or row.kind != FACT:
                raise InvalidInput(f"fact {id!r} is not in the store; send AddFact first")
            kept = row.value if row.is_sound else None
            self._overwrite(row, id, replace(fact, content=kept.content) if isinstance(kept, Fact) else fact)

    def _insert(self, values: Iterable[tuple[str, Fact | Episode | str]]) -> None:
        rows = []
        for id, value in values:
            tick = self._next()
            row = node_row(tick, id, value, tick)
            rows.append(row)
            self.places[id] = tick
            self._new.add(tick)
            self._count(row.kind, 1, row.sum)
        self._connection.executemany(_INSERT_NODE, rows)

    def _overwrite(self, former: NodeRow, id: str, fact: Fact) -> None:
        row = node_row(former.seq, id, fact, self._next())
        update = "UPDATE node SET kind = ?, id = CAST(? AS TEXT), changed = ?, body = ?, sum = ? WHERE seq = ?"
        self._connection.execute(update, (*row[1:], former.seq))
        self._count(row.kind, 0, row.sum - former.sum)

    def _link(self, batch: Batch) -> None:
        rows = []
        for relation, from_id, to_id in batch.edges:
            ends = self._place(from_id), self._place(to_id)
            for id, end in zip((from_id, to_id), ends, strict=True):
                if end is None:
                    raise InvalidInput(f"{id!r} is not in the store; add both ends of a link before it or in the same write")
            row = edge_row(self.tick + 1, relation, *ends)  # type: ignore[arg-type]
            if row.from_seq not in self._new and self._has_edge(row.from_seq, row.relation, row.to_seq):
                continue
            self._next()
            rows.append(row)
            self._count(EDGE_TOTAL, 1, row.sum)
        self._connection.executemany("INSERT INTO edge VALUES (?, ?, ?, ?, ?)", rows)

    def _has_edge(self, *edge: int) -> bool:
        found = self._connection.execute("SELECT 1 FROM edge WHERE from_seq = ? AND relation = ? AND to_seq = ?", edge)
        return found.fetchone() is not None

    def _place(self, id: str) -> int | None:
        place = self.places.get(id) or self._known.get(id)
        if place is None:
            found = self._connection.execute("SELECT seq FROM node WHERE id = ?", (id,)).fetchone()
            place = found[0] if found else None
        if place is not None:
            self.places[id] = place
        return place

    def _row(self, id: str) -> NodeRow:
        found = self._connection.execute(f"SELECT {NODE_COLUMNS} FROM node WHERE seq = ?", (self.places[id],))  # noqa: S608
        return NodeRow(*found.fetchone())

    def _count(self, kind: int, rows: int, sums: int) -> None:
        total = self._totals[kind]
        total[0] += rows
        total[1] += sums
