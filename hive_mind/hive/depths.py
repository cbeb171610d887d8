"""How many candidates each replica set is asked for at first.

Of the best hundred of a hive, one of fifty sets has two or three. To ask each of them for a hundred, so that none can be missed,
is to have fifty times as many found, sent and checked as are of use. So each is asked for as many as it can be expected to have,
with room for chance; whoever has given all that it was asked for, and none of them too weak for the merged pool, may have more
such and is asked for all of them (`brought`). What comes of it is the same pool, to the last candidate and score. Evidence adds
up over the answers that hold a fact: where two groups learned the same, one may leave its own out if what surrounds it there fits
the question worse.
"""

from collections.abc import Mapping, Sequence
from math import ceil, sqrt

from hive_mind.hive.admission import DEPTH_MAX
from hive_mind.model.scores import TermStatistics
from hive_mind.ranking.bm25 import inverse_document_frequency

_DEVIATIONS = 4.0
"""Of a Poisson distribution, whose variance is its mean: where facts are dealt by chance, one set in 30,000 has more."""
_LEAST = 4.0


def first_depth(depth: int, share: float) -> int:
    """Candidates to ask a set for that is expected to have this share of the best `depth`; all where little would be saved."""
    expected = depth * min(share, 1.0)
    wanted = ceil(expected + _DEVIATIONS * sqrt(expected) + _LEAST)
    return wanted if 2 * wanted <= depth <= DEPTH_MAX else depth


def first_depths(
    depth: int, names: Sequence[str], counted: Mapping[str, TermStatistics], together: TermStatistics | None
) -> dict[str, int]:
    """By replica set. Where the words of a question are common, there more of what it asks for is expected.

    `together` are the counts of all sets, and of what the asker brought; None where nobody counted. No set is thought to have
    less than its equal part: meaning is not counted, and words can mislead.
    """
    equal = 1 / len(names) if names else 1.0
    usual = first_depth(depth, equal)
    shares = _shares(counted, together) if together is not None and usual < depth else {}
    return {name: first_depth(depth, share) if (share := shares.get(name, 0.0)) > equal else usual for name in names}


def _shares(counted: Mapping[str, TermStatistics], together: TermStatistics) -> dict[str, float]:
    """Of all occurrences of the words, each as much as it tells (BM25's idf), what part each set has."""
    documents, frequencies = together.documents, together.document_frequency
    idf = {term: inverse_document_frequency(documents, count) for term, count in frequencies.items()}
    total = sum([idf[term] * count for term, count in frequencies.items()])
    return {name: _weight(one, idf) / total for name, one in counted.items()} if total > 0 else {}


def _weight(counts: TermStatistics, idf: Mapping[str, float]) -> float:
    return sum([idf[term] * count for term, count in counts.document_frequency.items()])
