"""Each text goes to a model once per call: repeated texts share a row, blank ones get the zero row without being sent.

A model's arithmetic depends a little on what else is in the batch, so sharing the row is also what makes two equal
texts of one call exactly equal. Sending is left to the back ends.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hive_mind.embed.base import Matrix

_BLANK = -1


@dataclass(frozen=True, slots=True)
class DistinctTexts:
    """`texts` are distinct, not blank and valid Unicode; `rows[i]` is where the caller's text i is, -1 for a blank one."""

    texts: list[str]
    rows: NDArray[np.int64]

    def spread(self, vectors: Matrix, dimension: int) -> Matrix:
        """From one row per distinct text to one row per text of the caller; shape (len(rows), dimension)."""
        out = np.zeros((len(self.rows), dimension), np.float32)
        sent = self.rows != _BLANK
        if sent.any():
            out[sent] = vectors[self.rows[sent]]
        return out


def distinct(texts: Sequence[str]) -> DistinctTexts:
    """The distinct texts in order of appearance."""
    places: dict[str, int] = {}
    rows = [places.setdefault(text, len(places)) if text.strip() else _BLANK for text in map(_valid, texts)]
    return DistinctTexts(list(places), np.asarray(rows, np.int64))


def _valid(text: str) -> str:
    """An unpaired surrogate, found in damaged files, can't be encoded; it becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")
