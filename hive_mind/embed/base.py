"""What an embedder must do: turn texts into unit vectors, rounded so that every copy of them compares equal."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]


class Embedder(Protocol):
    """One configured model. Its name is recorded in the database; dimension 0 means no vectors at all."""

    @property
    def model(self) -> str:
        """The model's name as the user gave it."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    async def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Shape (len(texts), dimension), float32, unit rows rounded once to float16; a blank text has the zero row.

        Equal texts of one call have equal rows; between calls the last bits may differ. Raises `BackendError`.
        """
        ...

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        """Shape (dimension,). Some models embed questions differently from passages. Raises `BackendError`."""
        ...

    async def close(self) -> None:
        """Release threads and connections."""
        ...


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
