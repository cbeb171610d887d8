"""The terms of many documents at once: the result of `tokens` and `form` for each, to the last bit, in a fraction of the time.

Waking a memory indexes all it has. One by one that is some fifty calls for each fact; here a word becomes a number where it is
first met, and numpy does the rest. `tests/laws/test_bulk.py` holds both to the same.
"""

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

import numpy as np
from numpy.typing import NDArray

from hive_mind.ranking.form import BEFORE_WEIGHT, SPEAKER_WEIGHT, Worded, before_weight, own_text
from hive_mind.ranking.tokens import chunks_of, piece_of, terms_of
from hive_mind.ranking.words.languages import GRAM, is_marked

_OWN, _BEFORE, _CONCEPT, _SPEAKER = range(4)
_FIELDS = 4


@dataclass(frozen=True, slots=True)
class Terms:
    """Of several documents. Entry i: the document in row `rows[i]` has the term `names[numbers[i]]` with `weights[i]`.

    Entries are in order of `numbers`, then of `rows`. `lengths` holds the sum of each document's weights.
    """

    names: Sequence[str]
    rows: NDArray[np.int64]
    numbers: NDArray[np.int64]
    weights: NDArray[np.float32]
    lengths: NDArray[np.float32]


def joined(parts: Sequence[Terms]) -> Terms:
    """The documents of several parts, one part after the other."""
    if len(parts) == 1:
        return parts[0]
    names = list(dict.fromkeys(chain.from_iterable(part.names for part in parts)))
    number_of = {name: number for number, name in enumerate(names)}
    numbers = np.concatenate([np.array([number_of[name] for name in part.names], np.int64)[part.numbers] for part in parts])
    firsts = accumulate([len(part.lengths) for part in parts], initial=0)
    rows = np.concatenate([part.rows + first for part, first in zip(parts, firsts, strict=False)])
    order = np.lexsort((rows, numbers))
    weights = np.concatenate([part.weights for part in parts])[order]
    return Terms(names, rows[order], numbers[order], weights, np.concatenate([part.lengths for part in parts]))


# Some 250 bytes each.
_CHUNKS_MAX = 1 << 16
# In front of a chunk, which holds none: it stands in a text that is not English.
_OTHER = " "


class Vocabulary:
    """Words met so far: keep it from one batch of documents to the next, and forget it with the last.

    It begins anew when it has met very many: most come once, and those that come again are soon learned.
    """

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._numbers: dict[str, int] = {}
        self._names: list[str] = []
        # Whether a term adds to the length of its document.
        self._counts = array("b")
        # By chunk of a text; its terms are a stretch of `_terms`.
        self._chunks = _Numbers(self._learn)
        self._leans = array("h")
        self._starts, self._lengths, self._terms = array("q"), array("q"), array("q")

    def weighted_terms(self, documents: Sequence[Worded]) -> Terms:
        """The result of `form.weighted_terms` for each."""
        if len(self._chunks) > _CHUNKS_MAX:
            self._begin()
        texts = chain.from_iterable(
            (own_text(document), document.before, document.concept, document.speaker) for document in documents
        )
        places, numbers = self._met(list(texts))
        count = max(len(documents), 1)
        rows, fields = np.divmod(places, _FIELDS)
        keys = numbers * count + rows
        own_keys, times = np.unique(keys[fields == _OWN], return_counts=True)
        # Counts spare the import of numpy.ma, which a process that remembers little would wait for.
        before, concept, speaker = (
            np.unique(keys[fields == field], return_counts=True)[0] for field in (_BEFORE, _CONCEPT, _SPEAKER)
        )
        lent = self._lent(rows[fields == _OWN], before % count, count)
        concept = np.setdiff1d(concept, speaker, assume_unique=True)
        is_lent = ~np.isin(before, np.concatenate([concept, speaker]))
        each = np.concatenate([times, lent[is_lent], np.full(len(concept), BEFORE_WEIGHT), np.full(len(speaker), SPEAKER_WEIGHT)])
        entries, entry = np.unique(np.concatenate([own_keys, before[is_lent], concept, speaker]), return_inverse=True)
        weights = np.bincount(entry, each, minlength=len(entries))
        numbers, rows = np.divmod(entries, count)
        counted = np.array(self._counts, np.bool_)[numbers]
        lengths = np.bincount(rows, np.where(counted, weights, 0.0), minlength=len(documents))
        return Terms(self._names, rows, numbers, weights.astype(np.float32), lengths.astype(np.float32))

    @staticmethod
    def _lent(own_terms: NDArray[np.int64], before: NDArray[np.int64], count: int) -> NDArray[np.float64]:
        """The weight of each term before a document; both by the rows in which terms stand."""
        sizes = zip(np.bincount(own_terms, minlength=count).tolist(), np.bincount(before, minlength=count).tolist(), strict=True)
        return np.array([before_weight(*size) for size in sizes])[before]

    def _met(self, texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For each term: the text it stands in, and its number."""
        chunks: list[str] = []
        counts = []
        for text in texts:
            counts.append(len(chunks_there := chunks_of(text) if text else ()))
            chunks += chunks_there
        places = np.repeat(np.arange(len(texts)), counts)
        met = np.fromiter(map(self._chunks.__getitem__, chunks), np.int64, len(chunks))
        leans = np.bincount(places, np.array(self._leans, np.int64)[met], minlength=len(texts))
        is_other = (leans < 0) | ((leans == 0) & np.fromiter(map(is_marked, texts), np.bool_, len(texts)))
        if is_other.any():
            other_places = is_other[places].nonzero()[0]
            met[other_places] = [self._chunks[_OTHER + chunks[number]] for number in other_places.tolist()]
        lengths = np.array(self._lengths, np.int64)[met]
        places = np.repeat(places, lengths)
        # The first, second, … term of each chunk.
        nth = np.arange(len(places)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return places, np.array(self._terms, np.int64)[np.repeat(np.array(self._starts, np.int64)[met], lengths) + nth]

    def _learn(self, chunk: str) -> None:
        bare = chunk.removeprefix(_OTHER)
        leans, terms = piece_of(bare)
        if bare is not chunk or not bare.isascii():
            terms = terms_of(bare, is_english=bare is chunk)
        self._leans.append(leans)
        self._starts.append(len(self._terms))
        self._lengths.append(len(terms))
        for term in terms:
            if (number := self._numbers.get(term)) is None:
                number = self._numbers[term] = len(self._names)
                self._names.append(term)
                self._counts.append(not term.startswith(GRAM))
            self._terms.append(number)


class _Numbers(dict[str, int]):
    """Chunks in the order in which they came; `learn` is called for each new one."""

    def __init__(self, learn: Callable[[str], None]) -> None:
        super().__init__()
        self._learn = learn

    def __missing__(self, chunk: str) -> int:
        self._learn(chunk)
        number = self[chunk] = len(self)
        return number
