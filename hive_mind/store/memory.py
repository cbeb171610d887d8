"""A store in this process's memory: for tests, trials and agents that may forget.

It keeps the whole contract of `store.FactStore` except one word: nothing is durable. Two calls of `open` give two independent
stores; a path is accepted, so that back ends can be exchanged, and not touched. It needs no thread and no package.
"""

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np

from hive_mind.errors import BackendUnavailable
from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact, Relation
from hive_mind.model.ids import vector_key
from hive_mind.store import Change, FactStore, Link, Narrow, WriteBatch, already_there, check, no_end, not_there

_T = TypeVar("_T")

# A reader gets a turn of the event loop between batches; larger ones would make other tasks wait.
BATCH_ROWS = 1000


async def open(path: Path | None = None) -> FactStore:
    del path
    return MemoryStore()


open_for_reading = open


@dataclass(slots=True)
class _Kept:
    facts: dict[str, Fact] = field(default_factory=dict)
    others: dict[str, Episode | str] = field(default_factory=dict)
    """episodes and entities, by their name"""
    ahead: dict[tuple[Relation, str], dict[str, None]] = field(default_factory=dict)
    back: dict[tuple[Relation, str], dict[str, None]] = field(default_factory=dict)
    vectors: dict[str, dict[str, Narrow]] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)
    aside: bytes = b""

    def has(self, id: str) -> bool:
        return id in self.facts or id in self.others

    def put(self, batch: WriteBatch) -> None:
        self.facts |= batch.added
        self.facts |= {id: replace(fact, content=self.facts[id].content) for id, fact in batch.revised.items()}
        self.others |= {id: value for id, value in batch.once.items() if not self.has(id)}
        for link in batch.links:
            self.ahead.setdefault((link.relation, link.from_id), {})[link.to_id] = None
            self.back.setdefault((link.relation, link.to_id), {})[link.from_id] = None
        for model in batch.dropped_models:
            self.vectors.pop(model, None)
        for (model, key), vector in batch.vectors.items():
            self.vectors.setdefault(model, {})[key] = vector.astype(np.float16)
        self.named |= batch.named
        self.erase(set(batch.erased), batch.erased_texts)

    def erase(self, ids: set[str], texts: Iterable[str]) -> None:
        named = {end for (_, start), ends in self.ahead.items() if start in ids for end in ends} if ids else set()
        self.drop(ids)
        still = {end for ends in self.ahead.values() for end in ends} if named else set()
        self.drop({end for end in named - still if isinstance(self.others.get(end), str)})
        for model, vectors in self.vectors.items():
            for text in texts:
                vectors.pop(vector_key(model, text), None)

    def drop(self, ids: set[str]) -> None:
        if not ids:
            return
        self.facts = {id: fact for id, fact in self.facts.items() if id not in ids}
        self.others = {id: value for id, value in self.others.items() if id not in ids}
        for edges in (self.ahead, self.back):
            for place in list(edges):
                edges[place] = {end: None for end in edges[place] if end not in ids}
                if place[1] in ids or not edges[place]:
                    del edges[place]

    def episodes(self) -> dict[str, Episode]:
        return {id: value for id, value in self.others.items() if isinstance(value, Episode)}


class MemoryStore:
    """See `store.FactStore`."""

    trouble = ""

    def __init__(self) -> None:
        self._content = _Kept()
        self._is_closed = False

    @property
    def _kept(self) -> _Kept:
        if self._is_closed:
            raise BackendUnavailable("memory", "the store is closed; open another one")
        return self._content

    async def write(self, changes: Sequence[Change]) -> None:
        contents = self._kept
        check(changes)
        batch = WriteBatch().take(changes)
        for id in filter(contents.has, batch.added):
            raise already_there(id)
        for id in batch.revised.keys() - contents.facts.keys():
            raise not_there(id)
        for id in {end for link in batch.links for end in (link.from_id, link.to_id)} - batch.added.keys() - batch.once.keys():
            if not contents.has(id):
                raise no_end(id)
        contents.put(batch)

    async def facts(self) -> AsyncIterator[Sequence[Fact]]:
        # Each fact as it is when its batch is taken.
        for ids in _in_batches(list(self._kept.facts)):
            yield [self._kept.facts[id] for id in ids]

    async def vectors(self, model: str) -> AsyncIterator[Mapping[str, Narrow]]:
        for pairs in _in_batches(list(self._kept.vectors.get(model, {}).items())):
            yield dict(pairs)

    def fetch(self, id: str) -> Fact | None:
        return self._kept.facts.get(id)

    async def find(self, ids: Iterable[str]) -> Mapping[str, Fact]:
        return {id: self._kept.facts[id] for id in ids if id in self._kept.facts}

    async def episodes(self, ids: Iterable[str]) -> Mapping[str, Episode]:
        other_values = self._kept.others
        return {id: episode for id in ids if isinstance(episode := other_values.get(id), Episode)}

    async def all_episodes(self) -> AsyncIterator[Sequence[Episode]]:
        for episodes in _in_batches(self._kept.episodes().values()):
            yield episodes

    async def links(self) -> AsyncIterator[Sequence[Link]]:
        edges = [Link(relation, start, end) for (relation, start), ends in self._kept.ahead.items() for end in ends]
        for links in _in_batches(edges):
            yield links

    async def linked(self, relation: Relation, id: str, *, backwards: bool = False) -> Sequence[str]:
        return list((self._kept.back if backwards else self._kept.ahead).get((relation, id), ()))

    async def meta(self) -> Mapping[str, str]:
        return dict(self._kept.named)

    async def counts(self) -> Mapping[str, int]:
        episodes = len(self._kept.episodes())
        return {
            "facts": len(self._kept.facts),
            "episodes": episodes,
            "entities": len(self._kept.others) - episodes,
            "vectors": sum(map(len, self._kept.vectors.values())),
        }

    async def put_aside(self, derived: bytes) -> None:
        self._kept.aside = derived

    async def aside(self) -> bytes:
        return self._kept.aside

    async def tidy(self) -> None:
        self._kept  # noqa: B018 - refuses what is closed

    async def scrub(self) -> None:
        self._kept.aside = b""

    async def close(self) -> None:
        self._is_closed = True


def _in_batches(items: Collection[_T]) -> Iterable[list[_T]]:
    coming = iter(items)
    return iter(lambda: list(islice(coming, BATCH_ROWS)), [])
