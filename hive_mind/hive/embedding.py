"""A program's function from texts to vectors, which may fail: then keywords have to do, and one line says so."""

import warnings
from collections.abc import Callable

import numpy as np

from hive_mind.ranking.vector import Vector


class GuardedEmbedder:
    """Vectors of one length. `dimension` is 0 where the function failed at the first call: then there is nothing to compare."""

    def __init__(self, embed: Callable[[str], Vector]) -> None:
        self._embed, self._has_failed, self.dimension = embed, False, 0
        first = self.vector("how long a vector is")
        self.dimension = 0 if first is None else len(first)

    def vector(self, text: str) -> Vector | None:
        """The vector of a text, float32, shape (dimension,); None without an embedding."""
        try:
            vector = np.asarray(self._embed(text), dtype=np.float32)
            self._check(vector)
        except Exception as error:  # noqa: BLE001 - whatever a program's own function raises, its facts are kept and found
            self._report(error)
            return None
        return vector

    def _check(self, vector: Vector) -> None:
        dimension = self.dimension or vector.size
        if vector.shape != (dimension,) or not dimension or not np.isfinite(vector).all():
            raise ValueError(f"a vector of shape {vector.shape}, or with NaN, where the first had {dimension} numbers")

    def _report(self, error: Exception) -> None:
        if not self._has_failed:
            notice = f"no embeddings for now, searching by keywords only ({type(error).__name__}: {error})"
            warnings.warn(notice, RuntimeWarning, stacklevel=2)
        self._has_failed = True
