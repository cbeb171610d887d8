"""What a group of changes amounts to: each node, edge and value once.

Pure: it is filled from changes and read by `committing`. A fact that is added and revised in one batch is one row; an embedding
put twice is one row. What depends on what is already in the record is left to `committing`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from hive_mind.errors import InvalidInput
from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact, Relation
from hive_mind.store.base import (
    AddEntity,
    AddEpisode,
    AddFact,
    Change,
    DropVectors,
    Erase,
    Link,
    PutVector,
    ReviseFact,
    SetMeta,
    Vector,
)


class Edge(NamedTuple):
    """One edge, as a key: the same edge twice is one."""

    relation: Relation
    from_id: str
    to_id: str


@dataclass(slots=True)
class Batch:
    """All members keep the order in which things were added."""

    added: dict[str, Fact] = field(default_factory=dict)
    once: dict[str, Episode | str] = field(default_factory=dict)
    """episodes and entities (by their name), added where they are not there yet"""
    revised: dict[str, Fact] = field(default_factory=dict)
    edges: dict[Edge, None] = field(default_factory=dict)
    dropped_models: set[str] = field(default_factory=set)
    vectors: dict[tuple[str, str], Vector] = field(default_factory=dict)
    """by model and key; they come after what is dropped"""
    named: dict[str, str] = field(default_factory=dict)
    erased: dict[str, None] = field(default_factory=dict)
    """ids, of whatever kind"""
    erased_texts: dict[str, None] = field(default_factory=dict)
    """whose embeddings go"""

    def take(self, changes: Iterable[Change]) -> None:
        """Add changes. Raises `InvalidInput` for what can't be, whatever is in the record."""
        for change in changes:
            match change:
                case AddFact(fact):
                    self._add(fact)
                case ReviseFact(fact):
                    self._revise(fact)
                case AddEpisode(episode):
                    self.once.setdefault(episode.id, episode)
                case AddEntity(id, name):
                    self.once.setdefault(id, name)
                case Link(relation, from_id, to_id):
                    self.edges[Edge(relation, from_id, to_id)] = None
                case PutVector(model, key, vector):
                    self.vectors[model, key] = vector
                case DropVectors(model):
                    self.dropped_models.add(model)
                    self.vectors = {place: vector for place, vector in self.vectors.items() if place[0] != model}
                case SetMeta(key, value):
                    self.named[key] = value
                case Erase(ids, texts):
                    self.erased.update(dict.fromkeys(ids))
                    self.erased_texts.update(dict.fromkeys(texts))

    def _add(self, fact: Fact) -> None:
        if fact.id in self.added or fact.id in self.once or fact.id in self.revised:
            raise already_there(fact.id)
        self.added[fact.id] = fact

    def _revise(self, fact: Fact) -> None:
        if added := self.added.get(fact.id):
            self.added[fact.id] = replace(fact, content=added.content)
        else:
            self.revised[fact.id] = fact


def already_there(fact_id: str) -> InvalidInput:
    """The error for a fact that was to be added and is in the store."""
    return InvalidInput(f"{fact_id!r} is in the store already; send ReviseFact to change it")
