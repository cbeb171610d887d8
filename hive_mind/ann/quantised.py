"""Exact search over a coarse copy: scan 8-bit codes, then compare in full whatever could still be among the nearest.

Each vector's quantisation error is known, so Cauchy and Schwarz bound how far a coarse cosine can be off; nothing that could be
among the k nearest is left out and the result is that of `exact`, bit for bit. A quarter of the bytes are read, and reading them
is what a scan costs (benchmarks/search.py). Needs numkong (Apache-2.0), which usearch brings along.
"""

from itertools import pairwise
from math import sqrt

import numpy as np
from numkong import cdist
from numpy.typing import NDArray

from hive_mind.ann.base import Cosines, Positions, Vector, VectorArm
from hive_mind.ranking.vector import ExactVectors, best, floor_of_best

_CODE_MAX = 127
# Of so many vectors for each hit, a third are compared in full or are asked for by the other arms (measured at 1,000 and 3,000).
_SCANNED_PER_HIT = 30
# Each slice costs some 10 µs; copying the codes of a thousand scattered vectors costs 100.
_RUNS_MAX = 16
# Rounding in float32 on the way to a coarse cosine; real errors are a hundred times smaller.
_ROUNDING = 1e-5


def open(dimension: int) -> VectorArm:
    """An empty index for vectors of this length."""
    return QuantisedVectors(dimension)


class QuantisedVectors:
    """Implements `VectorArm`. Takes 5 bytes per dimension and vector: the full one and its codes."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self._full = ExactVectors(dimension)
        self._codes = np.zeros((0, dimension), dtype=np.int8)
        # Per vector: what a code is worth, the length of what the codes leave out, the length of what they say.
        self._measures = np.zeros((3, 0), dtype=np.float32)
        self._present = np.zeros(0, dtype=np.bool_)
        self._size = 0

    def add(self, position: int, vector: Vector) -> None:
        """Keep a unit vector; adding a position again replaces it."""
        self._full.add(position, vector)
        if position >= len(self._codes):
            self._grow(max(position + 1, 16, len(self._codes) * 5 // 4))
        self._codes[position], self._measures[:, position] = _quantised(vector)
        self._present[position] = True
        self._size = max(self._size, position + 1)

    def remove(self, position: int) -> None:
        """Forget a vector; a position without one is fine."""
        self._full.remove(position)
        if position < self._size:
            self._present[position] = False

    def vector(self, position: int) -> Vector | None:
        """The vector kept at a position, or None."""
        return self._full.vector(position)

    def top(self, query: Vector, k: int) -> tuple[Positions, Cosines]:
        """The k nearest, best first, ties by position; fewer when there are fewer."""
        k = min(k, len(self))
        if k <= 0:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        coarse, error = self._coarse(query)
        # What really are the cosines of those that seem nearest is a better floor than what they are at least.
        likely = coarse.argpartition(len(coarse) - k)[len(coarse) - k :]
        floor = np.minimum.reduce(self._full.cosines_of_present(query, likely))
        coarse += error
        rows = (coarse >= floor).nonzero()[0]
        found, cosines = best(self._full.cosines_of_present(query, rows), k)
        return rows[found], cosines

    def top_among(self, query: Vector, positions: Positions, k: int) -> tuple[Positions, Cosines]:
        """The k nearest of these ascending positions, best first, ties by position."""
        inside = positions[positions < self._size]
        there = inside[self._present[inside]]
        k = min(k, len(there))
        if k <= 0:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        parts = [self._coarse_of(query, rows) for rows in _runs(there)]
        coarse, error = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        rows = there[np.flatnonzero(coarse + error >= floor_of_best(coarse - error, k))]
        found, cosines = best(self._full.cosines_of_present(query, rows), k)
        return rows[found], cosines

    def scan(self, query: Vector, size: int, k: int) -> Cosines | None:
        """All cosines where so many of the vectors would be compared in full that reading the codes too saves nothing."""
        return self._full.scan(query, size, k) if len(self) <= _SCANNED_PER_HIT * k else None

    def cosines(self, query: Vector, positions: Positions) -> Cosines:
        """Exact cosines at these positions; NaN where there is no vector."""
        return self._full.cosines(query, positions)

    def __len__(self) -> int:
        """How many vectors are kept."""
        return len(self._full)

    def _coarse(self, query: Vector) -> tuple[Cosines, Cosines]:
        """Coarse cosines (-inf where there is no vector) and how far each can be off; shapes (size,)."""
        coarse, bound = self._coarse_of(query, slice(0, self._size))
        if len(self) < self._size:
            coarse[~self._present[: self._size]] = -np.inf
        return coarse, bound

    def _coarse_of(self, query: Vector, rows: slice | Positions) -> tuple[Cosines, Cosines]:
        codes, (scale, error, _) = _quantised(query)
        scales, errors, lengths = self._measures[:, rows]
        coarse = np.asarray(cdist(codes[None], self._codes[rows], "dot")).ravel().astype(np.float32)
        coarse *= scales
        coarse *= scale
        # q·v - q̂·v̂ = q·(v - v̂) + (q - q̂)·v̂
        bound = errors * _length(query)
        bound += lengths * error
        bound += np.float32(_ROUNDING)
        return coarse, bound

    def _grow(self, capacity: int) -> None:
        codes = np.zeros((capacity, self._codes.shape[1]), dtype=np.int8)
        measures = np.zeros((3, capacity), dtype=np.float32)
        present = np.zeros(capacity, dtype=np.bool_)
        size = self._size
        codes[:size], measures[:, :size], present[:size] = self._codes[:size], self._measures[:, :size], self._present[:size]
        self._codes, self._measures, self._present = codes, measures, present


def _runs(positions: Positions) -> list[slice] | list[Positions]:
    """Ascending positions as a few slices, which are read where they lie; as they are, where they are scattered."""
    ends = np.flatnonzero(np.diff(positions) != 1) + 1
    if len(ends) >= _RUNS_MAX:
        return [positions]
    bounds = pairwise([0, *ends.tolist(), len(positions)])
    return [slice(int(positions[start]), int(positions[end - 1]) + 1) for start, end in bounds]


def _quantised(vector: Vector) -> tuple[NDArray[np.int8], tuple[np.float32, np.float32, np.float32]]:
    """Codes; what one is worth, the length of what they leave out, the length of what they say."""
    scale = np.float32(np.maximum.reduce(np.abs(vector), initial=0.0) / _CODE_MAX or 1.0)
    rounded = np.rint(vector / scale)
    said = rounded * scale
    return rounded.astype(np.int8), (scale, _length(vector - said), _length(said))


def _length(vector: Vector) -> np.float32:
    """Of a vector. In single precision, whose error `_ROUNDING` covers; numpy's own function costs ten times as much."""
    return np.float32(sqrt(vector.dot(vector)))
