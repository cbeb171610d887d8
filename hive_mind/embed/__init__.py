"""The interface of an embedder: turn texts into unit vectors, rounded so that every copy of them compares equal.

Each text goes to a model once per call: repeated texts share a row, blank ones get the zero row without being sent.

A model's arithmetic depends a little on the rest of the batch, so sharing the row is also what makes two equal
texts of one call exactly equal. Sending is left to the back ends.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]

_BLANK = -1


class Embedder(Protocol):
    """One configured model. Its name is recorded in the database; dimension 0 means no vectors at all."""

    @property
    def model(self) -> str:
        """The model's name as the user gave it."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    async def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Shape (len(texts), dimension), float32, unit rows rounded once to float16; a blank text has the zero row.

        Equal texts of one call have equal rows; between calls the last bits may differ. Raises `BackendError`.
        """

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        """Shape (dimension,). Some models embed questions differently from passages. Raises `BackendError`."""

    async def close(self) -> None:
        """Release threads and connections."""


def rounded_unit_rows(matrix: Matrix) -> Matrix:
    """Rows scaled to length 1 and rounded to what float16 can hold; a zero row stays zero.

    Raises `ValueError` for a row that is not finite.
    """
    if not np.isfinite(matrix).all():
        raise ValueError("an embedding has a value that is not a finite number")
    # Squares of very large or very small values leave the range of float32.
    exact = matrix.astype(np.float64)
    lengths = np.linalg.norm(exact, axis=1, keepdims=True)
    unit: NDArray[np.float64] = np.divide(exact, lengths, out=np.zeros_like(exact), where=lengths > 0)
    return unit.astype(np.float16).astype(np.float32)


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
    places: dict[str, int] = {}
    rows = [places.setdefault(text, len(places)) if text.strip() else _BLANK for text in map(_valid, texts)]
    return DistinctTexts(list(places), np.asarray(rows, np.int64))


def _valid(text: str) -> str:
    """An unpaired surrogate, found in damaged files, can't be encoded; it becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")
