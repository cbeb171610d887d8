"""Short ways to make what tests of ranking, memory and agents need: facts, candidates, an embedder, a place for a memory."""

import asyncio
import itertools
import re
from collections.abc import Awaitable, Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from hive_mind import backends
from hive_mind.embed import Embedder, Matrix, rounded_unit_rows
from hive_mind.embed.none import NoEmbedder
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.model.content import Candidate
from hive_mind.model.fact import Fact
from hive_mind.model.ids import fact_id
from hive_mind.ranking.scripts import LATIN, probes
from hive_mind.store import FactStore
from hive_mind.store.memory import MemoryStore

T = TypeVar("T")
FIRST_US = 1_700_000_000_000_000


def fact(content: str = "The pump is red.", **fields: Any) -> Fact:
    values = {"id": fact_id(content), "content": content, "concept": "", "confidence": 0.8, "sources": ("ines",)}
    return Fact(**{**values, "learned_at_us": FIRST_US, **fields})


def said(content: str = "The pump is red.", concept: str = "pump", confidence: float = 0.8, **fields: Any) -> Candidate:
    return Candidate(content, concept, confidence, **fields)


def words_vector(text: str, dimension: int) -> np.ndarray:
    """One number per word, at a place and with a sign that depend on the word: texts that share words are near."""
    numbers = np.zeros(dimension)
    for word in re.findall(r"\w+", text.lower()):
        digest = int.from_bytes(blake2b(word.encode("utf-8", "replace"), digest_size=8).digest(), "big")
        numbers[digest % dimension] += 1.0 if digest >> 63 else -1.0
    return numbers


class BagOfWords:
    """An embedder without a model. Counts what it embeds, and fails while `failure` is set."""

    def __init__(self, model: str = "bag-of-words", dimension: int = 64) -> None:
        self.model, self.dimension = model, dimension
        self.passages: list[str] = []
        self.queries: list[str] = []
        self.failure: Exception | None = None
        self.times_closed = 0

    async def embed_passages(self, texts: Sequence[str]) -> Matrix:
        if self.failure:
            raise self.failure
        # A memory asks a model for three sentences of its own, to know where its cosines begin.
        self.passages += [text for text in texts if text not in probes(LATIN)]
        return rounded_unit_rows(np.array([words_vector(text, self.dimension) for text in texts], np.float32))

    async def embed_query(self, text: str) -> np.ndarray:
        if self.failure:
            raise self.failure
        self.queries.append(text)
        return rounded_unit_rows(words_vector(text, self.dimension).astype(np.float32)[None])[0]

    async def close(self) -> None:
        self.times_closed += 1


class Home:
    """Where one memory lives: opened again, it has what it had."""

    def __init__(self, back_end: str = "memory", path: Path | None = None) -> None:
        self._kept = MemoryStore()
        self._open = self._open_kept if back_end == "memory" else partial(backends.load("store", back_end).open, path)
        self._clock = itertools.count(FIRST_US)
        self.stores: list[FactStore] = []

    def memory(self, embedder: Embedder | None = None, **options: Any) -> CognitiveMemory:
        return CognitiveMemory(self.open_store, embedder or NoEmbedder(), clock=lambda: next(self._clock), **options)

    async def open_store(self) -> FactStore:
        self.stores.append(await self._open())
        return self.stores[-1]

    async def _open_kept(self) -> FactStore:
        self._kept._is_closed = False
        return self._kept


def run(work: Awaitable[T]) -> T:
    """Run to the end, and give what came of it; what hangs fails."""

    async def bounded() -> T:
        return await asyncio.wait_for(work, 180)

    return asyncio.run(bounded())


async def found(memory: CognitiveMemory, query: Any, limit: int = 10) -> list[str]:
    """Contents of what a search returns."""
    return [hit.fact.content for hit in await memory.search_facts(query, limit)]


async def lines_of(memory: CognitiveMemory) -> list[str]:
    return [line async for line in memory.export()]
