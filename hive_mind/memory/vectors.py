"""Embeddings of a memory: made once per text, cached in the store, and done without where there is no model.

A fact's vector mixes its own text with the text before it (`ranking.form`); both are cached singly, so a turn that is one fact's
own text and the next one's surroundings is embedded once.
"""

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hive_mind.api.request import Progress
from hive_mind.embed import Embedder
from hive_mind.errors import BackendError, BackendRejected, ConfigError
from hive_mind.model.bounds import DIMENSIONS_MAX
from hive_mind.model.fact import Fact
from hive_mind.model.ids import vector_key
from hive_mind.ranking.form import mixed_vector, texts_to_embed
from hive_mind.ranking.scripts import LATIN, is_read, probes, script_of, unrelated_cosine
from hive_mind.store import Narrow, PutVector, SetMeta

Vector = NDArray[np.float32]

_log = logging.getLogger(__name__)

# Of texts that are embedded ahead: a call takes a second or so, and tells how far it is.
_AHEAD_TEXTS = 256

# Enough for the turns of a session and the questions of an afternoon; 1.5 KB each at 384 dimensions.
_RECENT_MAX = 256


@dataclass(frozen=True, slots=True)
class NewVectors:
    """Vectors by fact id, those that the store does not have yet, and the record of the model if it is the first time."""

    by_id: Mapping[str, Vector] = field(default_factory=dict)
    cache: tuple[PutVector, ...] = ()
    record: tuple[SetMeta, ...] = ()


@dataclass(slots=True)
class VectorSource:
    """Vectors for facts and queries. `is_on` is False where there is no model: everything then falls back to keywords."""

    _embedder: Embedder
    _recent: OrderedDict[str, Vector] = field(default_factory=OrderedDict)
    _ahead: dict[str, Vector] = field(default_factory=dict)
    _scripts_read: dict[str, bool] = field(default_factory=dict)
    _cosine_least: float | None = None
    _has_failed: bool = False

    def __post_init__(self) -> None:
        """A hive would refuse what one memory had taken: neither does."""
        if self._embedder.dimension > DIMENSIONS_MAX:
            has = f"{self._embedder.model} has {self._embedder.dimension:,} dimensions"
            raise ConfigError(f"{has}, and a memory takes at most {DIMENSIONS_MAX:,}; choose a model with fewer")

    @property
    def is_on(self) -> bool:
        return self._embedder.dimension > 0

    @property
    def model(self) -> str:
        return self._embedder.model

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    async def of_facts(self, facts: Iterable[Fact]) -> tuple[dict[str, Vector], list[PutVector]]:
        """Vectors by fact id, and the new ones for the cache. Both are empty when the model fails: facts are kept all the same.

        Tell `remember` once the cache is written, and not before: remembered vectors are not offered for the cache again.
        """
        wanted_facts = self._each_once(facts)
        keyed = self._keyed(wanted_facts)
        unknown = [key for key in keyed if key not in self._recent]
        left = [key for key in unknown if key not in self._ahead]
        try:
            fresh = await self._embed([keyed[key] for key in left])
        except BackendError as error:
            self._report(error)
            return {}, []
        vectors_found = {key: self._recent[key] for key in keyed if key in self._recent} | dict(zip(left, fresh, strict=True))
        vectors_found |= {key: self._ahead[key] for key in unknown if key in self._ahead}
        vectors = {fact.id: vector for fact in wanted_facts if (vector := self.mixed(fact, vectors_found)) is not None}
        return vectors, [PutVector(self.model, key, vectors_found[key]) for key in unknown]

    async def embed_ahead(self, facts: Iterable[Fact], progress: Progress) -> bool:
        """Embed what is kept next, for whatever sources, in as few calls as possible. The vectors are in RAM until the next time.

        True where there is a model, also when it fails: `of_facts` tries again.
        """
        self._ahead = {}
        keyed = self._keyed(self._each_once(facts))
        keys = [key for key in keyed if key not in self._recent]
        for start in range(0, len(keys), _AHEAD_TEXTS):
            progress(start, len(keys))
            part = keys[start : start + _AHEAD_TEXTS]
            try:
                self._ahead |= zip(part, await self._embed([keyed[key] for key in part]), strict=True)
            except BackendError as error:
                self._report(error)
                break
        return self.is_on

    def _each_once(self, facts: Iterable[Fact]) -> list[Fact]:
        """Of the same statement made twice the first is kept, with what was said before it; so is its vector."""
        first: dict[str, Fact] = {}
        for fact in facts if self.is_on else ():
            first.setdefault(fact.id, fact)
        return list(first.values())

    def _keyed(self, facts: Iterable[Fact]) -> dict[str, str]:
        texts = dict.fromkeys(text for fact in facts for text in texts_to_embed(fact))
        return {vector_key(self.model, text): text for text in texts}

    def known(self, fact: Fact, new: NewVectors) -> Vector | None:
        """Its vector, a new one or one made a moment ago: a fact kept anew was perhaps taken back after it was looked at."""
        vector_given = new.by_id.get(fact.id)
        return self.mixed(fact, self._recent) if vector_given is None and self.is_on else vector_given

    async def of_texts(self, texts: Sequence[str]) -> list[PutVector]:
        """Texts embedded, for the cache. Raises `BackendError` when the model fails."""
        vectors = await self._embed(texts)
        return [PutVector(self.model, vector_key(self.model, text), vector) for text, vector in zip(texts, vectors, strict=True)]

    async def of_query(self, text: str) -> Vector | None:
        """The query's vector, or None, also where the model can't read the query's script: then keywords have to do."""
        if not self.is_on:
            return None
        try:
            return await self.surely_of_query(text) if await self._reads(script_of(text)) else None
        except BackendError as error:
            self._report(error)
            return None

    async def cosine_least(self) -> float:
        """The cosine of sentences that have nothing in common, which some models put near one another."""
        if self._cosine_least is None:
            try:
                self._cosine_least = unrelated_cosine(np.array(await self._embed(probes(LATIN))))
            except BackendError:
                return 0.0
        return self._cosine_least

    async def _reads(self, script: str) -> bool:
        """Whether the model reads a script, which it is asked once."""
        if script != LATIN and script not in self._scripts_read:
            self._scripts_read[script] = is_read(np.array(await self._embed(probes(script))))
        return self._scripts_read.get(script, True)

    async def surely_of_query(self, text: str) -> Vector:
        """The same of a model that is on. Raises `BackendError` when it fails."""
        key = vector_key(self.model + "?", text)
        if key not in self._recent:
            self.remember({key: await self._asked(self._embedder.embed_query(text), (self.dimension,))})
        return self._recent[key]

    def mixed_all(self, facts: Sequence[Fact], cached: Mapping[str, Narrow]) -> dict[str, Narrow]:
        """By fact id, the vectors of those that have one."""
        mixed_vectors: dict[str, Narrow] = {}
        for fact in facts:
            if (own_vector := cached.get(vector_key(self.model, fact.content))) is None:
                continue
            before = cached.get(vector_key(self.model, fact.before)) if fact.before else None
            mixed_vectors[fact.id] = own_vector if before is None else _narrow(mixed_vector(_wide(own_vector), _wide(before)))
        return mixed_vectors

    def mixed(self, fact: Fact, cached: Mapping[str, Vector]) -> Vector | None:
        """The fact's vector from cached ones, or None where its own text has none."""
        own_vector, *before = (cached.get(vector_key(self.model, text)) for text in texts_to_embed(fact))
        return None if own_vector is None else mixed_vector(own_vector, before[0] if before else None)

    def forget_recent(self) -> None:
        """Keep no vector in RAM that a store has let go of."""
        self._recent.clear()
        self._ahead.clear()

    async def close(self) -> None:
        await self._embedder.close()

    async def _embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        if not texts:
            return []
        return list(await self._asked(self._embedder.embed_passages(texts), (len(texts), self.dimension)))

    async def _asked(self, call: Awaitable[Vector], shape: tuple[int, ...]) -> Vector:
        """The model's result. Whatever it raises, a foreign embedder's error too, is a `BackendError` from here on."""
        try:
            numbers = np.asarray(await call, dtype=np.float32)
        except BackendError:
            raise
        except Exception as error:
            raise BackendError(self.model, f"{type(error).__name__}: {error}") from error
        # A vector of another length would be found out only after it was stored.
        if numbers.shape != shape or not np.isfinite(numbers).all():
            raise BackendRejected(
                self.model, f"embeddings of shape {numbers.shape} instead of {shape}, or with NaN; check the model"
            )
        return numbers

    def remember(self, vectors: Mapping[str, Vector]) -> None:
        """By key; those of facts once they are in the store."""
        self._recent.update(vectors)
        while len(self._recent) > _RECENT_MAX:
            self._recent.popitem(last=False)

    def _report(self, error: BackendError) -> None:
        """One line for the first failure; the facts without a vector are counted in the statistics."""
        if not self._has_failed:
            _log.warning("no embeddings for now, keywords have to do (%s); later: hive-mind reembed", error)
        self._has_failed = True


def _wide(vector: Narrow) -> Vector:
    return vector.astype(np.float32)


def _narrow(vector: Vector) -> Narrow:
    return vector.astype(np.float16)
