"""Walk a neighbourhood graph (HNSW, by the usearch library) instead of comparing everything.

The graph only proposes; every proposal is scored again with its exact cosine, so the scores are those of exact search and
only a neighbour may be missing. Vectors live once, as float16, inside the graph: embedders already round to that, so
nothing is lost. On random vectors a graph finds little; judge it on real ones (benchmarks/search.py).
"""

from dataclasses import dataclass

import numpy as np
from usearch.index import Index

from hive_mind.ranking.vector import Cosines, Narrow, Positions, Vector, VectorArm


@dataclass(frozen=True, slots=True)
class UsearchSettings:
    """How dense the graph is and how far a search walks. The figures behind each choice: benchmarks/search.py."""

    # Links per vector. Doubling it costs a fifth of the building speed and did not find more at 20,000 sentences.
    connectivity: int = 16
    # Candidates looked at when a vector is added. More builds slower and links better.
    expansion_add: int = 128
    # Candidates looked at when searching. 64 halves the time of a search and finds about half a point less (20,000 sentences).
    expansion_search: int = 128
    # Up to this many vectors a full scan inside the library takes no longer than walking the graph (measured), and is exact.
    scan_below: int = 2_000


def open(dimension: int, settings: UsearchSettings | None = None) -> VectorArm:
    return UsearchVectors(dimension, settings or UsearchSettings())


class UsearchVectors:
    """Approximate nearest neighbours with exact scores; takes about 2 × `dimension` + 300 bytes per vector."""

    def __init__(self, dimension: int, settings: UsearchSettings) -> None:
        self.dimension = dimension
        self._settings = settings
        # The inner product of unit vectors is their cosine, and unlike the cosine it is defined for a zero vector.
        self._graph = Index(
            ndim=dimension,
            metric="ip",
            dtype="f16",
            connectivity=settings.connectivity,
            expansion_add=settings.expansion_add,
            expansion_search=settings.expansion_search,
        )

    def add(self, position: int, vector: Vector) -> None:
        self.remove(position)
        self._graph.add(position, vector, threads=1)

    def reserve(self, size: int) -> None:
        """The library grows as it likes."""

    def add_all(self, positions: Positions, vectors: Narrow) -> None:
        for position, vector in zip(positions.tolist(), vectors.astype(np.float32), strict=True):
            self.add(position, vector)

    def remove(self, position: int) -> None:
        if position in self._graph:
            self._graph.remove(position)

    def vector(self, position: int) -> Vector | None:
        if position not in self._graph:
            return None
        stored: Vector = np.asarray(self._graph.get(position, dtype="f32"), np.float32).reshape(-1)
        return stored

    def top(self, query: Vector, k: int) -> tuple[Positions, Cosines]:
        """The k nearest, best first, ties by position; fewer when there are fewer.

        Among more than k equally near ones, which are returned is up to the graph.
        """
        count = min(k, len(self))
        if count <= 0:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        proposals = self._proposals(query, count)
        cosines = self.cosines(query, proposals)
        order = np.lexsort((proposals, -cosines))
        return proposals[order], cosines[order]

    def cosines(self, query: Vector, positions: Positions) -> Cosines:
        result = np.full(len(positions), np.nan, np.float32)
        keys = positions.astype(np.uint64)
        are_stored = np.asarray(self._graph.contains(keys), np.bool_) if len(keys) else np.zeros(0, np.bool_)
        if are_stored.any():
            result[are_stored] = np.vecdot(np.asarray(self._graph.get(keys[are_stored], dtype="f32"), np.float32), query)
        return result

    def __len__(self) -> int:
        return len(self._graph)

    def _proposals(self, query: Vector, count: int) -> Positions:
        scan = len(self) <= self._settings.scan_below or 2 * count > len(self)
        keys = self._graph.search(query, count, exact=scan, threads=1).keys
        if len(keys) < count:
            # After many removals the walk may end early; then look at everything.
            keys = self._graph.search(query, count, exact=True, threads=1).keys
        return np.asarray(keys, np.int64)
