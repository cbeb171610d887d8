"""The sum of a group of changes: each node, edge and value once.

Pure, and the same for every store. A fact that is added and revised in one batch is one row; an embedding put twice is one row.
Anything that depends on a store's content is left to it.

Values no store can keep: refused before they reach a back end.

Every back end calls `check` first, so all of them refuse the same things with the same words, and a back end may rely on the
rest: text that is Unicode, numbers that are numbers, vectors that survive float16. Knows nothing of a store's content.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite

import numpy as np

from hive_mind.errors import InvalidInput
from hive_mind.model.content import Episode
from hive_mind.model.evidence import names_of, texts_of
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


# Times are kept as 64-bit integers.
_INT64_LIMIT = 1 << 63


def check(changes: Sequence[Change]) -> None:
    """Raises `InvalidInput` for the first change that no store can keep."""
    for change in changes:
        _check_one(change)


def _check_one(change: Change) -> None:
    match change:
        case AddFact(fact) | ReviseFact(fact):
            _check_fact(fact)
        case AddEpisode(episode):
            _check_episode(episode)
        case AddEntity(id, name):
            _check_texts("entity", id, (id, name))
        case Link(_, from_id, to_id):
            _check_texts("link from", from_id, (from_id, to_id))
        case PutVector(model, key, vector):
            _check_texts("vector", key, (model, key))
            _check_vector(model, key, vector)
        case DropVectors(model):
            _check_texts("model", model, (model,))
        case SetMeta(key, value):
            _check_texts("named value", key, (key, value))
        case Erase(ids, texts):
            _check_texts("what is erased", "", (*ids, *texts))


def _check_fact(fact: Fact) -> None:
    texts = (fact.id, *texts_of(fact), *names_of(fact), fact.superseded_by, fact.held_back)
    _check_texts("fact", fact.id, (*texts, *fact.sources, *fact.offered))
    for time_us in (fact.learned_at_us, *fact.turned_at_us):
        _check_time("fact", fact.id, time_us)
    if not (isfinite(fact.confidence) and 0.0 <= fact.confidence <= 1.0):
        raise InvalidInput(f"fact {fact.id!r}: confidence {fact.confidence} is not in [0, 1]; correct it and write again")


def _check_episode(episode: Episode) -> None:
    texts = (episode.id, episode.text, episode.source, episode.said_at, episode.speaker, episode.title, episode.summary)
    _check_texts("episode", episode.id, texts)
    _check_time("episode", episode.id, episode.learned_at_us)


def _check_texts(kind: str, id: str, texts: Iterable[str]) -> None:
    joined = "".join(texts)
    if joined.isascii():
        return
    try:
        joined.encode()
    except UnicodeEncodeError:
        raise InvalidInput(
            f"{kind} {id!r} contains an unpaired surrogate, which no encoding can store; "
            "decode the source with errors='replace' and write again"
        ) from None


def _check_time(kind: str, id: str, time_us: int) -> None:
    if not -_INT64_LIMIT <= time_us < _INT64_LIMIT:
        raise InvalidInput(f"{kind} {id!r}: the time {time_us} does not fit 64 bits; it is microseconds since 1970")


def _check_vector(model: str, key: str, vector: Vector) -> None:
    if not model:
        raise InvalidInput(f"vector {key!r} names no model; a vector can't be compared without knowing its model")
    if vector.ndim != 1 or vector.size == 0:
        raise InvalidInput(f"vector {key!r} of {model!r} has shape {vector.shape}; one row of numbers is wanted")
    with np.errstate(over="ignore", invalid="ignore"):
        half = vector.astype(np.float16)
    if not np.isfinite(half).all():
        raise InvalidInput(
            f"vector {key!r} of {model!r} holds NaN, infinity or a number beyond float16; normalise it and write again"
        )
