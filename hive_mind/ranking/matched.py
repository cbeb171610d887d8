"""What an inverted index finds for the terms of a query, and what of it is in the chosen candidates."""

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
    counts: Sequence[int] = ()
    """How often each occurs. What follows has an entry for each occurrence; nothing where there are too many to look at each."""
    positions: Positions | None = None
    weights: Scores | None = None


class Among(NamedTuple):
    """Occurrences in chosen documents: how many of each term, in which of the documents, and with what weight."""

    counts: Sequence[int]
    rows: Positions
    weights: Scores


def among(matched: Matched, chosen: Positions) -> Among:
    """What of it is in the documents at some ascending positions."""
    positions, weights = matched.positions, matched.weights
    if positions is None or weights is None:
        raise ValueError("there are too many occurrences to look at each")
    is_chosen = np.zeros(len(matched.scores), dtype=np.bool_)
    is_chosen[chosen] = True
    found = is_chosen[positions].nonzero()[0]
    counts = [after - before for before, after in pairwise(found.searchsorted([0, *accumulate(matched.counts)]).tolist())]
    return Among(counts, chosen.searchsorted(positions[found]), weights[found])
