"""One incremental index: searched by an agent's memory and by a hive's replica.

Adding a document makes it findable at once. `pool` returns candidates with raw scores and never ranks; `merge` makes one pool of
those of several indexes (shards, or current and superseded facts). An index keeps the places of what was taken out and a search
passes over all of them, so one that changes much stands in a `Compacting`.
"""

import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from hive_mind.model.gathered import Anchors, Occurrences, Pool, Probe
from hive_mind.model.query import TermStatistics
from hive_mind.ranking.form import OWN_WEIGHT_MIN, Terms
from hive_mind.ranking.inverted import Bm25Index, Bm25Settings, Matched
from hive_mind.ranking.merge import NO_COSINE, NO_MATCH, total
from hive_mind.ranking.vector import Choosing, Narrow, Scanning, Vector, VectorArm, floor_of_best, nearest
from hive_mind.ranking.within import Within

Positions = NDArray[np.int64]
Scores = NDArray[np.float32]
Accept = Callable[[str], bool]

# Among fewer for each hit, comparing in full costs less than finding out which to compare.
_CHOOSING_PER_HIT = 15
# An index is sparse with more empty places than this and some for each document.
_EMPTY_PLACES_MIN = 256
_NO_KEYS = np.empty(0, dtype=np.uint64)
_NO_POSITIONS = np.empty(0, dtype=np.int64)


class FactIndex:
    """Documents by id, searchable by terms and by vector."""

    def __init__(self, vectors: VectorArm | None = None, bm25: Bm25Settings | None = None) -> None:
        self._keywords = Bm25Index(bm25)
        self._vectors = vectors
        self._scanning: Scanning | None = vectors if isinstance(vectors, Scanning) else None
        self._choosing: Choosing | None = vectors if isinstance(vectors, Choosing) else None
        self._ids: list[str] = []
        self._positions: dict[str, int] = {}
        self._id_keys = array("Q")

    def __len__(self) -> int:
        return len(self._positions)

    def __contains__(self, id: str) -> bool:
        return id in self._positions

    def __iter__(self) -> Iterator[str]:
        """The ids, in the order in which they came."""
        return iter(self._positions)

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

    def add_all(self, ids: Sequence[str], terms: Terms) -> None:
        """Make many findable by words."""
        if not self._positions.keys().isdisjoint(ids):
            raise ValueError("one of these is in the index already")
        first = len(self._ids)
        self._keywords.add_all(terms)
        self._positions.update(zip(ids, range(first, first + len(ids)), strict=True))
        self._ids += ids
        self._id_keys.extend(map(_id_key, ids))

    def everything(self) -> tuple[list[str], Terms]:
        """The ids of all documents, and their terms as `add_all` takes them."""
        positions, terms = self._keywords.everything()
        return [self._ids[position] for position in positions.tolist()], terms

    def reserve(self, vectors: int) -> None:
        """Reserve room for a number of vectors, and some more, at once."""
        if self._vectors is not None:
            self._vectors.reserve(vectors * 5 // 4)

    def set_vector(self, id: str, vector: Vector) -> None:
        if self._vectors is not None:
            self._vectors.add(self._positions[id], vector)

    def set_vectors(self, vectors: Mapping[str, Narrow]) -> None:
        """Give many documents their vectors, by id in the order in which the documents came."""
        if vectors and self._vectors is not None:
            positions = np.fromiter(map(self._positions.__getitem__, vectors), np.int64, len(vectors))
            self._vectors.add_all(positions, np.stack(list(vectors.values())))

    def vector(self, id: str) -> Vector | None:
        """A document's vector, or None."""
        return None if self._vectors is None else self._vectors.vector(self._positions[id])

    @property
    def vectors_missing(self) -> int:
        """How many documents have none."""
        return len(self) - (0 if self._vectors is None else len(self._vectors))

    def remove(self, id: str, terms: Iterable[str]) -> None:
        """Take a document out at once; `terms` are those it was added with. One that is not there is fine."""
        if (position := self._positions.pop(id, None)) is None:
            return
        self._keywords.remove(position, terms)
        if self._vectors is not None:
            self._vectors.remove(position)

    def statistics(self, terms: Iterable[str]) -> TermStatistics:
        """Statistics that a coordinator adds up over shards."""
        return self._keywords.statistics(terms)

    def position(self, id: str) -> int:
        """Where a document lies: a dense number, given in the order in which documents came, and never to another."""
        return self._positions[id]

    def pool(self, probe: Probe, accept: Accept | None = None) -> Pool:
        """Every document among the best `depth` of an arm that `accept` lets through, with all its raw scores, in no order."""
        return self.candidates(self.scored(probe), probe.depth, accept)[0]

    def found(self, probe: Probe, accept: Accept | None = None) -> tuple[Pool, Positions]:
        """The same, and the position of each candidate: for callers that keep something beside the index."""
        return self.candidates(self.scored(probe), probe.depth, accept)

    def pool_with_words(self, probe: Probe, accept: Accept | None = None) -> tuple[Pool, Positions, Occurrences | None]:
        """The same, and the parts of the keyword scores, if there are any: for callers that know more of the hive."""
        scored = self.scored(probe)
        pool, chosen = self.candidates(scored, probe.depth, accept)
        if scored.matched is None:
            return pool, chosen, None
        return pool, chosen, self._keywords.occurrences(probe.terms, scored.matched, chosen)

    def scored(self, probe: Probe, part: Within | None = None) -> "Scored":
        """The raw scores of everything, or of what lies in a part: the rest costs nothing and counts for nothing."""
        if part is not None:
            return self._scored_within(probe, part)
        matched = self._keywords.matched(probe.terms, probe.statistics, probe.beside)
        nearest = None
        if self._vectors is not None and probe.vector is not None:
            scanned = self._scanning.scan(probe.vector, len(self._ids), probe.depth) if self._scanning else None
            nearest = _Nearest(self._vectors, probe.vector, len(self._ids), scanned)
        compared = len(self._positions) if nearest else 0
        exact = self._exact(probe.anchors) if probe.anchors.required else {}
        return Scored(bool(probe.terms), matched.scores, exact, nearest, compared, matched if probe.terms else None)

    def part(self, positions: Positions) -> Within:
        """The live documents at these positions, ascending, as a part to search alone."""
        return self._keywords.within(positions)

    def holders(self, term: str) -> Positions:
        return self._keywords.positions_with(term)

    def candidates(self, scored: "Scored", depth: int, accept: Accept | None = None) -> tuple[Pool, Positions]:
        """Every document among the best `depth` of an arm, and where it lies."""
        keyword, exact, nearest = scored.keyword, scored.exact, scored.nearest
        arms = [_Arm(nearest.top, nearest.every, NO_COSINE)] if nearest else []
        if scored.has_terms:
            arms.append(_Arm(lambda k: self._best_by_words(keyword, k), keyword, NO_MATCH))
        if exact:
            arms.append(_Arm(lambda k: self._best_by_name(exact, keyword, k)))
        is_chosen: NDArray[np.bool_] | None = None
        for arm in arms:
            is_best = arm.plainly_best(depth) if accept is None else None
            if is_best is None:
                is_best = np.zeros(len(self._ids), dtype=np.bool_)
                is_best[self._take(arm.top, depth, accept)] = True
            is_chosen = is_best if is_chosen is None else is_chosen | is_best
        chosen = _NO_POSITIONS if is_chosen is None else is_chosen.nonzero()[0]
        rows = chosen.tolist()
        if nearest:
            cosines = nearest.cosines(chosen)
        else:
            # Filled in place: `np.full` costs twice as much, and each member of a hive would pay that.
            cosines = np.empty(len(rows), dtype=np.float32)
            cosines.fill(np.nan)
        pool = Pool(
            ids=tuple([self._ids[row] for row in rows]),
            keyword=keyword[chosen],
            semantic=cosines,
            exact=np.array([exact.get(p, 0.0) for p in rows], np.float32) if exact else np.zeros(len(rows), np.float32),
        )
        return pool, chosen

    def _scored_within(self, probe: Probe, part: Within) -> "Scored":
        keyword = self._keywords.scores_within(probe.terms, part)
        exact = {position: share for position, share in self._exact(probe.anchors).items() if part.mask[position]}
        nearest = None
        if self._vectors is not None and probe.vector is not None:
            cosines = None
            if self._choosing is None or len(part.rows) <= _CHOOSING_PER_HIT * probe.depth:
                cosines = np.full(len(self._ids), np.nan, dtype=np.float32)
                cosines[part.rows] = self._vectors.cosines(probe.vector, part.rows)
            nearest = _Nearest(self._vectors, probe.vector, len(self._ids), cosines, part.rows)
        return Scored(bool(probe.terms), keyword, exact, nearest, len(part.rows) if nearest else 0)

    def _take(self, top: Callable[[int], Positions], depth: int, accept: Accept | None) -> Positions:
        """The best `depth` acceptable positions: asks an arm for more until enough pass."""
        count = depth
        while True:
            positions = top(count)
            passed = positions if accept is None else positions[[accept(self._ids[position]) for position in positions.tolist()]]
            if len(passed) >= depth or len(positions) < count:
                return passed[:depth]
            count *= 4

    def _best_by_words(self, keyword: Scores, k: int) -> Positions:
        """Ties by id, not by position: where a document lies must not decide whether it is found."""
        rows = np.flatnonzero(keyword)
        scores = keyword[rows]
        rows = rows[scores >= floor_of_best(scores, k)]
        return rows[np.lexsort((self._keys_at(rows), -keyword[rows]))[:k]]

    def _best_by_name(self, exact: Mapping[int, float], keyword: Scores, k: int) -> Positions:
        positions = np.array(list(exact), dtype=np.int64)
        shares = np.array(list(exact.values()), dtype=np.float32)
        return positions[np.lexsort((self._keys_at(positions), -keyword[positions], -shares))[:k]]

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


class _Documents(Protocol):
    """Ids in the order in which they came."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[str]: ...

    def __contains__(self, id: str, /) -> bool: ...


_Index = TypeVar("_Index", bound=_Documents)


class Compacting(Generic[_Index]):
    """An index, or what has one, that is rebuilt beside itself when it is sparse. `again` adds a document as it is in `current`.

    Adding and taking out is its owner's: to `current`, or to all of `sides` where it is rebuilt a few documents at a time.
    """

    def __init__(self, new: Callable[[], _Index], again: Callable[[_Index, str], None], empty_each: int = 1) -> None:
        """`empty_each`: how many empty places for each document are no reason to rebuild it."""
        self.current = new()
        self._new, self._again, self._empty_each = new, again, empty_each
        self._empty_places = 0
        self._next: _Index | None = None
        self._left: list[str] = []

    @property
    def sides(self) -> tuple[_Index, ...]:
        return (self.current,) if self._next is None else (self.current, self._next)

    def emptied(self) -> None:
        self._empty_places += 1

    def renew(self, documents_max: int = sys.maxsize) -> bool:
        """Rebuild it if it is sparse, or at most `documents_max` documents of it. Returns whether more are left."""
        if self._next is None:
            if self._empty_places <= self._empty_each * len(self.current) + _EMPTY_PLACES_MIN:
                return False
            self._next, self._left, self._empty_places = self._new(), list(self.current)[::-1], 0
        try:
            for _ in range(min(documents_max, len(self._left))):
                id = self._left.pop()
                # Some went meanwhile, and may have come again.
                if id in self.current and id not in self._next:
                    self._again(self._next, id)
        except BaseException:
            # A failed rebuild is given up, and `current` stays.
            self._next = None
            raise
        if not self._left:
            self.current, self._next = self._next, None
        return self._next is not None


@dataclass(frozen=True, slots=True)
class Scored:
    """The arms' scores of every position, before candidates are chosen: 0 or NaN where they have none."""

    has_terms: bool
    keyword: Scores
    exact: Mapping[int, float]
    nearest: "_Nearest | None"
    """The vector arm, where meaning is compared."""
    compared: int
    """How many the vector arm chose from."""
    matched: Matched | None = None
    """The parts of the keyword scores of everything."""

    @property
    def looked_at(self) -> int:
        """How many documents were looked at: those with a word of the query or, where meaning is compared, all that could be."""
        return self.compared or int(np.count_nonzero(self.keyword))


class _Arm(NamedTuple):
    """One way to find candidates: the positions of the k best, best first; the scores of all positions where they are known."""

    top: Callable[[int], Positions]
    scores: Scores | None = None
    floor: float = 0.0
    """A score counts only above it."""

    def plainly_best(self, k: int) -> NDArray[np.bool_] | None:
        """Which positions are the k best, in no order, if no ties have to be broken; else None.

        Sorting a hundred candidates of each small shard would cost more than finding them.
        """
        if self.scores is None:
            return None
        least = floor_of_best(self.scores, k)
        is_best = self.scores >= least if least > self.floor else self.scores > self.floor
        if (reached_count := np.count_nonzero(is_best)) > k:
            # The floor was a cheap one, or some are equal.
            reached = self.scores[is_best]
            reached.partition(reached_count - k)
            is_best = self.scores >= reached[reached_count - k]
            reached_count = np.count_nonzero(is_best)
        return is_best if reached_count <= k else None


class _Nearest:
    """The vector arm for one query; remembers the cosines it has seen, so that none is computed twice."""

    def __init__(
        self, vectors: VectorArm, query: Vector, size: int, scanned: Scores | None, among: Positions | None = None
    ) -> None:
        """`scanned` are the cosines of all positions, where they are known; `among` the only ones that may be chosen."""
        self._vectors, self._query, self._among = vectors, query, among
        self._has_all = scanned is not None
        self._seen = np.full(size, np.nan, dtype=np.float32) if scanned is None else scanned
        self.every = scanned if among is None and len(vectors) == size else None
        """The cosines of all positions, if each has one."""

    def top(self, k: int) -> Positions:
        if self._has_all:
            return nearest(self._seen, k)[0]
        if self._among is not None and isinstance(self._vectors, Choosing):
            positions, cosines = self._vectors.top_among(self._query, self._among, k)
        else:
            positions, cosines = self._vectors.top(self._query, k)
        self._seen[positions] = cosines
        return positions

    def cosines(self, positions: Positions) -> Scores:
        scores = self._seen[positions]
        if not self._has_all and len(unseen := np.flatnonzero(np.isnan(scores))):
            scores[unseen] = self._vectors.cosines(self._query, positions[unseen])
        return scores


def with_statistics(probe: Probe, parts: Iterable[FactIndex]) -> Probe:
    """The probe with the statistics of several indexes taken together, so that each scores as the whole would."""
    return replace(probe, statistics=total(part.statistics(probe.terms) for part in parts))


def _id_key(id: str) -> int:
    """The beginning of an id as a number of the same order; ids are hashes, so eight characters tell them apart."""
    return int.from_bytes(id.encode("utf-8", "surrogatepass")[:8].ljust(8, b"\0"), "big")
