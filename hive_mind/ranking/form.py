"""The text form of a fact: the parts indexed, as opposed to the parts shown.

Dialogue is found by its speaker, its time, and the text just before; that is worth more than any fusion
(docs/adr/0003-ranking.md). The fact's own words count fully, its surroundings less, and the text shown stays the fact's own.

Waking a memory indexes all it has. One by one that is some fifty calls for each fact; for many at once a word becomes a number
where it is first met, and numpy does the rest, to the last bit. `tests/laws/test_bulk.py` holds both to the same.

As bytes and back (`seal`, `KnownTerms`), documents tokenized once need not be tokenized again when a memory wakes. A document is
known by a digest of all its words, so one that was changed since is simply unknown; so are all terms by another `ANALYSIS`,
another stemmer or from other bytes. `tests/laws/test_sealed_terms.py` holds both ways to the same.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate, chain
from typing import Protocol, TypeVar

import msgspec
import numpy as np
import Stemmer
from numpy.typing import NDArray

from hive_mind.model.decoding import msgpack_decoder
from hive_mind.model.fact import Fact, keywords_in
from hive_mind.model.gathered import ANALYSIS
from hive_mind.ranking.neighbours import ROLES_OF_WHO_ASKS
from hive_mind.ranking.tokens import chunks_of, indexed_terms, piece_of, terms_of
from hive_mind.ranking.words import GRAM, HUMPS, is_marked
from hive_mind.regex import regex

# Weight of a term of the surroundings, however often it stands there. Below 1: then a weight of 1 proves a term the fact's own.
BEFORE_WEIGHT = 0.5
SPEAKER_WEIGHT = 0.95
OWN_WEIGHT_MIN = 1.0
# Of the text before, this number of terms always counts; beyond, no more than the fact has of its own.
_BEFORE_TERMS = 10

# As programs write a day. Of a text with many, the first are what it is about.
_WRITTEN_DAY = regex(r"(?<!\d)\d{4}-(?:0[1-9]|1[0-2])-[0-3]\d(?!\d)")
_DAYS_SPOKEN_MAX = 8

# A turn that only asks is no evidence. A word that stands in no question, repeated for every two characters, makes it some four
# times as long (docs/adr/0003-ranking.md).
_ASKING, _ASKING_CHARACTERS = "onlyasks", 2
_QUESTION_ENDS = ("?", "\uff1f", "\u061f")
_STATEMENT_ENDS = (". ", "! ", ".\n", "!\n", "\u3002", "\uff01")

# The name of a definition says what it does: counted four times, words find functions of a library at 64.1 / 47.0 instead of
# 62.1 / 44.9 (docs/adr/0003-ranking.md).
_DEFINITION = regex(
    r"\s{0,99}(?:@[^\n]{1,200}\n\s{0,99}){0,9}(?:(?:async|export|default|public|private|static|pub|abstract|final) ){0,3}"
    r"(?:def|func|function|fn|class) (?:\([^()\n]{0,99}\) )?(?P<name>\w{2,64}) ?[(\[<:{]"
)
_NAMED_AGAIN = 3

_MONTHS = "January February March April May June July August September October November December".split()


class Worded(Protocol):
    """The parts of a fact, or of a statement in a hive, that are indexed."""

    @property
    def content(self) -> str:
        """The text said."""

    @property
    def concept(self) -> str:
        """Its subject."""

    @property
    def said_at(self) -> str:
        """When, ISO 8601 or ""."""

    @property
    def speaker(self) -> str:
        """Its speaker, or ""."""

    @property
    def before(self) -> str:
        """The text just before, or ""."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Keywords."""


def weighted_terms(fact: Worded) -> dict[str, float]:
    """Each term of the fact with its weight for BM25.

    The speaker is no word of the text either: Noor's words are rarely about Noor.
    """
    own_terms = indexed_terms(own_text(fact))
    terms: dict[str, float] = dict(Counter(own_terms))
    if not (fact.before or fact.concept or fact.speaker):
        return terms
    around: dict[str, float] = {}
    if surroundings := dict.fromkeys(indexed_terms(fact.before)):
        around = dict.fromkeys(surroundings, before_weight(len(own_terms), len(surroundings)))
    around |= dict.fromkeys(indexed_terms(fact.concept), BEFORE_WEIGHT) | dict.fromkeys(
        indexed_terms(fact.speaker), SPEAKER_WEIGHT
    )
    for term, weight in around.items():
        terms[term] = terms.get(term, 0.0) + weight
    return terms


def before_weight(own_count: int, before: int) -> float:
    """Weight of each of the different terms before a text with `own` terms.

    A turn is understood from one of its like; a long answer before a short question would drown it in words of another.
    """
    share: float = min(1.0, (_BEFORE_TERMS + own_count) / max(before, 1))
    return BEFORE_WEIGHT * share * share


def own_text(fact: Worded) -> str:
    """The text with its days as people say them, those beside it and those in it that a program wrote, and what it defines."""
    message = fact.content.removeprefix(f"{fact.speaker}: ") if fact.speaker else fact.content
    days_written = list(dict.fromkeys(_WRITTEN_DAY.findall(message)))[:_DAYS_SPOKEN_MAX] if "-" in message else []
    days = [spoken_date(day) for day in (fact.said_at, *keywords_in(fact.labels), *days_written) if day]
    asking = [_ASKING] * (len(message) // _ASKING_CHARACTERS) if fact.speaker and only_asks(fact.speaker, message) else []
    names = [HUMPS.sub(" ", match["name"])] * _NAMED_AGAIN if (match := _DEFINITION.match(message)) else []
    return " \n".join([message, *days, *asking, *names]) if days or asking or names else message


def only_asks(speaker: str, message: str) -> bool:
    """Whether a turn says nothing. What a person asks an assistant tells what that person is about."""
    end = message.rstrip("\"'”’»)* \n")
    return end.endswith(_QUESTION_ENDS) and speaker not in ROLES_OF_WHO_ASKS and not any(mark in end for mark in _STATEMENT_ENDS)


def texts_to_embed(fact: Fact) -> tuple[str, ...]:
    """The fact's own text, then the text before it where there is one."""
    return (fact.content, fact.before) if fact.before else (fact.content,)


def mixed_vector(own_vector: NDArray[np.float32], before: NDArray[np.float32] | None) -> NDArray[np.float32]:
    """One unit vector for a fact with its surroundings, rounded to float16. Shapes (dimension,)."""
    if before is None:
        return own_vector
    mixed = own_vector + np.float32(BEFORE_WEIGHT) * before
    length = float(np.linalg.norm(mixed))
    unit = mixed / length if length > 0 else own_vector
    return unit.astype(np.float16).astype(np.float32)


def spoken_date(text: str) -> str:
    """ "2023-05-08T13:56" as people would ask for it, "8 May 2023"; any other text as it is."""
    year, _, rest = text[:10].partition("-")
    month, _, day = rest.partition("-")
    if not (len(year) == 4 and year.isdecimal() and month.isdecimal() and 1 <= int(month) <= 12):
        return text
    name = _MONTHS[int(month) - 1]
    return f"{int(day)} {name} {year}" if day.isdecimal() else f"{name} {year}"


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


class _Chunks(dict[str, int]):
    """The number of each chunk of a text, in the order in which they came: one that is new is learned."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self._numbers: dict[str, int] = {}
        # Whether a term adds to the length of its document.
        self.counts = array("b")
        # By chunk; its terms are a stretch of `terms`.
        self.leans = array("h")
        self.starts, self.lengths, self.terms = array("q"), array("q"), array("q")

    def __missing__(self, chunk: str) -> int:
        bare = chunk.removeprefix(_OTHER)
        leans, terms = piece_of(bare)
        if bare is not chunk or not bare.isascii():
            terms = terms_of(bare, is_english=bare is chunk)
        self.leans.append(leans)
        self.starts.append(len(self.terms))
        self.lengths.append(len(terms))
        for term in terms:
            if (number := self._numbers.get(term)) is None:
                number = self._numbers[term] = len(self.names)
                self.names.append(term)
                self.counts.append(not term.startswith(GRAM))
            self.terms.append(number)
        place = self[chunk] = len(self)
        return place


class Vocabulary:
    """Words met so far: keep it from one batch of documents to the next, and forget it with the last.

    It begins anew when it has met very many: most come once, and those that come again are soon learned.
    """

    def __init__(self) -> None:
        self._chunks = _Chunks()

    def weighted_terms(self, documents: Sequence[Worded]) -> Terms:
        """The result of `form.weighted_terms` for each."""
        if len(self._chunks) > _CHUNKS_MAX:
            self._chunks = _Chunks()
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
        own_count, before_count = (np.bincount(stretch, minlength=count) for stretch in (rows[fields == _OWN], before % count))
        lent = np.array(list(map(before_weight, own_count.tolist(), before_count.tolist())))[before % count]
        concept = np.setdiff1d(concept, speaker, assume_unique=True)
        is_lent = ~np.isin(before, np.concatenate([concept, speaker]))
        each = np.concatenate([times, lent[is_lent], np.full(len(concept), BEFORE_WEIGHT), np.full(len(speaker), SPEAKER_WEIGHT)])
        entries, entry = np.unique(np.concatenate([own_keys, before[is_lent], concept, speaker]), return_inverse=True)
        weights = np.bincount(entry, each, minlength=len(entries))
        numbers, rows = np.divmod(entries, count)
        counted = np.array(self._chunks.counts, np.bool_)[numbers]
        lengths = np.bincount(rows, np.where(counted, weights, 0.0), minlength=len(documents))
        return Terms(self._chunks.names, rows, numbers, weights.astype(np.float32), lengths.astype(np.float32))

    def _met(self, texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For each term: the text it stands in, and its number."""
        chunks: list[str] = []
        counts, known = [], self._chunks
        for text in texts:
            counts.append(len(chunks_there := chunks_of(text) if text else ()))
            chunks += chunks_there
        places = np.repeat(np.arange(len(texts)), counts)
        met = np.fromiter(map(known.__getitem__, chunks), np.int64, len(chunks))
        leans = np.bincount(places, np.array(known.leans, np.int64)[met], minlength=len(texts))
        is_other = (leans < 0) | ((leans == 0) & np.fromiter(map(is_marked, texts), np.bool_, len(texts)))
        if is_other.any():
            other_places = is_other[places].nonzero()[0]
            met[other_places] = [known[_OTHER + chunks[number]] for number in other_places.tolist()]
        lengths = np.array(known.lengths, np.int64)[met]
        places = np.repeat(places, lengths)
        # The first, second, … term of each chunk.
        nth = np.arange(len(places)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return places, np.array(known.terms, np.int64)[np.repeat(np.array(known.starts, np.int64)[met], lengths) + nth]


_MAKER = f"{ANALYSIS} {Stemmer.version()}"
_MARK_BYTES = 8
_encode = msgspec.msgpack.Encoder().encode
_Document = TypeVar("_Document", bound=Worded)


class _Sealed(msgspec.Struct, array_like=True):
    """`counts` entries for each name, one name after the other; `lengths` and `marks` for each row."""

    maker: str
    names: list[str]
    counts: bytes
    rows: bytes
    weights: bytes
    lengths: bytes
    marks: bytes


def seal(documents: Sequence[Worded], terms: Terms) -> bytes:
    """Documents and their terms, a row each, as bytes."""
    numbers, counts = np.unique(terms.numbers, return_counts=True)
    return _encode(
        _Sealed(
            _MAKER,
            [terms.names[number] for number in numbers.tolist()],
            counts.astype("<i4").tobytes(),
            terms.rows.astype("<i4").tobytes(),
            terms.weights.astype("<f4").tobytes(),
            terms.lengths.astype("<f4").tobytes(),
            b"".join(map(_mark, documents)),
        )
    )


class KnownTerms:
    """The sealed terms. Other bytes are no error: they know nothing."""

    def __init__(self, sealed: bytes = b"") -> None:
        self._terms, self._rows = _NONE, dict[bytes, int]()
        try:
            assertion = msgpack_decoder(_Sealed)(sealed) if sealed else None
        except msgspec.DecodeError:
            return
        if assertion is None or assertion.maker != _MAKER:
            return
        numbers = np.repeat(np.arange(len(assertion.names)), np.frombuffer(assertion.counts, "<i4"))
        rows = np.frombuffer(assertion.rows, "<i4").astype(np.int64)
        weights, lengths = (np.frombuffer(column, "<f4") for column in (assertion.weights, assertion.lengths))
        self._terms = Terms(assertion.names, rows, numbers, weights, lengths)
        marks = [assertion.marks[start : start + _MARK_BYTES] for start in range(0, len(assertion.marks), _MARK_BYTES)]
        self._rows = {mark: row for row, mark in enumerate(marks) if mark != _NO_MARK}

    def take(self, documents: Iterable[_Document]) -> tuple[list[_Document], Terms, list[_Document]]:
        """The documents with known terms; these terms, a row each; and the rest."""
        known_documents: dict[int, _Document] = {}
        rest: list[_Document] = []
        for document in documents:
            row = self._rows.get(_mark(document)) if self._rows else None
            if row is None or row in known_documents:
                rest.append(document)
            else:
                known_documents[row] = document
        rows, terms = sorted(known_documents), self._terms
        if len(rows) < len(terms.lengths):
            place = np.full(len(terms.lengths), -1, np.int64)
            place[rows] = np.arange(len(rows))
            places = place[terms.rows]
            are_kept = places >= 0
            kept_weights, kept_lengths = terms.weights[are_kept], terms.lengths[rows]
            terms = Terms(terms.names, places[are_kept], terms.numbers[are_kept], kept_weights, kept_lengths)
        return [known_documents[row] for row in rows], terms, rest


def _mark(document: Worded) -> bytes:
    """Of all that a document's terms are made of; `_NO_MARK` for text that can't be encoded."""
    content = (document.content, document.concept, document.said_at, document.speaker, document.before, document.labels)
    try:
        return blake2b(_encode(content), digest_size=_MARK_BYTES).digest()
    except UnicodeEncodeError:
        return _NO_MARK


_NO_MARK = bytes(_MARK_BYTES)
_NONE = Terms([], np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32), np.empty(0, np.float32))
