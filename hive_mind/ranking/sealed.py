"""The terms of documents as bytes and back: documents tokenized once need not be tokenized again when a memory wakes.

A document is known by a digest of all its words, so a document changed since is simply unknown; so are all terms by another
`ANALYSIS`, another stemmer or from other bytes. `tests/laws/test_sealed_terms.py` holds both ways to the same.
"""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import TypeVar

import msgspec
import numpy as np
import Stemmer

from hive_mind.model.decoding import msgpack_decoder
from hive_mind.model.probe import ANALYSIS
from hive_mind.ranking.bulk import Terms
from hive_mind.ranking.form import Worded

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
        if assertion is not None and assertion.maker == _MAKER:
            self._terms = _terms(assertion)
            self._rows = {mark: row for row, mark in enumerate(_cut(assertion.marks)) if mark != _NO_MARK}

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
        rows = sorted(known_documents)
        return [known_documents[row] for row in rows], _only(self._terms, rows), rest


def _terms(assertion: _Sealed) -> Terms:
    numbers = np.repeat(np.arange(len(assertion.names)), np.frombuffer(assertion.counts, "<i4"))
    rows = np.frombuffer(assertion.rows, "<i4").astype(np.int64)
    return Terms(assertion.names, rows, numbers, np.frombuffer(assertion.weights, "<f4"), np.frombuffer(assertion.lengths, "<f4"))


def _only(terms: Terms, rows: Sequence[int]) -> Terms:
    if len(rows) == len(terms.lengths):
        return terms
    place = np.full(len(terms.lengths), -1, np.int64)
    place[rows] = np.arange(len(rows))
    places = place[terms.rows]
    are_kept = places >= 0
    return Terms(terms.names, places[are_kept], terms.numbers[are_kept], terms.weights[are_kept], terms.lengths[rows])


def _cut(marks: bytes) -> Iterator[bytes]:
    return (marks[start : start + _MARK_BYTES] for start in range(0, len(marks), _MARK_BYTES))


def _mark(document: Worded) -> bytes:
    """Of all that a document's terms are made of; `_NO_MARK` for text that can't be encoded."""
    content = (document.content, document.concept, document.said_at, document.speaker, document.before, document.labels)
    try:
        return blake2b(_encode(content), digest_size=_MARK_BYTES).digest()
    except UnicodeEncodeError:
        return _NO_MARK


_NO_MARK = bytes(_MARK_BYTES)
_NONE = Terms([], np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32), np.empty(0, np.float32))
