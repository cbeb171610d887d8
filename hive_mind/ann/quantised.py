"""Exact search over a coarse copy: scan 8-bit codes, then compare in full whatever could still be among the nearest.

Each vector's quantisation error is known, so Cauchy and Schwarz bound how far a coarse cosine can be off; nothing that could be
among the k nearest is left out and the result is that of `exact`, bit for bit. A quarter of the bytes are read, and reading them
is what a scan costs (benchmarks/search.py). Needs numkong (Apache-2.0), which usearch brings along.
"""

from itertools import pairwise
from math import sqrt
from typing import NamedTuple

import numpy as np
from numkong import cdist
from numpy.typing import NDArray

from hive_mind.ranking.vector import Cosines, ExactVectors, Narrow, Positions, Vector, VectorArm, floor_of_best
from hive_mind.remembered import remembered

_CODE_MAX = 127
# Candidates per hit, a third of which are compared in full or wanted by the other arms (measured at 1,000 and 3,000).
_SCANNED_PER_HIT = 30
# More full vectors than this are kept as float16. A query makes some hundred of them wide again: those that may be nearest.
_NARROW_ABOVE = 16_384
# Each slice costs some 10 µs; copying the codes of a thousand scattered vectors costs 100.
_RUNS_MAX = 16
# Vectors that are quantised at once: more would not stay in the processor's cache.
_TOGETHER = 256
# Rounding in float32 on the way to a coarse cosine; real errors are a hundred times smaller.
_ROUNDING = 1e-5


def open(dimension: int) -> VectorArm:
    return QuantisedVectors(dimension)


class QuantisedVectors:
    """Implements `VectorArm`. Takes 5 bytes per dimension and vector, the full one and its codes; 3 where there are many."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self._full = ExactVectors(dimension, _NARROW_ABOVE)
        self._codes = np.zeros((0, dimension), dtype=np.int8)
        # The worth of one of a vector's codes.
        self._scales = np.zeros(0, dtype=np.float32)
        # Of what the codes of any vector leave out, and of what they say. One bound for all: they hardly differ.
        self._error_max = self._length_max = 0.0
        self._present = np.zeros(0, dtype=np.bool_)
        self._size = 0

    def add(self, position: int, vector: Vector) -> None:
        self._full.add(position, vector)
        self.reserve(position + 1)
        self._codes[position], self._scales[position], error, length = _quantised(vector)
        self._error_max, self._length_max = max(self._error_max, error), max(self._length_max, length)
        self._present[position] = True
        self._size = max(self._size, position + 1)

    def reserve(self, size: int) -> None:
        self._full.reserve(size)
        if size > len(self._codes):
            self._grow(max(size, 16, len(self._codes) * 5 // 4))

    def add_all(self, positions: Positions, vectors: Narrow) -> None:
        end = int(positions[-1]) + 1
        self.reserve(end)
        self._full.add_all(positions, vectors)
        for start in range(0, len(positions), _TOGETHER):
            self._quantise(positions[start : start + _TOGETHER], vectors[start : start + _TOGETHER].astype(np.float32))
        self._present[positions] = True
        self._size = max(self._size, end)

    def remove(self, position: int) -> None:
        self._full.remove(position)
        if position < self._size:
            self._present[position] = False

    def vector(self, position: int) -> Vector | None:
        return self._full.vector(position)

    def top(self, query: Vector, k: int) -> tuple[Positions, Cosines]:
        k = min(k, len(self))
        if k <= 0:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        coarse, error = self._coarse_of(query, slice(0, self._size))
        if len(self) < self._size:
            coarse[~self._present[: self._size]] = -np.inf
        # The real cosines of those that seem nearest are a better floor than their lower bounds.
        likely = coarse.argpartition(len(coarse) - k)[len(coarse) - k :]
        floor = np.minimum.reduce(self._full.cosines_of_present(query, likely))
        rows = (coarse >= floor - error).nonzero()[0]
        return self._nearest_of(query, rows, k)

    def top_among(self, query: Vector, positions: Positions, k: int) -> tuple[Positions, Cosines]:
        inside = positions[positions < self._size]
        there = inside[self._present[inside]]
        k = min(k, len(there))
        if k <= 0:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        parts = [self._coarse_of(query, rows) for rows in _runs(there)]
        coarse, error = np.concatenate([part for part, _ in parts]), parts[0][1]
        rows = there[np.flatnonzero(coarse >= floor_of_best(coarse, k) - 2 * error)]
        return self._nearest_of(query, rows, k)

    def scan(self, query: Vector, size: int, k: int) -> Cosines | None:
        """All cosines, where most vectors would be compared in full anyway, so that reading the codes too saves nothing."""
        return self._full.scan(query, size, k) if len(self) <= min(_SCANNED_PER_HIT * k, _NARROW_ABOVE) else None

    def cosines(self, query: Vector, positions: Positions) -> Cosines:
        return self._full.cosines(query, positions)

    def __len__(self) -> int:
        return len(self._full)

    def _nearest_of(self, query: Vector, rows: Positions, k: int) -> tuple[Positions, Cosines]:
        cosines = self._full.cosines_of_present(query, rows)
        # Positions ascend, so a stable order leaves ties by position.
        order = (-cosines).argsort(kind="stable")[:k]
        return rows[order], cosines[order]

    def _coarse_of(self, query: Vector, rows: slice | Positions) -> tuple[Cosines, float]:
        """Coarse cosines, and how far any of them can be off."""
        coded = _asked(query.tobytes())
        coarse = np.asarray(cdist(coded.codes, self._codes[rows], "dot")).ravel().astype(np.float32)
        coarse *= self._scales[rows]
        coarse *= coded.scale
        # q·v - q̂·v̂ = q·(v - v̂) + (q - q̂)·v̂
        return coarse, self._error_max * coded.length + self._length_max * coded.error + _ROUNDING

    def _quantise(self, positions: Positions, vectors: Vector) -> None:
        scales = np.maximum(vectors.max(axis=1), -vectors.min(axis=1)) / np.float32(_CODE_MAX)
        scales[scales == 0] = 1.0
        rounded_rows = np.rint(vectors / scales[:, None])
        self._codes[positions], self._scales[positions] = rounded_rows, scales
        rounded_rows *= scales[:, None]
        error, length = (sqrt(np.vecdot(part, part).max()) for part in (vectors - rounded_rows, rounded_rows))
        self._error_max, self._length_max = max(self._error_max, error), max(self._length_max, length)

    def _grow(self, capacity: int) -> None:
        codes = np.zeros((capacity, self._codes.shape[1]), dtype=np.int8)
        scales = np.zeros(capacity, dtype=np.float32)
        present = np.zeros(capacity, dtype=np.bool_)
        size = self._size
        codes[:size], scales[:size], present[:size] = self._codes[:size], self._scales[:size], self._present[:size]
        self._codes, self._scales, self._present = codes, scales, present


class _Asked(NamedTuple):
    """A query's codes, shape (1, dimension), the worth of one, the length of the part they leave out, and the query itself."""

    codes: NDArray[np.int8]
    scale: np.float32
    error: float
    length: float


@remembered(64)
def _asked(query: bytes) -> _Asked:
    """Of a query as float32. Kept: all members of a hive are asked the same, and an index more than once."""
    vector = np.frombuffer(query, dtype=np.float32)
    codes, scale, error, _ = _quantised(vector)
    return _Asked(codes[None], scale, error, _length(vector))


def _runs(positions: Positions) -> list[slice] | list[Positions]:
    """Ascending positions as a few slices, which are read where they lie; as they are, where they are scattered."""
    ends = np.flatnonzero(np.diff(positions) != 1) + 1
    if len(ends) >= _RUNS_MAX:
        return [positions]
    bounds = pairwise([0, *ends.tolist(), len(positions)])
    return [slice(int(positions[start]), int(positions[end - 1]) + 1) for start, end in bounds]


def _quantised(vector: Vector) -> tuple[NDArray[np.int8], np.float32, float, float]:
    """Codes; the worth of one, the length of the part they leave out, the length of the part they keep."""
    scale = np.float32(np.maximum.reduce(np.abs(vector), initial=0.0) / _CODE_MAX or 1.0)
    rounded = np.rint(vector / scale)
    dequantised = rounded * scale
    return rounded.astype(np.int8), scale, _length(vector - dequantised), _length(dequantised)


def _length(vector: Vector) -> float:
    """Of a vector. Computed in single precision, with an error that `_ROUNDING` covers; numpy's own function costs ten times as
    much."""
    return sqrt(vector.dot(vector))
