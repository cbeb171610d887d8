"""Signals that a result looks right and is wrong: it has the words of the query and not its meaning.

Every signal is a figure in [0, 1] for each candidate, computed from what a search knows anyway, without labels. Measured on three
collections they were not made on (benchmarks/distraction.py), `disagreement`, document 000's signal, is right in 55 to 82 of 100
pairs of a distractor and a relevant result, `margin` in 60 to 91, `missing` in 62 to 80. The score by which results are ranked is
as good as any of them, so they say which results to look at twice, and are no reason to hide one unasked.

Beside them stand two ways to choose among results. A ranking ends before the cliff (`cut`), where the next result is dramatically
worse than the trend so far (document 000): gaps are compared with gaps and never scores with scores, so it works for scores
squeezed into a narrow band, too. And results that do not all say the same are found by maximal marginal relevance (`diversified`;
Carbonell and Goldstein 1998): each place goes to the best balance of relevance and likeness to what was chosen before.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Below this part of the best score a difference is the last bits of a sum: neither a cliff nor a trend.
_NOTHING = 1e-12


@dataclass(frozen=True, slots=True)
class Cut:
    """How many results are kept. `gap` and `mean_gap`, the trend before it, are those of the cliff; both 0 without one."""

    kept: int
    gap: float = 0.0
    mean_gap: float = 0.0

    @property
    def is_cliff(self) -> bool:
        """Whether it ends at a cliff rather than at the most that was wanted, or at the end."""
        return self.gap > 0.0

    @property
    def times(self) -> float:
        """The gap as a multiple of the mean before it; 0 without a cliff."""
        return self.gap / self.mean_gap if self.is_cliff else 0.0


def cut(scores: Sequence[float], factor: float = 3.0, min_results: int = 1, max_results: int = 10) -> Cut:
    """Where to end a ranking with these scores, best first.

    It ends before the first result, after at least `min_results`, with a gap to the one before it above `factor` times the mean
    of the gaps before that one. Equal scores leave no gap: they neither begin a trend nor weaken it, and the first gap that there
    is has nothing to be compared with.
    """
    gaps: list[float] = []
    for count in range(1, min(len(scores), max_results)):
        gap = scores[count - 1] - scores[count]
        if gap <= _NOTHING * abs(scores[0]):
            continue
        if gaps and count >= min_results and gap > factor * (mean := sum(gaps) / len(gaps)):
            return Cut(count, gap, mean)
        gaps.append(gap)
    return Cut(min(len(scores), max_results))


Likeness = Callable[[int], NDArray[np.float32]]
"""How like a candidate (by its number) all candidates are, each in [-1, 1]."""


def diversified(relevance: Sequence[float], likeness: Likeness, count: int, share: float = 0.7) -> list[int]:
    """Numbers of the `count` candidates to show, in order. `share` is lambda: 1 by relevance alone, 0 by difference alone.

    Relevance is compared as a share of the best, so that one lambda suits any scale of scores. Ties keep the given order.
    """
    best = max(relevance, default=0.0)
    gains = np.array(relevance, np.float64) / best if best > 0 else np.zeros(len(relevance))
    nearest = np.full(len(relevance), -np.inf)
    are_left = np.ones(len(relevance), np.bool_)
    chosen: list[int] = []
    while len(chosen) < min(count, len(relevance)):
        worth = share * gains - (1.0 - share) * np.maximum(nearest, 0.0)
        number = int(np.argmax(np.where(are_left, worth, -np.inf)))
        chosen.append(number)
        are_left[number] = False
        nearest = np.maximum(nearest, likeness(number))
    return chosen


def likeness_of_vectors(vectors: NDArray[np.float32]) -> Likeness:
    """By cosine of unit rows, shape (candidates, dimension); a row with NaN or zeros is like nothing."""
    finite = np.nan_to_num(vectors)
    return lambda number: np.vecdot(finite, finite[number])


def likeness_of_terms(terms: Sequence[frozenset[str]]) -> Likeness:
    """By the share of words two texts have in common, for where there are no vectors."""

    def of(number: int) -> NDArray[np.float32]:
        own_terms = terms[number]
        return np.array([len(own_terms & term) / max(len(own_terms | term), 1) for term in terms], np.float32)

    return of


Scores = NDArray[np.float32]
Signal = NDArray[np.float64]


def disagreement(keyword: Scores, semantic: Scores, ids: Sequence[str], depth: int) -> Signal:
    """Document 000's: |rank by words − rank by meaning| / the larger of the two.

    An arm ranks its best `depth` (a BM25 of 0 and a missing cosine have no rank); any other candidate has its length + 1 there.
    An arm without results says nothing about any candidate, so nothing disagrees with it.
    """
    by_words, by_meaning = ranks(keyword, ids, depth, 0.0), ranks(semantic, ids, depth, -2.0)
    if not by_words.any() or not by_meaning.any():
        return np.zeros(len(ids))
    by_words = np.where(by_words == 0, by_words.max(initial=0) + 1, by_words)
    by_meaning = np.where(by_meaning == 0, by_meaning.max(initial=0) + 1, by_meaning)
    signal: Signal = np.abs(by_words - by_meaning) / np.maximum(by_words, by_meaning).clip(1)
    return signal


def ranks(scores: Scores, ids: Sequence[str], depth: int, floor: float) -> NDArray[np.int64]:
    """Each candidate's rank in an arm, from 1; 0 outside of its best `depth` or at or below the floor. Ties by id."""
    rows = np.flatnonzero(scores > floor).tolist()
    values = (-scores).tolist()
    rows.sort(key=lambda row: (values[row], ids[row]))
    ranked = np.zeros(len(scores), np.int64)
    ranked[rows[:depth]] = np.arange(1, len(rows[:depth]) + 1)
    return ranked


def margin(keyword: Scores, semantic: Scores) -> Signal:
    """How far the meaning stays behind the query's best (1 − cosine / best cosine), doubled, as candidates seldom differ by more
    than half, and weighed with how much the words promise: with half of the best BM25 or more, meaning alone decides.
    """
    words = keyword / max(float(keyword.max(initial=0.0)), 1e-9)
    cosine = np.clip(np.nan_to_num(semantic), 0.0, 1.0)
    meaning = cosine / max(float(cosine.max(initial=0.0)), 1e-9)
    signal: Signal = np.minimum(2.0 * (1.0 - meaning), 1.0).astype(np.float64) * np.minimum(2.0 * words, 1.0)
    return signal


def missing(query_terms: Sequence[str], idf: Mapping[str, float], documents: Sequence[Container[str]]) -> Signal:
    """Share of the query's content, each word weighed by its rarity, that a document does not have."""
    weights = {term: idf.get(term, 0.0) for term in dict.fromkeys(query_terms)}
    total = sum(weights.values())
    if total <= 0:
        return np.zeros(len(documents))
    return np.array([1.0 - sum(w for term, w in weights.items() if term in document) / total for document in documents])
