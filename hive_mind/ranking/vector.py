"""The semantic arm: which vectors are nearest to the query's, by cosine.

`VectorArm` is all the index asks for. `ExactVectors` is the default: one float32 matrix and one product, which below some ten
thousand facts is as fast as anything. Approximate ones live in `hive_mind.ann` and are handed in.
"""

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
Narrow = NDArray[np.float16]
"""A vector as it is kept on disk: embedders round to it."""
Positions = NDArray[np.int64]
Cosines = NDArray[np.float32]

_BLOCK = 16
_NEVER = 1 << 62


class VectorArm(Protocol):
    """Unit vectors by position. Positions are dense integers handed out in rising order; some may have no vector."""

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""

    def add(self, position: int, vector: Vector) -> None:
        """Keep a unit vector; adding a position again replaces it."""

    def reserve(self, size: int) -> None:
        """Make room for positions below `size` at once; for more there will be room all the same."""

    def add_all(self, positions: Positions, vectors: Narrow) -> None:
        """Keep many, at distinct ascending positions; shape (positions, dimension)."""

    def remove(self, position: int) -> None:
        """Forget a vector; a position without one is fine."""

    def vector(self, position: int) -> Vector | None:
        """The vector kept at a position, or None."""

    def top(self, query: Vector, k: int) -> tuple[Positions, Cosines]:
        """The k nearest, best first, ties by position; fewer when there are fewer."""

    def cosines(self, query: Vector, positions: Positions) -> Cosines:
        """Exact cosines at these positions; NaN where there is no vector."""

    def __len__(self) -> int:
        """How many vectors are kept."""


@runtime_checkable
class Scanning(Protocol):
    """A `VectorArm` that can give all cosines at once, which in a small index costs less than to find out which are needed."""

    def scan(self, query: Vector, size: int, k: int) -> Cosines | None:
        """The cosine of each of the first `size` positions; NaN where there is no vector. None: `top` finds k at less cost."""


@runtime_checkable
class Choosing(Protocol):
    """A `VectorArm` that can look for the nearest among some positions at less cost than comparing all of these in full."""

    def top_among(self, query: Vector, positions: Positions, k: int) -> tuple[Positions, Cosines]:
        """The k nearest of these ascending positions, best first, ties by position."""


class ExactVectors:
    """Every vector in one matrix; a search is one matrix product. `dimension` × 4 bytes per fact.

    With more than `narrow_above` rows they are kept as float16: half of that, and nothing is lost, as embedders round to it. But
    numpy makes float32 of them again at 1 ns a number, which is more than comparing them takes.
    """

    def __init__(self, dimension: int, narrow_above: int = _NEVER) -> None:
        self.dimension = dimension
        self._narrow_above = narrow_above
        self._matrix: NDArray[np.float32 | np.float16] = np.zeros((0, dimension), dtype=np.float32)
        self._present = np.zeros(0, dtype=np.bool_)
        self._size = 0
        self._count = 0

    def add(self, position: int, vector: Vector) -> None:
        """Keep a unit vector; adding a position again replaces it."""
        if position >= len(self._matrix):
            self._grow(position + 1)
        self._matrix[position] = vector
        self._count += not self._present[position]
        self._present[position] = True
        self._size = max(self._size, position + 1)

    def reserve(self, size: int) -> None:
        """Reserve room for a number of vectors."""
        if size > len(self._matrix):
            self._grow(size)

    def add_all(self, positions: Positions, vectors: Narrow) -> None:
        """Keep many, at distinct ascending positions."""
        end = int(positions[-1]) + 1
        self.reserve(end)
        self._matrix[positions] = vectors
        self._count += len(positions) - int(np.count_nonzero(self._present[positions]))
        self._present[positions] = True
        self._size = max(self._size, end)

    def remove(self, position: int) -> None:
        """Forget a vector; a position without one is fine."""
        if position < self._size and self._present[position]:
            self._present[position] = False
            self._count -= 1

    def vector(self, position: int) -> Vector | None:
        """The vector kept at a position, or None."""
        return _wide(self._matrix[position]) if position < self._size and self._present[position] else None

    def top(self, query: Vector, k: int) -> tuple[Positions, Cosines]:
        """The k nearest, best first, ties by position; fewer when there are fewer."""
        return nearest(self.scan(query, self._size, k), k)

    def scan(self, query: Vector, size: int, k: int) -> Cosines:  # noqa: ARG002
        """The cosine of each of the first `size` positions; NaN where there is no vector."""
        # Not `@`: BLAS would spread one query over all cores, and on a busy machine its threads then wait for one another
        # (measured: 8 ms instead of 0.5 ms at 10,000 facts). Nor does it give a row the same result wherever the row lies.
        if size == self._size == self._count:
            every: Cosines = np.vecdot(_wide(self._matrix[:size]), query)
            return every
        cosines = np.full(size, np.nan, dtype=np.float32)
        buffer = cosines[: self._size]
        np.vecdot(_wide(self._matrix[: self._size]), query, out=buffer)
        buffer[~self._present[: self._size]] = np.nan
        return cosines

    def cosines(self, query: Vector, positions: Positions) -> Cosines:
        """Exact cosines at these positions; NaN where there is no vector."""
        result = np.full(len(positions), np.nan, dtype=np.float32)
        inside = positions < self._size
        inside[inside] = self._present[positions[inside]]
        result[inside] = self.cosines_of_present(query, positions[inside])
        return result

    def cosines_of_present(self, query: Vector, positions: Positions) -> Cosines:
        """The same at positions all of which have a vector."""
        cosines: Cosines = np.vecdot(_wide(self._matrix[positions]), query)
        return cosines

    def __len__(self) -> int:
        return self._count

    def _grow(self, size: int) -> None:
        # By a quarter, not double: spare rows are the largest thing in memory, in a large agent and in a hundred small ones.
        capacity = max(size, 16, len(self._matrix) * 5 // 4)
        kept_as = np.float16 if capacity > self._narrow_above else np.float32
        matrix = np.zeros((capacity, self._matrix.shape[1]), dtype=kept_as)
        present = np.zeros(capacity, dtype=np.bool_)
        matrix[: self._size], present[: self._size] = self._matrix[: self._size], self._present[: self._size]
        self._matrix, self._present = matrix, present


def _wide(rows: NDArray[np.float32 | np.float16]) -> NDArray[np.float32]:
    return rows.astype(np.float32, copy=False)


def best(scores: NDArray[np.float32], k: int) -> tuple[Positions, Cosines]:
    """Positions and values of the k largest scores, best first, ties by position. None may be NaN."""
    if k <= 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
    positions = (scores >= floor_of_best(scores, k)).nonzero()[0]
    score = scores[positions]
    # Positions ascend, so a stable order leaves ties by position.
    order = (-score).argsort(kind="stable")[:k]
    return positions[order], score[order]


def nearest(cosines: Cosines, k: int) -> tuple[Positions, Cosines]:
    """As `best`, where NaN says that a position has no vector: it is never among them."""
    is_missing = np.isnan(cosines)
    if not is_missing.any():
        return best(cosines, k)
    rows_there = np.flatnonzero(~is_missing)
    places, scores_found = best(cosines[rows_there], k)
    return rows_there[places], scores_found


def floor_of_best(scores: NDArray[np.float32], k: int) -> float:
    """A value that at least k scores reach (all, where there are fewer), as high as can be had cheaply. k > 0."""
    if len(scores) <= k:
        return -np.inf
    blocks = len(scores) // _BLOCK
    # k block maxima reach the k-th largest of them, so k scores do. There are fewer to partition, which is slow where many are
    # equal; and as a block is a column here, whole rows are compared at once.
    block_best = np.maximum.reduce(scores[: blocks * _BLOCK].reshape(_BLOCK, blocks), axis=0) if blocks > k else scores.copy()
    # In place: numpy's function of this name costs as much again, and a hive calls it a hundred times for one question.
    block_best.partition(len(block_best) - k)
    return float(block_best[len(block_best) - k])
