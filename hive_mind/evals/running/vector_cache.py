"""Vectors on disk, by model and text, so that no text is embedded twice: not by two arms, not by two runs.

One file per model, of records of equal length that are only ever appended: a killed process leaves at most half a record, which
is not read. Vectors are float16, which is what embedders round to, so nothing is lost. One process fills it before any cell runs;
cells read it, and share its pages.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hive_mind.embed.base import Embedder, Matrix
from hive_mind.retrieval.files.writing import writable

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
        self._path = vectors.folder / _file_name(vectors) if vectors.folder else None
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
        found: NDArray[np.float32] = self._rows["vector"][place].astype(np.float32)
        return found

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
        whole = size // self._record.itemsize
        if size != whole * self._record.itemsize:
            with self._path.open("r+b") as file:
                file.truncate(whole * self._record.itemsize)
        return np.memmap(self._path, self._record, "r", shape=(whole,)) if whole else np.zeros(0, self._record)


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
        """Unit rows, one per text."""
        new = [text for text in dict.fromkeys(texts) if not self._cache.has("passage", text)]
        if new:
            self._learn("passage", new, await (await self._opened()).embed_passages(new))
        return self._rows(texts)

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        if not self._cache.has("query", text):
            self._learn("query", [text], (await (await self._opened()).embed_query(text)).reshape(1, -1))
        found = self._cache.get("query", text)
        assert found is not None  # noqa: S101 - it was just put there
        return found

    async def close(self) -> None:
        """Close the real embedder, where it was needed."""
        if self._real is not None:
            await self._real.close()
            self._real = None

    def _learn(self, kind: Kind, texts: Sequence[str], vectors: Matrix) -> None:
        self.misses += len(texts)
        for text, vector in zip(texts, vectors, strict=True):
            self._cache.hold(kind, text, vector)

    def _rows(self, texts: Iterable[str]) -> Matrix:
        found = [self._cache.get("passage", text) for text in texts]
        return np.array(found, np.float32).reshape(len(found), self.dimension)

    async def _opened(self) -> Embedder:
        if self._real is None:
            self._real = await self._open_real()
        return self._real


def _key(kind: Kind, text: str) -> bytes:
    return blake2b(f"{kind}\0{text}".encode("utf-8", "replace"), digest_size=_KEY_BYTES).digest()


def _file_name(vectors: Vectors) -> str:
    """Readable, and another one for another model; a model's name may be a path."""
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(vectors.model).name)[:40]
    return f"{slug}-{blake2b(vectors.model.encode(), digest_size=4).hexdigest()}-{vectors.dimension}.vectors"
