"""Results that do not all say the same: maximal marginal relevance (Carbonell and Goldstein 1998).

Each place goes to the candidate with the best balance of its own relevance and its likeness to what was chosen before it.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

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
