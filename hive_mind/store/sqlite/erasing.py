"""Takes nodes out of a record, with all that hangs on them. Runs inside a commit's transaction.

Rows that are damaged go as well. What the totals lose by them is what they say of themselves, which may be wrong: then a reading
of the whole names the difference, as it does with every damage.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable

from hive_mind.model.ids import vector_key
from hive_mind.store.sqlite.rows import ENTITY
from hive_mind.store.sqlite.schema import EDGE_TOTAL


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
        """Whatever any model made of these texts."""
        models = [model for (model,) in self._connection.execute("SELECT DISTINCT model FROM vector")]
        keys = [(model, vector_key(model, text)) for model in models for text in texts]
        self._connection.executemany("DELETE FROM vector WHERE model = ? AND key = ?", keys)

    def _edges_of(self, place: int) -> list[int]:
        """Take away the edges of a node; the places at their other ends."""
        found = self._connection.execute(
            "SELECT seq, from_seq, to_seq, sum FROM edge WHERE from_seq = ? OR to_seq = ?", (place, place)
        ).fetchall()
        for _, _, _, sum in found:
            self._count(EDGE_TOTAL, sum)
        self._connection.executemany("DELETE FROM edge WHERE seq = ?", [row[:1] for row in found])
        return [end for _, *ends, _ in found for end in ends if end != place]

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
