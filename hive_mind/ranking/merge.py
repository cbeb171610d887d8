"""Pools of several indexes into one: exactly the candidates that one index over everything would have given.

Each arm is cut globally on raw scores, so where a fact lies plays no part. A fact in two pools is one candidate: a fact that two
groups learned (`merge_found`), or one that two replicas of the same partitions returned (`merge_replicas`).

Keyword scores by the statistics of a whole hive are made anew here, for candidates that members found by their own: a term is
worth as much as it is rare, and its rarity in the hive is unknown before all have answered. So each member sends the parts of its
scores (`Occurrences`), and by the same operations in the same order they are, to the last bit, as if every member had known. A
candidate that a member left out scored no more than the last that it gave, and has no term of which it gave every occurrence. Its
highest score by other statistics is a fractional knapsack (Dantzig 1957): the terms that gain most by the change are filled up
first.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hive_mind.model.gathered import NOWHERE, PLACE, EvidenceColumns, Occurrences, Pool, Scores
from hive_mind.model.query import TermStatistics
from hive_mind.ranking.inverted import gains_of, mean_length, parts_of, rarities_of, settings_for

_ROUNDING = 1.0001
"""Scores are float32: their rounding is a thousand times less."""
_LEAST_GAIN, _LEAST_COST = 1e-12, 1e-9
"""No honest statistics make a term worth less, or a word of a document cost less where it costs anything."""


def rescored(pools: Sequence[Occurrences], asked: Mapping[str, float], together: TermStatistics) -> Scores:
    """BM25 of the candidates of several pools, one pool after the other, by the statistics of all.

    `asked` are the query's terms with their weights (`bm25.asked_for`). The pools are of indexes with the default settings, as
    every replica's is.
    """
    settings = settings_for(together)
    lengths = np.concatenate([pool.lengths for pool in pools])
    starts = np.cumsum([0, *(len(occurrences.lengths) for occurrences in pools[:-1])])
    counts = np.array([occurrences.counts for occurrences in pools], dtype=np.int64).reshape(len(pools), len(asked))
    # Grams of a question are many, and most hives have none of them.
    occur = [any(column) for column in counts.T.tolist()]
    counts, asked = counts[:, occur], dict(compress(asked.items(), occur))
    rows = np.frombuffer(b"".join([occurrences.rows for occurrences in pools]), dtype="<u2") + starts.repeat(counts.sum(axis=1))
    gains = np.tile(gains_of(asked, together, settings), len(pools)).repeat(counts.ravel())
    weights = np.concatenate([occurrences.weights for occurrences in pools])
    parts = parts_of(lengths[rows], weights, gains, mean_length(together), settings)
    return np.bincount(rows, parts, minlength=len(lengths)).astype(np.float32)


def left_out(scores: Scores, depth: int) -> float:
    """Highest score of the candidates left out, where these are the best `depth`, and others: none were, if there are fewer."""
    if len(scores) < depth:
        return 0.0
    return float(np.minimum.reduce(scores) if len(scores) == depth else np.partition(scores, -depth)[-depth])


def most_left(
    pools: Sequence[Occurrences],
    left: Sequence[float],
    scored_by: Sequence[TermStatistics],
    weights: Mapping[str, float],
    together: TermStatistics,
) -> NDArray[np.float64]:
    """Highest score, by the statistics of all, of a document that each of several pools left out; shape (pools,).

    `left` is its highest score by those of each pool.
    """
    # A lying member's figures may overflow. A bound that is not a number only makes its member be asked again.
    with np.errstate(over="ignore", invalid="ignore"):
        return _most_left(pools, np.array(left, dtype=np.float64), scored_by, weights, together)


def _most_left(
    pools: Sequence[Occurrences],
    left: NDArray[np.float64],
    scored_by: Sequence[TermStatistics],
    weights: Mapping[str, float],
    together: TermStatistics,
) -> NDArray[np.float64]:
    present = frozenset[str]().union(*[pool.statistics.document_frequency for pool in pools])
    is_given = _all_given(pools, list(weights), present)
    weights = {term: weight for term, weight in weights.items() if term in present}
    rarities = rarities_of([together, *scored_by], list(weights)) * np.array(list(weights.values()))
    grows = rarities[0] / np.maximum(rarities[1:], _LEAST_GAIN)
    order = np.argsort(-grows, axis=1)
    costs = np.array([_costs(statistics) for statistics in (together, *scored_by)])
    # Of a document that costs less by the statistics of all, every term is worth more, by so much at most.
    lighter = np.maximum((costs[1:, 1:] / np.maximum(costs[0, 1:], _LEAST_COST)).max(axis=1), 1.0)
    # Nor can it be worth more than what its occurrences can reach.
    reached = rarities[1:] * (costs[1:, :1] / lighter[:, None])
    caps = np.where(is_given, 0.0, reached)
    filled = np.minimum(np.take_along_axis(caps, order, axis=1).cumsum(axis=1), left[:, None])
    shares = np.diff(filled, axis=1, prepend=0.0)
    factors = lighter * costs[0, 0] / costs[1:, 0] * _ROUNDING
    most: NDArray[np.float64] = (shares * np.take_along_axis(grows, order, axis=1)).sum(axis=1) * factors
    return most


def _costs(statistics: TermStatistics) -> tuple[float, float, float]:
    """The most an occurrence can reach, as a multiple of its rarity; what a document costs, and each term of it."""
    settings = settings_for(statistics)
    saturation, weight = settings.saturation, settings.length_weight
    return saturation + 1.0, saturation * (1.0 - weight), saturation * weight / max(mean_length(statistics), _LEAST_COST)


def _all_given(pools: Sequence[Occurrences], terms: Sequence[str], present: Container[str]) -> NDArray[np.bool_]:
    """Of which of the terms that are present every document that has them is in the pool; shape (pools, terms present)."""
    counts = np.array([occurrences.counts for occurrences in pools], dtype=np.int64).reshape(len(pools), len(terms))
    are_present = [term in present for term in terms]
    terms_present = list(compress(terms, are_present))
    frequencies = np.array([[pool.statistics.document_frequency.get(term, 0) for term in terms_present] for pool in pools])
    counts = counts[:, are_present]
    return counts >= frequencies.reshape(counts.shape)


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
