"""One incremental index: what an agent's memory and a hive's replica both search.

Adding a document makes it findable at once. `pool` returns candidates with raw scores and never ranks; several pools (shards, or
current and superseded facts) merge into exactly the pool that one index over everything would have given.
"""

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hive_mind.model.scores import TermStatistics
from hive_mind.ranking.adaptive import Anchors
from hive_mind.ranking.bm25 import Bm25Index, Bm25Settings
from hive_mind.ranking.form import OWN_WEIGHT_MIN
from hive_mind.ranking.vector import Vector, VectorArm, floor_of_best

Positions = NDArray[np.int64]
Scores = NDArray[np.float32]
Accept = Callable[[str], bool]

_NO_KEYS = np.empty(0, dtype=np.uint64)


@dataclass(frozen=True, slots=True)
class Probe:
    """A query as an index takes it: its terms, the identifiers it names, its vector (None: keywords only)."""

    terms: tuple[str, ...]
    anchors: Anchors
    vector: Vector | None = None
    depth: int = 100
    """Candidates per arm. Raise it and weaker ones can still win by evidence; each costs some microseconds."""
    statistics: TermStatistics | None = None
    """Of the whole hive; None: this index is the whole."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates and their raw scores, column by column: BM25, cosine (NaN: no vector), share of the anchors named."""

    ids: tuple[str, ...]
    keyword: Scores
    semantic: Scores
    exact: Scores

    def __len__(self) -> int:
        """How many candidates."""
        return len(self.ids)


class FactIndex:
    """Documents by id, searchable by terms and by vector."""

    def __init__(self, vectors: VectorArm | None = None, bm25: Bm25Settings | None = None) -> None:
        self._keywords = Bm25Index(bm25)
        self._vectors = vectors
        self._ids: list[str] = []
        self._positions: dict[str, int] = {}
        self._id_keys = array("Q")

    def __len__(self) -> int:
        """How many documents can be found."""
        return len(self._positions)

    def __contains__(self, id: str) -> bool:
        """Whether the document can be found."""
        return id in self._positions

    def add(self, id: str, terms: Mapping[str, float], vector: Vector | None = None) -> None:
        """Make a document findable; its id must be new."""
        if id in self._positions:
            raise ValueError(f"{id} is in the index already")
        position = len(self._ids)
        self._keywords.add(position, terms)
        self._ids.append(id)
        self._positions[id] = position
        self._id_keys.append(_id_key(id))
        if vector is not None and self._vectors is not None:
            self._vectors.add(position, vector)

    def set_vector(self, id: str, vector: Vector) -> None:
        """Give a document its vector, or another one."""
        if self._vectors is not None:
            self._vectors.add(self._positions[id], vector)

    def vector(self, id: str) -> Vector | None:
        """A document's vector, or None."""
        return None if self._vectors is None else self._vectors.vector(self._positions[id])

    def remove(self, id: str, terms: Iterable[str]) -> None:
        """Take a document out at once; `terms` are those it was added with. One that is not there is fine."""
        if (position := self._positions.pop(id, None)) is None:
            return
        self._keywords.remove(position, terms)
        if self._vectors is not None:
            self._vectors.remove(position)

    def statistics(self, terms: Iterable[str]) -> TermStatistics:
        """What a coordinator adds up over shards."""
        return self._keywords.statistics(terms)

    def pool(self, probe: Probe, accept: Accept | None = None) -> Pool:
        """Every document among the best `depth` of an arm that `accept` lets through, with all its raw scores, in no order."""
        keyword = self._keywords.scores(probe.terms, probe.statistics)
        exact = self._exact(probe.anchors)
        nearest = _Nearest(self._vectors, probe.vector)
        positions: set[int] = set()
        if probe.terms:
            positions.update(self._take(lambda k: self._best_by_words(keyword, k), probe.depth, accept))
        if exact:
            positions.update(self._take(lambda k: self._best_by_name(exact, keyword, k), probe.depth, accept))
        positions.update(self._take(nearest.top, probe.depth, accept))
        rows = sorted(positions)
        chosen = np.array(rows, dtype=np.int64)
        return Pool(
            ids=tuple([self._ids[position] for position in rows]),
            keyword=keyword[chosen],
            semantic=nearest.cosines(rows),
            exact=np.array([exact.get(position, 0.0) for position in rows], dtype=np.float32),
        )

    def _take(self, top: Callable[[int], Positions], depth: int, accept: Accept | None) -> list[int]:
        """The best `depth` acceptable positions: asks an arm for more until enough pass."""
        wanted = depth
        while True:
            found: list[int] = top(wanted).tolist()
            passed = found if accept is None else [p for p in found if accept(self._ids[p])]
            if len(passed) >= depth or len(found) < wanted:
                return passed[:depth]
            wanted *= 4

    def _best_by_words(self, keyword: Scores, k: int) -> Positions:
        """Ties by id, not by position: where a document lies must not decide whether it is found."""
        found = np.flatnonzero(keyword)
        scores = keyword[found]
        found = found[scores >= floor_of_best(scores, k)]
        return found[np.lexsort((self._keys_at(found), -keyword[found]))[:k]]

    def _best_by_name(self, exact: Mapping[int, float], keyword: Scores, k: int) -> Positions:
        found = np.array(list(exact), dtype=np.int64)
        shares = np.array(list(exact.values()), dtype=np.float32)
        return found[np.lexsort((self._keys_at(found), -keyword[found], -shares))[:k]]

    def _keys_at(self, positions: Positions) -> NDArray[np.uint64]:
        keys: NDArray[np.uint64] = np.frombuffer(self._id_keys, dtype=np.uint64)[positions] if len(positions) else _NO_KEYS
        return keys

    def _exact(self, anchors: Anchors) -> dict[int, float]:
        """Share of the anchors that a position's own text names, as far as they weigh in the query; for those that name any."""
        matched: dict[int, float] = {}
        for required in anchors.required:
            holders = (set(self._keywords.positions_with(term, OWN_WEIGHT_MIN).tolist()) for term in required)
            for position in set.intersection(*holders):
                matched[position] = matched.get(position, 0.0) + anchors.weight / len(anchors.required)
        return matched


class _Nearest:
    """The vector arm for one query; remembers the cosines it has seen, so that none is computed twice."""

    def __init__(self, vectors: VectorArm | None, query: Vector | None) -> None:
        self._vectors, self._query = vectors, query
        self._seen: dict[int, float] = {}

    def top(self, k: int) -> Positions:
        if self._vectors is None or self._query is None:
            return np.empty(0, dtype=np.int64)
        positions, cosines = self._vectors.top(self._query, k)
        self._seen.update(zip(positions.tolist(), cosines.tolist(), strict=True))
        return positions

    def cosines(self, positions: list[int]) -> Scores:
        if self._vectors is None or self._query is None:
            return np.full(len(positions), np.nan, dtype=np.float32)
        unseen = [position for position in positions if position not in self._seen]
        if unseen:
            cosines = self._vectors.cosines(self._query, np.array(unseen, dtype=np.int64))
            self._seen.update(zip(unseen, cosines.tolist(), strict=True))
        return np.array([self._seen[position] for position in positions], dtype=np.float32)


def merge_pools(pools: Sequence[Pool], depth: int) -> Pool:
    """The pool of one index over all documents: each arm's best `depth` over all pools. Pools must not share documents."""
    ids = [name for pool in pools for name in pool.ids]
    arms = [np.concatenate([getattr(pool, arm) for pool in pools]) for arm in ("keyword", "semantic", "exact")]
    keyword = arms[0]
    by_id = np.argsort(np.array(ids))
    kept: set[int] = set()
    for scores, floor in zip(arms, (0.0, -2.0, 0.0), strict=True):
        # A missing cosine is NaN, which is above no floor.
        ordered = by_id[np.lexsort((-keyword[by_id], -scores[by_id]))]
        kept.update([row for row in ordered.tolist() if scores[row] > floor][:depth])
    rows = sorted(kept)
    return Pool(tuple([ids[row] for row in rows]), *(scores[rows] for scores in arms))


def with_statistics(probe: Probe, parts: Iterable[FactIndex]) -> Probe:
    """The probe with the statistics of several indexes taken together, so that each scores as the whole would."""
    total = TermStatistics(0, 0.0)
    for part in parts:
        total += part.statistics(probe.terms)
    return replace(probe, statistics=total)


def _id_key(id: str) -> int:
    """The beginning of an id as a number of the same order; ids are hashes, so eight characters tell them apart."""
    return int.from_bytes(id.encode("utf-8", "surrogatepass")[:8].ljust(8, b"\0"), "big")
