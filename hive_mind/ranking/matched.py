"""What an inverted index finds for the terms of a query, and what of it is in the chosen candidates and in all others."""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hive_mind.model.scores import TermStatistics

Scores = NDArray[np.float32]
Positions = NDArray[np.int64]


class Matched(NamedTuple):
    """Keyword scores of every position, shape (size,), and the occurrences they are made of, term after term."""

    scores: Scores
    own: TermStatistics
    """Of the index, for the terms of the query."""
    terms: tuple[str, ...]
    """Those of the query that occur."""
    gains: Scores
    """What each of them can add at most."""
    counts: Sequence[int] = ()
    """How often each occurs. What follows has an entry for each occurrence; nothing where there are too many to look at each."""
    positions: Positions | None = None
    weights: Scores | None = None
    parts: Scores | None = None


class Among(NamedTuple):
    """Occurrences in chosen documents: how many of each term, in which document and with what weight. And in the others?"""

    counts: Sequence[int]
    rows: Positions
    weights: Scores
    left: Scores
    """What each term adds at most to one that was not chosen."""


def among(matched: Matched, chosen: Positions, is_chosen: NDArray[np.bool_]) -> Among:
    """What of it is in the documents at some ascending positions, which are also given as a mask."""
    positions, weights, parts = matched.positions, matched.weights, matched.parts
    if positions is None or weights is None or parts is None or not len(positions):
        none = np.empty(0, dtype=np.float32)
        return Among((), np.empty(0, dtype=np.int64), none, none)
    bounds = [0, *accumulate(matched.counts)]
    found = is_chosen[positions].nonzero()[0]
    counts = [after - before for before, after in pairwise(found.searchsorted(bounds).tolist())]
    left = parts.copy()
    left[found] = 0.0
    left = np.maximum.reduceat(left, bounds[:-1])
    return Among(counts, chosen.searchsorted(positions[found]), weights[found], left)
