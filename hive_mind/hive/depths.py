"""How many candidates each replica set is asked for at first, and which must be asked for more.

Of the best hundred of a hive, one of fifty sets has two or three. To ask each of them for a hundred, so that none can be missed,
is to have fifty times as many found, sent and checked as are of use. So each is asked for as many as it can be expected to have,
with room for chance; whoever has given all that it was asked for, and none of them too weak for the merged pool, may have more
such and is asked for all of them. What comes of it is the same pool, to the last candidate.
"""

from collections.abc import Mapping, Sequence
from math import ceil, sqrt

from hive_mind.model.scores import TermStatistics
from hive_mind.ranking.bm25 import inverse_document_frequency

_DEVIATIONS = 4.0
"""Of a Poisson distribution, whose variance is its mean: where facts are dealt by chance, one set in 30,000 has more."""
_LEAST = 4.0


def first_depth(depth: int, share: float) -> int:
    """Candidates to ask a set for that is expected to have this share of the best `depth`; all where little would be saved."""
    expected = depth * min(share, 1.0)
    wanted = ceil(expected + _DEVIATIONS * sqrt(expected) + _LEAST)
    return wanted if 2 * wanted <= depth else depth


def first_depths(depth: int, names: Sequence[str], counted: Mapping[str, TermStatistics]) -> dict[str, int]:
    """By replica set. Where the words of a question are common, there more of what it asks for is expected.

    No set is thought to have less than its equal part: meaning is not counted, and words can mislead.
    """
    equal = 1 / len(names) if names else 1.0
    shares = _shares(counted)
    return {name: first_depth(depth, max(equal, shares.get(name, 0.0))) for name in names}


def _shares(counted: Mapping[str, TermStatistics]) -> dict[str, float]:
    """Of all occurrences of the words, each as much as it tells (BM25's idf), what part each set has."""
    documents = sum(one.documents for one in counted.values())
    frequencies: dict[str, int] = {}
    for one in counted.values():
        for term, count in one.document_frequency.items():
            frequencies[term] = frequencies.get(term, 0) + count
    idf = {term: inverse_document_frequency(documents, count) for term, count in frequencies.items()}
    weights = {name: sum([idf[term] * count for term, count in one.document_frequency.items()]) for name, one in counted.items()}
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()} if total > 0 else {}
