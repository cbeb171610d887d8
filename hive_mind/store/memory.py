"""A store in this process's memory: for tests, trials and agents that may forget.

It keeps the whole contract of `base.FactStore` except one word: nothing is durable. Two calls of `open` give two independent
stores; a path is accepted, so that back ends can be exchanged, and not touched. It needs no thread and no package.
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hive_mind.errors import BackendUnavailable, InvalidInput
from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact, Relation
from hive_mind.model.ids import vector_key
from hive_mind.store._checks import check
from hive_mind.store.base import (
    AddEntity,
    AddEpisode,
    AddFact,
    Change,
    DropVectors,
    Erase,
    FactStore,
    Link,
    Narrow,
    PutVector,
    ReviseFact,
    SetMeta,
)

_T = TypeVar("_T")

# A reader gets a turn of the event loop between batches; larger ones would make other tasks wait.
BATCH_ROWS = 1000


async def open(path: Path | None = None) -> FactStore:
    """An empty store. `path` is ignored."""
    del path
    return MemoryStore()


class MemoryStore:
    """See `base.FactStore`."""

    def __init__(self) -> None:
        self._facts: dict[str, Fact] = {}
        self._episodes: dict[str, Episode] = {}
        self._entities: dict[str, str] = {}
        self._ahead: dict[tuple[Relation, str], dict[str, None]] = {}
        self._back: dict[tuple[Relation, str], dict[str, None]] = {}
        self._vectors: dict[str, dict[str, NDArray[np.float16]]] = {}
        self._meta: dict[str, str] = {}
        self._aside = b""
        self._is_closed = False

    @property
    def trouble(self) -> str:
        """None."""
        return ""

    async def write(self, changes: Sequence[Change]) -> None:
        """All changes or none: everything is checked before anything is touched."""
        self._refuse_if_closed()
        check(changes)
        self._check_against_kept(changes)
        # As `Erase` has it, after everything else of its write.
        for change in sorted(changes, key=lambda change: isinstance(change, Erase)):
            self._apply(change)

    async def facts(self) -> AsyncIterator[Sequence[Fact]]:
        """Every fact there was when the first batch was taken, each as it is when its batch is taken."""
        self._refuse_if_closed()
        for ids in _in_batches(list(self._facts)):
            yield [self._facts[fact_id] for fact_id in ids]

    async def vectors(self, model: str) -> AsyncIterator[Mapping[str, Narrow]]:
        """Every cached embedding of `model`."""
        self._refuse_if_closed()
        for pairs in _in_batches(list(self._vectors.get(model, {}).items())):
            yield dict(pairs)

    def fetch(self, id: str) -> Fact | None:
        """One fact."""
        self._refuse_if_closed()
        return self._facts.get(id)

    async def find(self, ids: Iterable[str]) -> Mapping[str, Fact]:
        """The facts that exist among `ids`."""
        self._refuse_if_closed()
        return {wanted: self._facts[wanted] for wanted in ids if wanted in self._facts}

    async def episodes(self, ids: Iterable[str]) -> Mapping[str, Episode]:
        """The episodes that exist among `ids`."""
        self._refuse_if_closed()
        return {wanted: self._episodes[wanted] for wanted in ids if wanted in self._episodes}

    async def all_episodes(self) -> AsyncIterator[Sequence[Episode]]:
        """Every episode, in the order they were added."""
        self._refuse_if_closed()
        for episodes in _in_batches(list(self._episodes.values())):
            yield episodes

    async def links(self) -> AsyncIterator[Sequence[Link]]:
        """Every edge."""
        self._refuse_if_closed()
        edges = [Link(relation, start, end) for (relation, start), ends in self._ahead.items() for end in ends]
        for links in _in_batches(edges):
            yield links

    async def linked(self, relation: Relation, id: str, *, backwards: bool = False) -> Sequence[str]:
        """Ids at the other end."""
        self._refuse_if_closed()
        return list((self._back if backwards else self._ahead).get((relation, id), ()))

    async def meta(self) -> Mapping[str, str]:
        """All named values."""
        self._refuse_if_closed()
        return dict(self._meta)

    async def counts(self) -> Mapping[str, int]:
        """How many of each."""
        self._refuse_if_closed()
        return {
            "facts": len(self._facts),
            "episodes": len(self._episodes),
            "entities": len(self._entities),
            "vectors": sum(map(len, self._vectors.values())),
        }

    async def put_aside(self, made: bytes) -> None:
        """Kept like the rest."""
        self._refuse_if_closed()
        self._aside = made

    async def aside(self) -> bytes:
        """What was put aside."""
        self._refuse_if_closed()
        return self._aside

    async def tidy(self) -> None:
        """Nothing to give back."""
        self._refuse_if_closed()

    async def scrub(self) -> None:
        """Only what was made of the facts is left."""
        self._refuse_if_closed()
        self._aside = b""

    async def close(self) -> None:
        """Nothing to release; what was kept is gone for the caller."""
        self._is_closed = True

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise BackendUnavailable("memory", "the store is closed; open another one")

    def _check_against_kept(self, changes: Sequence[Change]) -> None:
        facts: set[str] = set()
        others: set[str] = set()
        ends: set[str] = set()
        for change in changes:
            match change:
                case AddFact(fact):
                    if self._is_kept(fact.id) or fact.id in facts | others:
                        raise InvalidInput(f"{fact.id!r} is in the store already; send ReviseFact to change it")
                    facts.add(fact.id)
                case ReviseFact(fact):
                    if fact.id not in self._facts and fact.id not in facts:
                        raise InvalidInput(f"fact {fact.id!r} is not in the store; send AddFact first")
                case AddEpisode(Episode(id=id)) | AddEntity(id=id):
                    others.add(id)
                case Link(_, from_id, to_id):
                    ends |= {from_id, to_id}
                case _:
                    pass
        for end in ends - facts - others:
            if not self._is_kept(end):
                raise InvalidInput(f"{end!r} is not in the store; add both ends of a link before it or in the same write")

    def _is_kept(self, id: str) -> bool:
        return id in self._facts or id in self._episodes or id in self._entities

    def _apply(self, change: Change) -> None:
        match change:
            case AddFact(fact):
                self._facts[fact.id] = fact
            case ReviseFact(fact):
                self._facts[fact.id] = replace(fact, content=self._facts[fact.id].content)
            case AddEpisode(episode):
                if not self._is_kept(episode.id):
                    self._episodes[episode.id] = episode
            case AddEntity(id, name):
                if not self._is_kept(id):
                    self._entities[id] = name
            case Link(relation, from_id, to_id):
                self._ahead.setdefault((relation, from_id), {})[to_id] = None
                self._back.setdefault((relation, to_id), {})[from_id] = None
            case PutVector(model, key, vector):
                self._vectors.setdefault(model, {})[key] = vector.astype(np.float16)
            case DropVectors(model):
                self._vectors.pop(model, None)
            case SetMeta(key, value):
                self._meta[key] = value
            case Erase(ids, texts):
                self._erase(set(ids))
                for model, vectors in self._vectors.items():
                    for text in texts:
                        vectors.pop(vector_key(model, text), None)

    def _erase(self, ids: set[str]) -> None:
        named = {end for (relation, start), ends in self._ahead.items() if start in ids for end in ends}
        self._drop(ids)
        still = {end for ends in self._ahead.values() for end in ends}
        self._drop({end for end in named - still if end in self._entities})

    def _drop(self, ids: set[str]) -> None:
        for kept in (self._facts, self._episodes, self._entities):
            for id in ids & kept.keys():
                del kept[id]
        for edges in (self._ahead, self._back):
            for place in list(edges):
                edges[place] = {end: None for end in edges[place] if end not in ids}
                if place[1] in ids or not edges[place]:
                    del edges[place]


def _in_batches(items: list[_T]) -> Iterable[list[_T]]:
    return (items[start : start + BATCH_ROWS] for start in range(0, len(items), BATCH_ROWS))
