"""A record read from outside, in the order in which it was written: for whoever derives something from it, or copies it.

Any process may read while the agent writes. Everything one reader sees is of one moment, that of its opening.
"""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact, Relation
from hive_mind.sqlite.file import connect_for_reading, translating
from hive_mind.store.sqlite import reading
from hive_mind.store.sqlite.rows import NODE_COLUMNS, RELATIONS, EdgeRow, NodeRow, is_itself
from hive_mind.store.sqlite.schema import FORMAT, IDENTITY_KEY


class Node(NamedTuple):
    """A node as it is now. `tick` is that of its last change; `value` of an entity is its name."""

    tick: int
    id: str
    value: Fact | Episode | str


class Edge(NamedTuple):
    """An edge; it is never changed."""

    tick: int
    relation: Relation
    from_id: str
    to_id: str


class RecordReader:
    """A context manager. Raises `DatabaseUnreadable` or `BackendError`. Damaged rows are left out and collected in `damaged`."""

    def __init__(self, path: Path) -> None:
        self._connection = connect_for_reading(path.resolve(), FORMAT)
        self.damaged: list[str] = []
        self._connection.text_factory = lambda text: text.decode(errors="replace")
        try:
            with translating(path, FORMAT):
                self._connection.execute("BEGIN")
                self.identity = reading.named(self._connection, self.damaged.append).get(IDENTITY_KEY, "")
                self.last_tick = reading.last_tick(self._connection)
        except BaseException:
            self._connection.close()
            raise

    def nodes_since(self, tick: int) -> Iterator[Node]:
        """What was added or revised after `tick`, in the order of its last change."""
        query = f"SELECT {NODE_COLUMNS} FROM node WHERE changed > ? ORDER BY changed"  # noqa: S608
        for row in (NodeRow(*row) for row in self._connection.execute(query, (tick,))):
            if row.is_sound and is_itself(row.id.decode(), value := row.value):
                yield Node(row.changed, row.id.decode(), value)
            else:
                self.damaged.append(row.told)

    def edges_since(self, tick: int) -> Iterator[Edge]:
        """Edges added after `tick`, in their order; those whose ends are damaged are left out."""
        query = (
            "SELECT e.seq, e.relation, e.from_seq, e.to_seq, e.sum, a.id, b.id FROM edge e "
            "JOIN node a ON a.seq = e.from_seq JOIN node b ON b.seq = e.to_seq WHERE e.seq > ? ORDER BY e.seq"
        )
        for *columns, from_id, to_id in self._connection.execute(query, (tick,)):
            row = EdgeRow(*columns)
            if row.is_sound:
                yield Edge(row.seq, RELATIONS[row.relation], from_id, to_id)
            else:
                self.damaged.append(f"edge {row.seq}")

    @property
    def connection(self) -> sqlite3.Connection:
        """For queries of `reading`."""
        return self._connection

    def __enter__(self) -> "RecordReader":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
