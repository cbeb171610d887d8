"""What a group of changes amounts to: each row, edge and value once, in the order Kuzu is best given them.

Pure: it is filled from changes and read by `commit`. A fact that is added and revised in one batch is one row; an embedding put
twice is one row. What depends on what is already in the database is left to `commit`.
"""

from collections.abc import Iterable
from typing import NamedTuple

from hive_mind.errors import InvalidInput
from hive_mind.model.fact import Fact, Relation
from hive_mind.store.base import (
    AddEntity,
    AddEpisode,
    AddFact,
    Change,
    DropVectors,
    Link,
    PutVector,
    ReviseFact,
    SetMeta,
)
from hive_mind.store.kuzu.rows import (
    REVISED_COLUMNS,
    Row,
    entity_row,
    episode_row,
    fact_row,
    named_row,
    vector_row,
)

# Beside its texts a row takes 556 to 596 bytes of the log, an edge 130.
_ROW_BYTES = 1024


class Edge(NamedTuple):
    """One edge, as a key: the same edge twice is one."""

    from_id: str
    relation: Relation
    to_id: str


class Batch:
    """See the file's first lines. All members keep the order in which things were added."""

    def __init__(self, changes: Iterable[Change] = ()) -> None:
        self.added: dict[str, Row] = {}
        self.once: dict[str, Row] = {}
        self.revised: dict[str, Row] = {}
        self.edges: dict[Edge, None] = {}
        self.dropped_models: dict[str, None] = {}
        self.vectors: dict[str, Row] = {}
        self.named: dict[str, Row] = {}
        for change in changes:
            self._take(change)

    @property
    def log_bytes_max(self) -> int:
        """No fewer than it adds to the log."""
        rows = [row for part in (self.added, self.once, self.revised, self.vectors, self.named) for row in part.values()]
        texts = sum(len(value.encode()) for row in rows for value in row.values() if isinstance(value, str))
        return texts + _ROW_BYTES * (len(rows) + len(self.edges))

    def _take(self, change: Change) -> None:
        match change:
            case AddFact(fact):
                self._add(fact)
            case ReviseFact(fact):
                self._revise(fact)
            case AddEpisode(episode):
                self.once.setdefault(episode.id, episode_row(episode))
            case AddEntity(id, name):
                self.once.setdefault(id, entity_row(id, name))
            case Link(relation, from_id, to_id):
                self.edges[Edge(from_id, relation, to_id)] = None
            case PutVector(model, key, vector):
                row = vector_row(model, key, vector)
                self.vectors[row["key"]] = row
            case DropVectors(model):
                self._drop(model)
            case SetMeta(key, value):
                row = named_row(key, value)
                self.named[row["key"]] = row

    def _add(self, fact: Fact) -> None:
        if fact.id in self.added or fact.id in self.once or fact.id in self.revised:
            raise InvalidInput(f"{fact.id!r} is in the store already; send ReviseFact to change it")
        self.added[fact.id] = fact_row(fact)

    def _revise(self, fact: Fact) -> None:
        row = fact_row(fact)
        target = self.added.get(fact.id)
        if target is None:
            self.revised[fact.id] = row
        else:
            target.update((column, row[column]) for column in REVISED_COLUMNS)

    def _drop(self, model: str) -> None:
        self.dropped_models[model] = None
        self.vectors = {key: row for key, row in self.vectors.items() if row["model"] != model}
