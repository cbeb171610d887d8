"""The sum of a group of changes: each node, edge and value once.

Pure, and the same for every store. A fact that is added and revised in one batch is one row; an embedding put twice is one row.
Anything that depends on a store's content is left to it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from hive_mind.errors import InvalidInput
from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact
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


@dataclass(slots=True)
class WriteBatch:
    """All members keep the order in which things were added."""

    added: dict[str, Fact] = field(default_factory=dict)
    once: dict[str, Episode | str] = field(default_factory=dict)
    """episodes and entities (by their name), added where they are not there yet"""
    revised: dict[str, Fact] = field(default_factory=dict)
    links: dict[Link, None] = field(default_factory=dict)
    dropped_models: set[str] = field(default_factory=set)
    vectors: dict[tuple[str, str], Vector] = field(default_factory=dict)
    """by model and key; they come after what is dropped"""
    named: dict[str, str] = field(default_factory=dict)
    erased: dict[str, None] = field(default_factory=dict)
    """ids, of whatever kind; they go after everything else came"""
    erased_texts: dict[str, None] = field(default_factory=dict)
    """texts of the embeddings to delete"""

    def take(self, changes: Iterable[Change]) -> "WriteBatch":
        """Add changes. Raises `InvalidInput` for what can't be, whatever is kept."""
        for change in changes:
            match change:
                case AddFact(fact):
                    if fact.id in self.added or fact.id in self.once or fact.id in self.revised:
                        raise already_there(fact.id)
                    self.added[fact.id] = fact
                case ReviseFact(fact):
                    if added := self.added.get(fact.id):
                        self.added[fact.id] = replace(fact, content=added.content)
                    else:
                        self.revised[fact.id] = fact
                case AddEpisode(episode):
                    self.once.setdefault(episode.id, episode)
                case AddEntity(id, name):
                    self.once.setdefault(id, name)
                case Link():
                    self.links[change] = None
                case PutVector(model, key, vector):
                    self.vectors[model, key] = vector
                case DropVectors(model):
                    self.dropped_models.add(model)
                    self.vectors = {place: vector for place, vector in self.vectors.items() if place[0] != model}
                case SetMeta(key, value):
                    self.named[key] = value
                case Erase(ids, texts):
                    self.erased |= dict.fromkeys(ids)
                    self.erased_texts |= dict.fromkeys(texts)
        return self


def already_there(fact_id: str) -> InvalidInput:
    """The error for a fact that was to be added and is kept."""
    return InvalidInput(f"{fact_id!r} is in the store already; send ReviseFact to change it")


def not_there(fact_id: str) -> InvalidInput:
    """The error for a fact that was to be revised and is not kept."""
    return InvalidInput(f"fact {fact_id!r} is not in the store; send AddFact first")


def no_end(id: str) -> InvalidInput:
    """The error for a link from or to what is not kept."""
    return InvalidInput(f"{id!r} is not in the store; add both ends of a link before it or in the same write")
