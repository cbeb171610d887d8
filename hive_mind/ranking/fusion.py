"""Several rankings into one. Pure functions over the arms' results; the finder and the place play no part.

`balanced` is the default: both arms as shares of the query's best, and meaning counts as far as it tells texts apart. It needs no
minimum of a pool, so adding a weak candidate never moves the others. By name there are the plain sum, `linear`, and reciprocal
rank fusion (Cormack et al. 2009): `reciprocal` of the two arms, `rrf_merge` of any lists. Ranks mean something only over
everything: fuse where all raw scores came together.
"""

from collections.abc import Hashable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Item = TypeVar("Item", bound=Hashable)
Scores = NDArray[np.float32]

RRF_K = 60

CONFIRMATIONS_FULL = 5
"""This many further sources count as complete confirmation."""
TRUST_MAX = 2.0
"""Upper end of an agent's trust."""

_COSINE_OF_BEST = 0.75
"""The best by meaning counts as this cosine, which it has where a model reads the texts well."""
_TELLS_APART, _CONTRAST_FULL, _CONTRAST_LEAST = 10, 0.15, 0.1
"""Meaning counts in full where the tenth best is this share behind the best, and where that is little, never less than the last
(docs/adr/0003-ranking.md)."""
_ROUNDED_TO_NONE = 1e-6
"""A cosine of no more than this is what adding up in single precision leaves of none."""
_CONTRAST_OF_WORDS, _SHARE_OF_WORDS = 0.5, 0.25
"""Where meaning tells texts apart more than by this share of how words do, it takes over this share of the weight of words."""

SEMANTIC_WEIGHT = 0.5
CONFIRMATION_WEIGHT = 0.3
TRUST_WEIGHT = 0.2


def linear(keyword: Scores, semantic: Scores, semantic_weight: float) -> tuple[Scores, Scores]:
    """Each arm's contribution, both in [0, 1] and together at most 1: (keyword part, semantic part).

    `keyword` is raw BM25 and holds the query's best over the whole hive; `semantic` is cosine, NaN where a fact has no vector,
    which then contributes nothing. Shapes (candidates,).
    """
    keyword_best = keyword.max(initial=0.0)
    share = keyword / keyword_best if keyword_best > 0 else np.zeros_like(keyword)
    # fmax takes the number where the other is NaN.
    cosine = np.minimum(np.fmax(semantic, np.float32(0.0)), np.float32(1.0))
    return np.float32(1.0 - semantic_weight) * share, np.float32(semantic_weight) * cosine


def balanced(keyword: Scores, semantic: Scores, semantic_weight: float) -> tuple[Scores, Scores]:
    """As `linear`, with the cosine as a share of the query's best, and less of it where the tenth best is nearly as good.

    A model that doesn't read code gives lower cosines there, and texts that are all of one kind all have high ones. It counts
    more where words tell hardly more, as where no text has the words of the question.
    """
    cosine = np.fmax(semantic, np.float32(0.0))
    best = float(cosine.max(initial=0.0))
    if best <= _ROUNDED_TO_NONE or semantic_weight >= 1.0:
        return linear(keyword, semantic, semantic_weight)
    contrast = _contrast(cosine)
    weight = semantic_weight * min(1.0, max(_CONTRAST_LEAST, contrast / _CONTRAST_FULL))
    tells_much = contrast > max(_CONTRAST_FULL, _CONTRAST_OF_WORDS * _contrast(keyword))
    if tells_much and weight > 0.0 and len(cosine) >= _TELLS_APART:
        weight += _SHARE_OF_WORDS * (1.0 - weight)
    return linear(keyword, cosine * np.float32(_COSINE_OF_BEST / best), weight)


def _contrast(scores: Scores) -> float:
    """How far the tenth best is behind the best, as a share of that."""
    best = float(scores.max(initial=0.0))
    if best <= 0.0 or len(scores) < _TELLS_APART:
        return 1.0
    return 1.0 + float(np.partition(-scores, _TELLS_APART - 1)[_TELLS_APART - 1]) / best


def reciprocal(
    keyword: Scores, semantic: Scores, ids: Sequence[str], depth: int, k: int = RRF_K
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Each arm's contribution by rank alone, scaled so that first in both is 1: (keyword part, semantic part).

    An arm ranks its best `depth`; beyond, a pool does not know the other candidates. No match and no vector is no rank; ties by
    id.
    """
    order = np.empty(len(ids), dtype=np.int64)
    order[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids))
    keyword_part = _by_rank(keyword, np.flatnonzero(keyword > 0), order, depth, k)
    return keyword_part, _by_rank(semantic, np.flatnonzero(~np.isnan(semantic)), order, depth, k)


def _by_rank(scores: Scores, rows: NDArray[np.intp], order: NDArray[np.int64], depth: int, k: int) -> NDArray[np.float64]:
    ranked = rows[np.lexsort((order[rows], -scores[rows]))][:depth]
    part = np.zeros(len(scores))
    part[ranked] = (k + 1) / (2.0 * (k + np.arange(1, len(ranked) + 1)))
    return part


def rrf_merge(rankings: Sequence[Sequence[Item]], k: int = RRF_K) -> list[tuple[Item, float]]:
    """Reciprocal rank fusion: Σ 1 / (k + rank), ranks from 1, best first; a list that lacks an item adds nothing.

    Ties keep the order in which items were first seen.
    """
    scores: dict[Item, float] = {}
    for ranking in rankings:
        for rank, item in enumerate(dict.fromkeys(ranking), start=1):
            scores[item] = scores.get(item, 0.0) + 1.0 / (k + rank)
    return sorted(scores.items(), key=lambda scored: -scored[1])


def confirmation_share(confirmations: float) -> float:
    """Confirmations as a figure in [0, 1]."""
    return min(max(confirmations, 0), CONFIRMATIONS_FULL) / CONFIRMATIONS_FULL


def trust_share(trust: float) -> float:
    """Trust in [0, 2] as a figure in [0, 1]."""
    return min(max(trust, 0.0), TRUST_MAX) / TRUST_MAX


def hybrid_score_weighted(
    semantic_similarity: float,
    confirmation_count: int,
    source_trust: float,
    *,
    semantic_weight: float = SEMANTIC_WEIGHT,
    confirmation_weight: float = CONFIRMATION_WEIGHT,
    trust_weight: float = TRUST_WEIGHT,
) -> float:
    """The formula of document 004: 0.5 · similarity + 0.3 · confirmations (five are full) + 0.2 · trust (2.0 is full)."""
    return (
        semantic_weight * semantic_similarity
        + confirmation_weight * confirmation_share(confirmation_count)
        + trust_weight * trust_share(source_trust)
    )
