"""Pools of several indexes into one: exactly the candidates that one index over everything would have given.

Each arm is cut globally on raw scores, so where a fact lies plays no part. A fact in two pools is one candidate: a fact that two
groups learned (`merge_found`), or one that two replicas of the same partitions returned (`merge_replicas`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hive_mind.model.probe import NOWHERE, PLACE, EvidenceColumns, Pool, Scores
from hive_mind.model.scores import TermStatistics

Rows = NDArray[np.int64]

# A candidate of an arm is above its floor: a keyword or an identifier matched, there is a cosine (NaN is above nothing).
NO_MATCH, NO_COSINE = 0.0, -2.0
_FLOORS = (("keyword", NO_MATCH), ("semantic", NO_COSINE), ("exact", NO_MATCH))
_FEWEST = np.float32(-np.inf)
_EVIDENCE = ("confirmations", "trust", "confidence")


@dataclass(frozen=True, slots=True)
class Merged:
    """Candidates of several pools, and for each the number of the (first) pool that gave it."""

    pool: Pool
    evidence: EvidenceColumns
    origins: Rows


def merge_pools(pools: Sequence[Pool], depth: int) -> Pool:
    """Each arm's best `depth` over all pools. A document in several pools is one candidate with the highest score of each arm."""
    together = _together(pools)
    rows = _best_of_arms(together.pool, depth)
    return _only(together.pool, rows)


def merge_found(pools: Sequence[Pool], evidence: Sequence[EvidenceColumns], depth: int) -> tuple[Pool, EvidenceColumns]:
    """The same with the evidence of each candidate.

    A fact found in two pools was learned twice: its shares of confirmation add up, at most to 1; the higher trust and confidence
    hold.
    """
    merged = merge_all(pools, evidence, depth)
    return merged.pool, merged.evidence


def merge_all(pools: Sequence[Pool], evidence: Sequence[EvidenceColumns], depth: int) -> Merged:
    """As `merge_found`, and which pool each candidate came from."""
    together = _together(pools)
    rows = _best_of_arms(together.pool, depth)
    numbers, size = together.numbers, len(together.pool)
    columns, places = [_column(evidence, name) for name in _EVIDENCE], _places(pools, evidence, numbers)
    if numbers is not None:
        confirmations = np.bincount(numbers, weights=columns[0], minlength=size)
        highest = [_highest(column, numbers, size) for column in columns[1:]]
        columns = [np.minimum(confirmations, 1.0).astype(np.float32), *highest]
    return Merged(_only(together.pool, rows), rows_of(_evidence(columns, places), rows), together.origins[rows])


def merge_replicas(pools: Sequence[Pool], evidence: Sequence[EvidenceColumns]) -> tuple[Pool, EvidenceColumns]:
    """Everything that replicas of one share returned. The same fact from two of them is the same evidence, so nothing adds up."""
    together = _together(pools)
    columns = [_column(evidence, name) for name in _EVIDENCE]
    if together.numbers is not None:
        columns = [_highest(column, together.numbers, len(together.pool)) for column in columns]
    return together.pool, _evidence(columns, _places(pools, evidence, together.numbers))


def union(pools: Sequence[Pool]) -> Pool:
    """All candidates of several pools, each once, with the highest score of each arm."""
    return _together(pools).pool


def rows_of(evidence: EvidenceColumns, rows: Rows | Sequence[int]) -> EvidenceColumns:
    columns: list[Scores] = [getattr(evidence, name)[rows] for name in _EVIDENCE]
    places = np.frombuffer(evidence.places, PLACE)[rows].tobytes() if evidence.places else b""
    return _evidence(columns, places)


@dataclass(frozen=True, slots=True)
class Rescored:
    """Bounds of the candidates left out by several pools, where their keyword scores were made anew by other statistics."""

    most: NDArray[np.float64]
    """The highest keyword score it can have; 0 where nothing was left out that matters. Shape (pools,)."""
    named: Sequence[int]
    """For how many each was asked that name an identifier: of these the best by words were chosen, by the former scores."""


def may_have_more(pools: Sequence[Pool], depths: Sequence[int], depth: int, rescored: Rescored | None = None) -> list[int]:
    """Numbers of the pools that may have left out candidates of the merged pool; `asked` are the depths asked for, per arm.

    Those are the pools of which, in some arm, that many are among the best `depth`: candidates they left out are no better than
    the last of these, and may be better than the others' candidates.
    """
    together = _together(pools)
    origins = np.repeat(np.arange(len(pools)), [len(pool) for pool in pools])
    has_more = np.zeros(len(pools), dtype=np.bool_)
    for name, floor in _FLOORS:
        scores: Scores = getattr(together.pool, name)
        score = scores[scores > floor]
        cut = _cut(score, depth)
        if rescored is not None and name == "keyword":
            # Written so that NaN counts as high.
            has_more |= (rescored.most != 0.0) & ~(rescored.most < (0.0 if cut is None else cut))
        elif len(score):
            column = scores if together.numbers is None else _column(pools, name)
            # Of equals at the cut another may be preferred.
            is_among = column > floor if cut is None else column >= cut
            least = rescored.named if rescored is not None and name == "exact" else depths
            has_more |= np.bincount(origins[is_among], minlength=len(pools)) >= np.array(least)
    numbers: list[int] = has_more.nonzero()[0].tolist()
    return numbers


def _cut(scores: Scores, depth: int) -> np.float32 | None:
    """The score a candidate must reach to be among the best `depth`; None where there are no more than these. Reorders them."""
    if (beyond := len(scores) - depth) <= 0:
        return None
    scores.partition(beyond)
    cut: np.float32 = scores[beyond]
    return cut


def total(statistics: Iterable[TermStatistics]) -> TermStatistics:
    """Statistics of disjoint corpora taken together."""
    documents, length, squares, frequency = 0, 0.0, 0.0, dict[str, int]()
    for statistic in statistics:
        documents += statistic.documents
        length += statistic.total_length
        squares += statistic.total_squares
        for term, count in statistic.document_frequency.items():
            frequency[term] = frequency.get(term, 0) + count
    return TermStatistics(documents, length, frequency, squares)


class _Together(NamedTuple):
    """All candidates, each once. `numbers` says which candidate each row that was given is; None: no id is there twice."""

    pool: Pool
    origins: Rows
    numbers: Rows | None


def _together(pools: Sequence[Pool]) -> _Together:
    ids = tuple(chain.from_iterable([pool.ids for pool in pools]))
    keyword, semantic, exact = (_column(pools, name) for name in ("keyword", "semantic", "exact"))
    origins = np.repeat(np.arange(len(pools)), [len(pool) for pool in pools])
    first = dict.fromkeys(ids)
    if len(first) == len(ids):
        return _Together(Pool(ids, keyword, semantic, exact), origins, None)
    number_of = {name: number for number, name in enumerate(first)}
    numbers = np.array([number_of[name] for name in ids], dtype=np.int64)
    size = len(number_of)
    arms = [_highest(scores, numbers, size) for scores in (keyword, semantic, exact)]
    firsts = np.full(size, len(pools), dtype=np.int64)
    np.minimum.at(firsts, numbers, origins)
    return _Together(Pool(tuple(number_of), *arms), firsts, numbers)


def _column(parts: Sequence[Pool] | Sequence[EvidenceColumns], name: str) -> Scores:
    columns: list[Scores] = [getattr(part, name) for part in parts]
    return np.concatenate(columns) if columns else np.empty(0, dtype=np.float32)


def _evidence(columns: Sequence[Scores], places: bytes) -> EvidenceColumns:
    confirmations, trust, confidence = columns
    return EvidenceColumns(confirmations, trust, confidence, places)


def _places(pools: Sequence[Pool], evidence: Sequence[EvidenceColumns], numbers: Rows | None) -> bytes:
    """Where each candidate was said. Of one that was learned twice, in whichever place has the higher key: the same for all."""
    if not any(columns.places for columns in evidence):
        return b""
    packed_places = b"".join([columns.places or NOWHERE * len(pool) for columns, pool in zip(evidence, pools, strict=True)])
    if numbers is None:
        return packed_places
    places = np.frombuffer(packed_places, PLACE)
    order = np.lexsort((places["before"], places["session"]))
    first = np.zeros(numbers.max() + 1, PLACE)
    first[numbers[order]] = places[order]
    return first.tobytes()


def _highest(scores: Scores, numbers: Rows, size: int) -> Scores:
    """The highest score of each candidate; NaN only where it has none at all."""
    highest = np.full(size, _FEWEST, dtype=np.float32)
    np.fmax.at(highest, numbers, scores)
    # NaN against -inf leaves -inf.
    highest[highest == _FEWEST] = np.nan
    return highest


def _best_of_arms(pool: Pool, depth: int) -> Rows:
    """Rows among the best `depth` of an arm, ascending."""
    is_kept = np.zeros(len(pool), dtype=np.bool_)
    for name, floor in _FLOORS:
        is_kept[_best(getattr(pool, name), floor, pool, depth)] = True
    return np.flatnonzero(is_kept)


def _best(scores: Scores, floor: float, pool: Pool, depth: int) -> Rows:
    """The best `depth` rows above the floor, in no order. Of equals at the cut the better by keywords, then by id."""
    rows = np.flatnonzero(scores > floor)
    if len(rows) <= depth:
        return rows
    score = scores[rows]
    cut = np.partition(score, len(rows) - depth)[len(rows) - depth]
    above, equal = rows[score > cut], rows[score == cut]
    places = depth - len(above)
    if len(equal) > places:
        numbers = equal.tolist()
        by_id = sorted(zip((-pool.keyword[equal]).tolist(), [pool.ids[row] for row in numbers], numbers, strict=True))
        equal = np.array([row for _, _, row in by_id[:places]], dtype=np.int64)
    return np.concatenate([above, equal])


def _only(pool: Pool, rows: Rows) -> Pool:
    ids = tuple([pool.ids[row] for row in rows.tolist()])
    return Pool(ids, pool.keyword[rows], pool.semantic[rows], pool.exact[rows])
