"""Signals that a result looks right and is wrong: it has the words of the query and not its meaning.

Every signal is a figure in [0, 1] for each candidate, computed from what a search knows anyway, without labels. Measured on three
collections they were not made on (benchmarks/distraction.py), `disagreement`, document 000's signal, is right in 55 to 82 of 100
pairs of a distractor and a relevant result, `margin` in 60 to 91, `missing` in 62 to 80. The score by which results are ranked is
as good as any of them, so they say which results to look at twice, and are no reason to hide one unasked.
"""

from collections.abc import Container, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

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
