"""Vectors on disk, by model and text, so that no text is embedded twice: not by two arms, not by two runs.

One file per model, of records of equal length that are only ever appended: a killed process leaves at most half a record, which
is not read. Vectors are float16, which is what embedders round to, so nothing is lost. One process fills it before any cell runs;
cells read it, and share its pages.

Everything a run needs is embedded before it begins, in one process, with progress. Texts go to the model in chunks that depend on
nothing but the data: a model's arithmetic depends a little on what else is in a batch, so a fill that was interrupted must ask in
the same company to get the same vectors.
"""

import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hive_mind.embed import Embedder, Matrix
from hive_mind.evals.arms import Progress, candidate_of, worded
from hive_mind.evals.datasets import Dataset
from hive_mind.memory.intake import new_fact
from hive_mind.ranking.form import texts_to_embed
from hive_mind.ranking.scripts import probes, script_of
from hive_mind.retrieval import writable
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_embedder

Kind = Literal["passage", "query"]
_KEY_BYTES = 16


@dataclass(frozen=True, slots=True)
class Vectors:
    """Which vectors a run uses: of this model, kept in this folder, or in RAM. Without a dimension there is no model."""

    folder: Path | None
    model: str = ""
    dimension: int = 0

    def open(self) -> "VectorCache":
        return VectorCache(self)


class VectorCache:
    """Vectors in the file when it was opened, and those added since."""

    def __init__(self, vectors: Vectors) -> None:
        self._record = np.dtype([("key", "u1", _KEY_BYTES), ("vector", "<f2", vectors.dimension)])
        # Readable, and another one for another model; a model's name may be a path.
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(vectors.model).name)[:40]
        name += f"-{blake2b(vectors.model.encode(), digest_size=4).hexdigest()}-{vectors.dimension}.vectors"
        self._path = vectors.folder / name if vectors.folder else None
        self._rows = self._read()
        self._places = {key.tobytes(): number for number, key in enumerate(self._rows["key"])}
        self._new: dict[bytes, NDArray[np.float32]] = {}

    def __len__(self) -> int:
        return len(self._places) + len(self._new)

    def get(self, kind: Kind, text: str) -> NDArray[np.float32] | None:
        key = _key(kind, text)
        place = self._places.get(key)
        if place is None:
            return self._new.get(key)
        vector: NDArray[np.float32] = self._rows["vector"][place].astype(np.float32)
        return vector

    def has(self, kind: Kind, text: str) -> bool:
        key = _key(kind, text)
        return key in self._places or key in self._new

    def hold(self, kind: Kind, text: str, vector: NDArray[np.float32]) -> None:
        """Know it as long as this cache is open."""
        self._new[_key(kind, text)] = vector

    def keep(self, kind: Kind, texts: Sequence[str], vectors: Matrix) -> None:
        """Write down those that are new. One process at a time may do this."""
        fresh = [(text, vector) for text, vector in zip(texts, vectors, strict=True) if not self.has(kind, text)]
        for text, vector in fresh:
            self.hold(kind, text, vector)
        if self._path is None:
            return
        records = np.zeros(len(fresh), self._record)
        for number, (text, vector) in enumerate(fresh):
            records[number]["key"] = np.frombuffer(_key(kind, text), np.uint8)
            records[number]["vector"] = vector
        with writable(self._path), self._path.open("ab") as file:
            file.write(records.tobytes())

    def _read(self) -> NDArray[Any]:
        if self._path is None:
            return np.zeros(0, self._record)
        with writable(self._path.parent):
            self._path.parent.mkdir(parents=True, exist_ok=True)
        size = self._path.stat().st_size if self._path.exists() else 0
        count = size // self._record.itemsize
        if size != count * self._record.itemsize:
            with self._path.open("r+b") as file:
                file.truncate(count * self._record.itemsize)
        return np.memmap(self._path, self._record, "r", shape=(count,)) if count else np.zeros(0, self._record)


class CachedEmbedder:
    """An embedder that looks in the cache, and opens the real one only for missing texts.

    New vectors are kept for as long as this lives, and not written down, so that processes share a cache.
    """

    def __init__(self, vectors: Vectors, open_real: Callable[[], Awaitable[Embedder]]) -> None:
        self.model = vectors.model
        self.dimension = vectors.dimension
        self.misses = 0
        self._cache = vectors.open()
        self._open_real = open_real
        self._real: Embedder | None = None

    async def embed_passages(self, texts: Sequence[str]) -> Matrix:
        new = [text for text in dict.fromkeys(texts) if not self._cache.has("passage", text)]
        if new:
            self._learn("passage", new, await (await self._opened()).embed_passages(new))
        vectors = [self._cache.get("passage", text) for text in texts]
        return np.array(vectors, np.float32).reshape(len(vectors), self.dimension)

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        if not self._cache.has("query", text):
            self._learn("query", [text], (await (await self._opened()).embed_query(text)).reshape(1, -1))
        vector = self._cache.get("query", text)
        assert vector is not None  # noqa: S101 - it was just put there
        return vector

    async def close(self) -> None:
        if self._real is not None:
            await self._real.close()
            self._real = None

    def _learn(self, kind: Kind, texts: Sequence[str], vectors: Matrix) -> None:
        self.misses += len(texts)
        for text, vector in zip(texts, vectors, strict=True):
            self._cache.hold(kind, text, vector)

    async def _opened(self) -> Embedder:
        if self._real is None:
            self._real = await self._open_real()
        return self._real


def _key(kind: Kind, text: str) -> bytes:
    return blake2b(f"{kind}\0{text}".encode("utf-8", "replace"), digest_size=_KEY_BYTES).digest()


# A few seconds' worth, so that progress moves; sorted by length, so that a batch is not as long as one long text.
_CHUNK = 256


async def fill(folder: Path, datasets: Sequence[Dataset], settings: Settings, progress: Progress) -> Vectors:
    """Embed what is not in the cache. Without a model the result is a `Vectors` without dimension."""
    progress("loading the embedding model", 0, 0)
    embedder = await open_embedder(settings)
    try:
        vectors = Vectors(folder, embedder.model if embedder.dimension else "", embedder.dimension)
        if embedder.dimension:
            await stored(vectors, datasets, embedder, progress)
        return vectors
    finally:
        await embedder.close()


def passages_of(dataset: Dataset) -> list[str]:
    """The texts that a memory embeds of these documents, and to ask its model about the scripts of the questions; each once."""
    documents = worded(document for scope in dataset.scopes for document in scope.documents)
    facts = (new_fact(candidate_of(document), dataset.name or "data", 0) for document in documents)
    texts = dict.fromkeys(text for fact in facts for text in texts_to_embed(fact))
    scripts = dict.fromkeys(script_of(query) for query in queries_of(dataset))
    return list(texts | dict.fromkeys(text for script in scripts for text in probes(script)))


def queries_of(dataset: Dataset) -> list[str]:
    return list(dict.fromkeys(question.text for scope in dataset.scopes for question in scope.questions))


async def stored(vectors: Vectors, datasets: Sequence[Dataset], embedder: Embedder, progress: Progress) -> int:
    """Have everything that these data sets need in the cache; how many texts were new to it."""
    cache = vectors.open()
    chunks = [chunk for dataset in datasets for chunk in _chunks(passages_of(dataset))]
    questions = [text for dataset in datasets for text in queries_of(dataset)]
    new = [chunk for chunk in chunks if not all(cache.has("passage", text) for text in chunk)]
    questions_to_embed = [text for text in dict.fromkeys(questions) if not cache.has("query", text)]
    total, before = sum(map(len, new)) + len(questions_to_embed), len(cache)
    embedded = 0
    for chunk in new:
        cache.keep("passage", chunk, await embedder.embed_passages(chunk))
        embedded += len(chunk)
        progress("embedding", embedded, total)
    for text in questions_to_embed:
        cache.keep("query", [text], (await embedder.embed_query(text)).reshape(1, -1))
        embedded += 1
        if embedded % 32 == 0:
            progress("embedding", embedded, total)
    return len(cache) - before


def _chunks(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    ordered = sorted(texts, key=lambda text: (len(text), text))
    return (ordered[start : start + _CHUNK] for start in range(0, len(ordered), _CHUNK))
