"""BM25: the worth of a term's occurrences in a document.

Formula: Robertson and Zaragoza 2009, with Lucene's idf, ln(1 + (N - df + 0.5) / (df + 0.5)), which is never negative. The index
that scores by it and `rescoring`, which recomputes its scores, use the same operations, so results are the same to the last bit.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from hive_mind.model.scores import TermStatistics
from hive_mind.ranking.words.languages import GRAM, GRAM_WEIGHT

Scores = NDArray[np.float32]


# Measured in docs/adr/0003-ranking.md. A document of this length has repeats enough for a saturation of 1.
_TERMS_OF_SATURATION_1 = 64.0
_SATURATION_MIN, _SATURATION_MAX = 0.5, 4.0
# Where all are of one length, it says nothing of a document.
_LENGTH_WEIGHT_MIN = 0.3
_EIGHTHS = 8.0


@dataclass(frozen=True, slots=True)
class Bm25Settings:
    """`saturation` (k1): raise it and the tenth occurrence of a term still counts. `length_weight` (b): at 1, a document of twice
    the length needs twice the occurrences."""

    saturation: float
    length_weight: float


def settings_for(statistics: TermStatistics) -> Bm25Settings:
    """Those that suit the texts counted: saturation follows their mean length, length weight how much lengths differ.

    In a turn of twenty words a repeat is a manner of speaking, in a page it is the subject; and where messages of ten words stand
    beside some of a thousand, these have every word.
    """
    mean = mean_length(statistics)
    share = statistics.total_squares / statistics.documents / (mean * mean) if statistics.documents and mean > 0 else 1.0
    # In this order NaN, of absurd figures, counts as nothing.
    deviation = sqrt(max(0.0, share - 1.0))
    saturation = min(max(_SATURATION_MIN, mean / _TERMS_OF_SATURATION_1), _SATURATION_MAX)
    return Bm25Settings(saturation, min(_LENGTH_WEIGHT_MIN + deviation, 1.0))


def squares_of(lengths: Scores) -> float:
    """The sum of squares of some lengths, rounded up to eighths: exact, so that sums are the same in whatever order."""
    eighths = np.ceil(lengths.astype(np.float64) * _EIGHTHS)
    return float(eighths.dot(eighths)) / (_EIGHTHS * _EIGHTHS)


def asked_for(terms: Iterable[str]) -> dict[str, float]:
    """Each distinct term of a query, in its order, with its weight: the square root of how often the query has it, and a share of
    that for a gram.

    Where a query is a whole paragraph, its repeated words are its subject. Counted in full, short questions lose
    (docs/adr/0003-ranking.md).
    """
    term_list = tuple(terms)
    once = {term: GRAM_WEIGHT if term[:1] == GRAM else 1.0 for term in term_list}
    if len(once) == len(term_list):
        return once
    return {term: sqrt(times) * once[term] for term, times in Counter(term_list).items()}


def gains_of(term_weights: Mapping[str, float], statistics: TermStatistics, settings: Bm25Settings) -> Scores:
    """The most an occurrence of each term that is asked for can add: BM25 beyond its saturation. Shape (terms,)."""
    documents, frequency = statistics.documents, statistics.document_frequency
    idfs = [weight * inverse_document_frequency(documents, frequency.get(term, 0)) for term, weight in term_weights.items()]
    gains: Scores = np.array(idfs, dtype=np.float32) * np.float32(settings.saturation + 1.0)
    return gains


def parts_of(lengths: Scores, weights: Scores, gains: Scores | np.float32, mean_length: float, settings: Bm25Settings) -> Scores:
    """Each occurrence's addition to its document, by the lengths of these documents, which are written over."""
    k1, b = settings.saturation, settings.length_weight
    # In place: at 100,000 documents the temporaries cost more than the arithmetic.
    denominator = lengths
    denominator *= k1 * b / max(mean_length, 1e-9)
    denominator += k1 * (1.0 - b)
    denominator += weights
    parts: Scores = gains * weights
    parts /= denominator
    return parts


def mean_length(statistics: TermStatistics) -> float:
    return statistics.total_length / statistics.documents if statistics.documents else 1.0


@lru_cache(maxsize=4096)
def inverse_document_frequency(documents: int, with_term: int) -> float:
    """Lucene's BM25 idf: ln(1 + (N - df + 0.5) / (df + 0.5)), ≥ 0. Kept: all members of a hive want the same of a question."""
    # Statistics of a hive may be a moment old and count fewer documents than hold the term.
    absent = max(documents - with_term, 0)
    return log(1.0 + (absent + 0.5) / (with_term + 0.5))


def rarities_of(statistics: Sequence[TermStatistics], terms: Sequence[str]) -> NDArray[np.float64]:
    """The idf of each term by each of several statistics, shape (statistics, terms); equal to the other but for the last bits."""
    frequencies = [[statistic.document_frequency.get(term, 0) for term in terms] for statistic in statistics]
    present = np.array(frequencies, dtype=np.float64).reshape(len(statistics), len(terms))
    absent = np.maximum(np.array([[statistic.documents] for statistic in statistics], dtype=np.float64) - present, 0.0)
    rarities: NDArray[np.float64] = np.log1p((absent + 0.5) / (present + 0.5))
    return rarities
