"""An inverted index that scores by BM25 and grows one document at a time: no rebuild, no batch step.

Weights instead of counts (BM25F in its simplest form): a term of the text itself counts 1 for each occurrence, a term of its
surroundings counts less. Positions are dense integers the caller hands out.

Its formula is BM25 (Robertson and Zaragoza 2009, with Lucene's idf, ln(1 + (N - df + 0.5) / (df + 0.5)), which is never
negative). What recomputes its scores (`merge`) uses the same operations, so results are the same to the last bit.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from math import log, sqrt
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from hive_mind.model.gathered import Occurrences
from hive_mind.model.query import TermStatistics
from hive_mind.ranking.form import Terms
from hive_mind.ranking.within import Added, Within
from hive_mind.ranking.words import GRAM, GRAM_WEIGHT

Scores = NDArray[np.float32]
Positions = NDArray[np.int64]

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


# One occurrence, packed: an agent has a thousand terms, most of them in one or two facts, and Python objects would cost more than
# the occurrences themselves.
_ENTRY = np.dtype([("position", "<i4"), ("weight", "<f4")])
_packed = Struct("<if").pack
# Up to so much the number of numpy's calls is what costs, so all terms are scored in one go; beyond it is copying them together.
_TOGETHER_BYTES_MAX = 64 * 1024
# The same for a question of many terms: for a number of bytes of each.
_TERM_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class Matched:
    """Keyword scores of every position, shape (size,), and the occurrences they are made of, term after term."""

    scores: Scores
    own: TermStatistics
    """Of the index, for the terms of the query."""
    terms: tuple[str, ...]
    """Those of the query that occur."""
    counts: Sequence[int] = ()
    """How often each occurs. The next fields have an entry for each occurrence; nothing where there are too many to look at
    each."""
    positions: Positions | None = None
    weights: Scores | None = None


@dataclass(frozen=True, slots=True)
class Among:
    """Occurrences in chosen documents: how many of each term, in which of the documents, and with what weight."""

    counts: Sequence[int]
    rows: Positions
    weights: Scores


def among(matched: Matched, chosen: Positions) -> Among:
    """The part of it in the documents at some ascending positions."""
    positions, weights = matched.positions, matched.weights
    if positions is None or weights is None:
        raise ValueError("there are too many occurrences to look at each")
    is_chosen = np.zeros(len(matched.scores), dtype=np.bool_)
    is_chosen[chosen] = True
    chosen_rows = is_chosen[positions].nonzero()[0]
    counts = [after - before for before, after in pairwise(chosen_rows.searchsorted([0, *accumulate(matched.counts)]).tolist())]
    return Among(counts, chosen.searchsorted(positions[chosen_rows]), weights[chosen_rows])


class Bm25Index:
    """Weighted terms by position. Adding and removing cost O(terms of the document)."""

    def __init__(self, settings: Bm25Settings | None = None) -> None:
        """Without `settings` they follow the statistics that scores are made by."""
        self._settings = settings
        # Of a term that came once, as most do, as bytes: they need less than half the room.
        self._postings: dict[str, bytearray | bytes] = {}
        # How many of a term's documents have been removed since; usually nothing.
        self._removed: Counter[str] = Counter()
        # A removed document gets infinite length: BM25 then gives it exactly 0, so no mask is needed.
        self._lengths = np.zeros(16, dtype=np.float32)
        self._size = 0
        self._documents = 0
        self._total_length = 0.0
        self._total_squares = 0.0

    def add(self, position: int, terms: Mapping[str, float]) -> None:
        """Index a document at the next free position; `terms` gives each term's weight (> 0)."""
        if position != self._size:
            raise ValueError(f"positions are dense: expected {self._size}, got {position}")
        if position == len(self._lengths):
            self._lengths = np.concatenate([self._lengths, np.zeros_like(self._lengths)])
        postings, packed = self._postings, dict[float, bytes]()
        for term, weight in terms.items():
            # Most terms of a document have one of a few weights.
            entry = packed.get(weight) or packed.setdefault(weight, _packed(position, weight))
            if (posting := postings.get(term)) is None:
                postings[term] = entry
            elif isinstance(posting, bytearray):
                posting += entry
            else:
                postings[term] = bytearray(posting) + entry
        # Grams say again what words say.
        self._lengths[position] = sum(weight for term, weight in terms.items() if not term.startswith(GRAM))
        self._size += 1
        self._documents += 1
        # As it is kept, in float32: a removal must take away exactly the amount added.
        self._total_length += float(self._lengths[position])
        self._total_squares += squares_of(self._lengths[position : position + 1])

    def add_all(self, terms: Terms) -> None:
        """Index documents, the first row at the next free position."""
        first, count = self._size, len(terms.lengths)
        if first + count > len(self._lengths):
            grown = np.zeros(max(first + count, len(self._lengths) * 5 // 4), dtype=np.float32)
            grown[:first] = self._lengths[:first]
            self._lengths = grown
        entries = np.empty(len(terms.rows), dtype=_ENTRY)
        entries["position"], entries["weight"] = terms.rows + first, terms.weights
        packed, postings = entries.tobytes(), self._postings
        numbers = terms.numbers
        firsts = np.concatenate([np.flatnonzero(numbers[:1] >= 0), np.flatnonzero(numbers[1:] != numbers[:-1]) + 1])
        bounds = pairwise([*(firsts * _ENTRY.itemsize).tolist(), len(packed)])
        for number, (start, end) in zip(numbers[firsts].tolist(), bounds, strict=True):
            if (posting := postings.get(term := terms.names[number])) is None:
                postings[term] = packed[start:end]
            elif isinstance(posting, bytearray):
                posting += packed[start:end]
            else:
                postings[term] = bytearray(posting) + packed[start:end]
        self._lengths[first : first + count] = terms.lengths
        self._size += count
        self._documents += count
        self._total_length += float(terms.lengths.sum(dtype=np.float64))
        self._total_squares += squares_of(terms.lengths)

    def everything(self) -> tuple[Positions, Terms]:
        """The live positions, and their documents' terms as `add_all` takes them."""
        is_live = np.isfinite(self._lengths[: self._size])
        entries = np.frombuffer(b"".join(self._postings.values()), dtype=_ENTRY)
        counts = [len(posting) // _ENTRY.itemsize for posting in self._postings.values()]
        are_kept = is_live[entries["position"]]
        rows = (np.cumsum(is_live) - 1)[entries["position"][are_kept]]
        numbers = np.repeat(np.arange(len(counts)), counts)[are_kept]
        terms = Terms(list(self._postings), rows, numbers, entries["weight"][are_kept], self._lengths[: self._size][is_live])
        return is_live.nonzero()[0], terms

    def remove(self, position: int, terms: Iterable[str]) -> None:
        """Take a document out of scores and statistics; `terms` are those it was added with. Twice is once."""
        if np.isinf(self._lengths[position]):
            return
        self._documents -= 1
        self._total_length -= float(self._lengths[position])
        self._total_squares -= squares_of(self._lengths[position : position + 1])
        self._lengths[position] = np.inf
        self._removed.update(set(terms))

    def statistics(self, terms: Iterable[str]) -> TermStatistics:
        """Statistics of this corpus for a scorer of these terms; a hive adds up those of its members."""
        postings, removed, size = self._postings, self._removed, _ENTRY.itemsize
        frequencies = {term: len(posting) // size for term in terms if (posting := postings.get(term)) is not None}
        for term in removed.keys() & frequencies.keys() if removed else ():
            frequencies[term] -= removed[term]
        return TermStatistics(self._documents, self._total_length, frequencies, self._total_squares)

    def matched(
        self, terms: Iterable[str], statistics: TermStatistics | None = None, private_statistics: TermStatistics | None = None
    ) -> Matched:
        """BM25 of every position, shape (size,), 0 where no term occurs, and what these are sums of. `terms` with their repeats.

        `statistics` are those of the whole hive where this index is one shard of it. Where they are not known, `beside` is added
        to this index's own.
        """
        asked = asked_for(terms)
        postings = {term: posting for term in asked if (posting := self._postings.get(term)) is not None}
        term_statistics = self.statistics(postings)
        known_statistics = statistics or (term_statistics + private_statistics if private_statistics else term_statistics)
        settings = self._settings or settings_for(known_statistics)
        gains = gains_of({term: asked[term] for term in postings}, known_statistics, settings)
        sizes, mean = list(map(len, postings.values())), mean_length(known_statistics)
        if sum(sizes) > max(_TOGETHER_BYTES_MAX, len(sizes) * _TERM_BYTES):
            return Matched(self._one_by_one(postings, gains, mean, settings), term_statistics, tuple(postings))
        counts = [size // _ENTRY.itemsize for size in sizes]
        entries = np.frombuffer(b"".join(postings.values()), dtype=_ENTRY)
        positions = entries["position"].astype(np.intp)
        weights = entries["weight"]
        parts = parts_of(self._lengths[positions], weights, gains.repeat(counts), mean, settings)
        scores = np.bincount(positions, parts, minlength=self._size).astype(np.float32)
        return Matched(scores, term_statistics, tuple(postings), counts, positions, weights)

    def occurrences(self, terms: Iterable[str], matched: Matched, chosen: Positions) -> Occurrences:
        """Of the terms in the documents at some ascending positions."""
        postings_there = self._among_all(matched, chosen) if matched.positions is None else among(matched, chosen)
        counts = postings_there.counts
        if len(terms_asked := dict.fromkeys(terms)) > len(matched.terms):
            count_of = dict(zip(matched.terms, counts, strict=True))
            counts = [count_of.get(term, 0) for term in terms_asked]
        rows = postings_there.rows.astype(np.uint16).tobytes()
        return Occurrences(matched.own, self._lengths[chosen], tuple(counts), rows, postings_there.weights)

    def _among_all(self, matched: Matched, chosen: Positions) -> Among:
        """Where there are too many occurrences to look at each."""
        counts, rows, weights, narrow = list[int](), list[Positions](), list[Scores](), chosen.astype(np.int32)
        for term in matched.terms:
            entries = self._entries(term)
            places = np.minimum(entries["position"].searchsorted(narrow), len(entries) - 1)
            has_term = (entries["position"][places] == narrow).nonzero()[0]
            counts.append(len(has_term))
            rows.append(has_term)
            weights.append(entries["weight"][places[has_term]])
        return Among(counts, np.concatenate(rows), np.concatenate(weights))

    def within(self, rows: Positions) -> Within:
        """These live positions, ascending, as a part that can be searched alone."""
        mask = np.zeros(self._size, dtype=np.bool_)
        mask[rows] = True
        lengths = self._lengths[rows]
        return Within(mask, rows, float(lengths.sum(dtype=np.float64)), squares_of(lengths))

    def scores_within(self, terms: Iterable[str], part: Within) -> Scores:
        """BM25 of every position of a part, 0 elsewhere. Positions outside are neither scored nor counted.

        A term's addition is the same for every query until the index changes, so a part keeps it.
        """
        weights_known = {term: weight for term, weight in asked_for(terms).items() if term in self._postings}
        cached = {
            term_weight: added_before
            for term_weight in weights_known.items()
            if (added_before := part.kept.get(term_weight)) is not None
        }
        if not weights_known:
            return np.zeros(self._size, dtype=np.float32)
        if new := {term: weight for term, weight in weights_known.items() if (term, weight) not in cached}:
            for term_weight, added in zip(new.items(), self._added_within(new, part), strict=True):
                cached[term_weight] = added
                part.kept.put(term_weight, *added, part.kept_max)
        # In the query's order, in which an index of the part alone would add them up.
        positions = np.concatenate([cached[term_weight][0] for term_weight in weights_known.items()])
        shares = np.concatenate([cached[term_weight][1] for term_weight in weights_known.items()])
        return np.bincount(positions, shares, minlength=self._size).astype(np.float32)

    def _added_within(self, weights: Mapping[str, float], part: Within) -> list[Added]:
        """The additions of each term that is asked for to the documents of a part."""
        postings = [self._postings[term] for term in weights]
        if sum(map(len, postings)) > _TOGETHER_BYTES_MAX and len(weights) > 1:
            return [added for term, weight in weights.items() for added in self._added_within({term: weight}, part)]
        entries = np.frombuffer(b"".join(postings), dtype=_ENTRY)
        is_inside = part.mask[entries["position"]]
        bounds = accumulate([len(posting) // _ENTRY.itemsize for posting in postings], initial=0)
        counts = [int(np.count_nonzero(is_inside[start:end])) for start, end in pairwise(bounds)]
        within = TermStatistics(len(part.rows), part.total_length, dict(zip(weights, counts, strict=True)), part.total_squares)
        settings = self._settings or settings_for(within)
        gains = gains_of(weights, within, settings).repeat(counts)
        chosen = entries[is_inside]
        positions = chosen["position"]
        shares = parts_of(self._lengths[positions], chosen["weight"], gains, mean_length(within), settings)
        # Copies, as a view would keep what all of them add for as long as one of them.
        return [(positions[start:end].copy(), shares[start:end].copy()) for start, end in pairwise(accumulate(counts, initial=0))]

    def positions_with(self, term: str, weight_min: float = 0.0) -> Positions:
        """Live positions of documents that have the term with at least this weight, ascending."""
        if term not in self._postings:
            return np.empty(0, dtype=np.int64)
        entries = self._entries(term)
        are_kept = (entries["weight"] >= weight_min) & np.isfinite(self._lengths[entries["position"]])
        positions: Positions = entries["position"][are_kept].astype(np.int64)
        return positions

    def _entries(self, term: str) -> NDArray[np.void]:
        return np.frombuffer(self._postings[term], dtype=_ENTRY)

    def _one_by_one(self, terms: Iterable[str], gains: Scores, mean: float, settings: Bm25Settings) -> Scores:
        """The same figures to the last bit: they too are added in double precision, term after term."""
        scores = np.zeros(self._size)
        for term, gain in zip(terms, gains, strict=True):
            entries = self._entries(term)
            positions = entries["position"].astype(np.intp)
            # With these two types it has a fast path, which `scores[positions] += parts` has not.
            parts = parts_of(self._lengths[positions], entries["weight"], gain, mean, settings)
            np.add.at(scores, positions, parts.astype(np.float64))
        return scores.astype(np.float32)
