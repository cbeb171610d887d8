"""An inverted index that scores by BM25 and grows one document at a time: no rebuild, no batch step.

Weights instead of counts (BM25F in its simplest form): a term of the text itself counts 1 for each occurrence, a term of its
surroundings counts less. Formula: Robertson and Zaragoza 2009, with Lucene's idf, ln(1 + (N - df + 0.5) / (df + 0.5)), which is
never negative. Positions are dense integers the caller hands out.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from hive_mind.model.scores import TermStatistics

Scores = NDArray[np.float32]
Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Bm25Settings:
    """`saturation` (k1): raise it and the tenth occurrence of a term still counts. `length_weight` (b): at 1, a document of twice
    the length needs twice the occurrences.

    Between the textbook's 1.2 / 0.75 (best on abstracts) and 0.9 / 0.4 (best on dialogue); docs/adr/0003-ranking.md has both.
    """

    saturation: float = 1.0
    length_weight: float = 0.6


# One occurrence, packed: an agent has a thousand terms, most of them in one or two facts, and Python objects would cost more than
# the occurrences themselves.
_ENTRY = np.dtype([("position", "<i4"), ("weight", "<f4")])
_packed = Struct("<if").pack
# Up to so much the number of numpy's calls is what costs, so all terms are scored in one go; beyond it is copying them together.
_TOGETHER_BYTES_MAX = 64 * 1024


class Bm25Index:
    """Weighted terms by position. Adding and removing cost O(terms of the document)."""

    def __init__(self, settings: Bm25Settings | None = None) -> None:
        self._settings = settings or Bm25Settings()
        self._postings: dict[str, bytearray] = {}
        # How many of a term's documents have been removed since; usually nothing.
        self._removed: Counter[str] = Counter()
        # A removed document gets infinite length: BM25 then gives it exactly 0, so no mask is needed.
        self._lengths = np.zeros(16, dtype=np.float32)
        self._size = 0
        self._documents = 0
        self._total_length = 0.0

    def add(self, position: int, terms: Mapping[str, float]) -> None:
        """Index a document at the next free position; `terms` gives each term's weight (> 0)."""
        if position != self._size:
            raise ValueError(f"positions are dense: expected {self._size}, got {position}")
        if position == len(self._lengths):
            self._lengths = np.concatenate([self._lengths, np.zeros_like(self._lengths)])
        for term, weight in terms.items():
            self._postings.setdefault(term, bytearray()).extend(_packed(position, weight))
        length = sum(terms.values())
        self._lengths[position] = length
        self._size += 1
        self._documents += 1
        # As it is kept, in float32: what is added must be what a removal takes away.
        self._total_length += float(self._lengths[position])

    def remove(self, position: int, terms: Iterable[str]) -> None:
        """Take a document out of scores and statistics; `terms` are those it was added with. Twice is once."""
        if np.isinf(self._lengths[position]):
            return
        self._documents -= 1
        self._total_length -= float(self._lengths[position])
        self._lengths[position] = np.inf
        self._removed.update(set(terms))

    def statistics(self, terms: Iterable[str]) -> TermStatistics:
        """What a scorer of these terms must know of this corpus; a hive adds up those of its members."""
        frequencies = {term: self._live(term) for term in terms if term in self._postings}
        return TermStatistics(self._documents, self._total_length, frequencies)

    def scores(self, terms: Iterable[str], statistics: TermStatistics | None = None) -> Scores:
        """BM25 of every position, shape (size,); 0 where no term occurs. Each distinct term counts once.

        `statistics` are those of the whole hive where this index is one shard of it.
        """
        distinct = [term for term in dict.fromkeys(terms) if term in self._postings]
        known = statistics or self.statistics(distinct)
        mean_length = known.total_length / known.documents if known.documents else 1.0
        idfs = [inverse_document_frequency(known.documents, known.document_frequency.get(term, 0)) for term in distinct]
        if sum([len(self._postings[term]) for term in distinct]) > _TOGETHER_BYTES_MAX:
            return self._one_by_one(distinct, idfs, mean_length)
        postings = [self._postings[term] for term in distinct]
        counts = [len(one) // _ENTRY.itemsize for one in postings]
        entries = np.frombuffer(b"".join(postings), dtype=_ENTRY)
        parts = self._parts(entries, np.repeat(np.array(idfs, dtype=np.float32), counts), mean_length)
        return np.bincount(entries["position"], parts, minlength=self._size).astype(np.float32)

    def positions_with(self, term: str, weight_min: float = 0.0) -> Positions:
        """Live positions whose document has the term with at least this weight, ascending."""
        if term not in self._postings:
            return np.empty(0, dtype=np.int64)
        entries = self._entries(term)
        kept = (entries["weight"] >= weight_min) & np.isfinite(self._lengths[entries["position"]])
        positions: Positions = entries["position"][kept].astype(np.int64)
        return positions

    def _live(self, term: str) -> int:
        return len(self._postings[term]) // _ENTRY.itemsize - self._removed[term]

    def _entries(self, term: str) -> NDArray[np.void]:
        return np.frombuffer(self._postings[term], dtype=_ENTRY)

    def _one_by_one(self, terms: Iterable[str], idfs: Iterable[float], mean_length: float) -> Scores:
        """The same figures to the last bit: they too are added in double precision, term after term."""
        scores = np.zeros(self._size)
        for term, idf in zip(terms, idfs, strict=True):
            entries = self._entries(term)
            # With these two types it has a fast path, which `scores[positions] += parts` has not.
            parts = self._parts(entries, np.float32(idf), mean_length).astype(np.float64)
            np.add.at(scores, entries["position"].astype(np.int64), parts)
        return scores.astype(np.float32)

    def _parts(self, entries: NDArray[np.void], idfs: Scores | np.float32, mean_length: float) -> Scores:
        """What each occurrence adds to its document."""
        weights = entries["weight"]
        k1, b = self._settings.saturation, self._settings.length_weight
        # In place: at 100,000 documents the temporaries cost more than the arithmetic.
        denominator = self._lengths[entries["position"]]
        denominator *= k1 * b / max(mean_length, 1e-9)
        denominator += k1 * (1.0 - b)
        denominator += weights
        parts: Scores = idfs * np.float32(k1 + 1.0) * weights
        parts /= denominator
        return parts


def inverse_document_frequency(documents: int, with_term: int) -> float:
    """Lucene's BM25 idf: ln(1 + (N - df + 0.5) / (df + 0.5)), ≥ 0."""
    # Statistics of a hive may be a moment old and count fewer documents than hold the term.
    absent = max(documents - with_term, 0)
    return log(1.0 + (absent + 0.5) / (with_term + 0.5))
