"""Keyword scores by the statistics of a whole hive, for candidates its members found by their own.

A term is worth as much as it is rare, and its rarity in the hive is unknown before all have answered. So each member chooses
candidates by its own statistics and sends the parts of their BM25 scores (`Occurrences`). Here they are made anew, by the same
operations in the same order, hence to the last bit as if every member had known. A candidate a member left out scored no more
than the last that it gave, and has no term of which it gave every occurrence. Its highest score by other statistics is a
fractional knapsack (Dantzig 1957): the terms that gain most by the change are filled up first.
"""

from collections.abc import Container, Mapping, Sequence
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from hive_mind.model.probe import Occurrences, Scores
from hive_mind.model.scores import TermStatistics
from hive_mind.ranking.bm25 import gains_of, mean_length, parts_of, rarities_of, settings_for

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
