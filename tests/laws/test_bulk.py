"""Many documents at once give what they give one by one, to the last bit: terms, weights, statistics, scores, vectors."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.ann.quantised import QuantisedVectors
from hive_mind.model.gathered import Anchors, Probe
from hive_mind.ranking.form import Terms, Vocabulary, weighted_terms
from hive_mind.ranking.index import FactIndex
from hive_mind.ranking.inverted import Bm25Index
from hive_mind.ranking.tokens import indexed_terms, tokenize
from hive_mind.ranking.vector import ExactVectors

# What tokenizing takes apart or leaves together, and what stands between texts when many are read at once.
_PIECES = [
    "valve", "valves", "Valve's", "don't", "CVE-2024-1234", "75.1725", "a", "the", "7", "x", "naïve", "ÄRGER", "か", "東京タワー",
    "ﬁne", "İstanbul", "ß", "e\u0301", "\u0301", "\x1e", "\n", "\r\n", "\t", ":", "_", "_a_", "@b", "-", "/", "’s", "'", "\u200b",
    "🙂", "Noor: ", "x" * 70, "1-2-3", "a.b.c", "\x00", "\ud800",
    "über", "Häuser", "Łódź", "welche", "который", "большой", "كتاب", "हिन्दी", "ภาษาไทย",
    "half past nine", "Half Past Nine", "to It", "WHO", "2TB", "getUserById", "12,500", "A株",
]  # fmt: skip
texts = st.lists(st.sampled_from(_PIECES), max_size=6).flatmap(
    lambda pieces: st.lists(st.sampled_from([" ", ""]), min_size=len(pieces), max_size=len(pieces)).map(
        lambda gaps: "".join(piece + gap for piece, gap in zip(pieces, gaps, strict=True))
    )
)


@dataclass(frozen=True)
class Said:
    content: str
    concept: str
    said_at: str
    speaker: str
    before: str
    labels: tuple[str, ...]


dates = st.sampled_from(["", "2023-05-08T13:56", "2023-05", "soon"])
documents = st.builds(Said, texts, texts, dates, texts, texts, st.lists(texts, max_size=2).map(tuple))


def of_row(terms: Terms, row: int) -> dict[str, bytes]:
    """Each term of a document with its weight as bits."""
    entries = np.flatnonzero(terms.rows == row)
    return {terms.names[terms.numbers[entry]]: terms.weights[entry].tobytes() for entry in entries.tolist()}


@given(st.lists(st.lists(documents, max_size=6), max_size=3))
def test_the_terms_of_many_are_those_of_each(batches: list[list[Said]]) -> None:
    vocabulary = Vocabulary()

    for batch in batches:
        terms = vocabulary.weighted_terms(batch)

        assert len(terms.lengths) == len(batch)
        assert [of_row(terms, row) for row in range(len(batch))] == [
            {term: struct.pack("<f", weight) for term, weight in weighted_terms(said).items()} for said in batch
        ]


@given(st.lists(st.lists(documents, max_size=6), max_size=3), st.lists(texts, min_size=1, max_size=3))
def test_an_index_of_many_scores_like_one_of_each(batches: list[list[Said]], asked: list[str]) -> None:
    together, singly, vocabulary = Bm25Index(), Bm25Index(), Vocabulary()

    for batch in batches:
        together.add_all(vocabulary.weighted_terms(batch))
    for position, said in enumerate(said for batch in batches for said in batch):
        singly.add(position, weighted_terms(said))

    for terms in map(tokenize, asked):
        assert together.statistics(terms) == singly.statistics(terms)
        assert together.matched(terms).scores.tobytes() == singly.matched(terms).scores.tobytes()


def test_batches_of_every_kind_of_text_are_indexed_as_one_by_one() -> None:
    together, singly, vocabulary = Bm25Index(), Bm25Index(), Vocabulary()
    piece = (_PIECES * 3).__getitem__
    said = [
        Said(
            " ".join(map(piece, range(n, n + 4))),
            piece(5 * n % 50),
            "2023-05" * (n % 2),
            piece(n + 4),
            " ".join(map(piece, range(n % 50))),
            (),
        )
        for n in range(len(_PIECES))
    ]

    for first, last in pairwise((0, 1, 1, 4, 30, 31, len(said))):
        terms = vocabulary.weighted_terms(said[first:last])
        together.add_all(terms)
        expected = list(map(weighted_terms, said[first:last]))
        assert [of_row(terms, row) for row in range(last - first)] == [
            {term: struct.pack("<f", weight) for term, weight in row.items()} for row in expected
        ]
        assert terms.lengths.tolist() == pytest.approx(
            [sum(weight for term, weight in row.items() if not term.startswith("~")) for row in expected]
        )
        for position, row in enumerate(expected, start=first):
            singly.add(position, row)

    for asked in map(indexed_terms, _PIECES):
        assert together.statistics(asked) == singly.statistics(asked)
        assert together.matched(asked).scores.tobytes() == singly.matched(asked).scores.tobytes()


@pytest.mark.parametrize("arm", [ExactVectors, QuantisedVectors])
def test_vectors_added_together_are_found_like_vectors_added_singly(arm: type[ExactVectors] | type[QuantisedVectors]) -> None:
    rng = np.random.default_rng(7)
    vectors = rng.standard_normal((3000, 32)).astype(np.float32)
    vectors[5] = 0
    vectors = (vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)).astype(np.float16)
    together, singly = arm(32), arm(32)
    places = np.flatnonzero(rng.random(3000) < 0.9)

    for part in np.array_split(places, 7):
        together.add_all(part, vectors[part])
    for place in places.tolist():
        singly.add(place, vectors[place].astype(np.float32))

    assert len(together) == len(singly) == len(places)
    for query in vectors[:50].astype(np.float32):
        for one, other in zip(together.top(query, 10), singly.top(query, 10), strict=True):
            assert one.tobytes() == other.tobytes()


def test_an_index_finds_what_was_added_together_and_refuses_it_twice() -> None:
    index, said = FactIndex(ExactVectors(2)), [Said(f"valve {n}", "", "", "", "", ()) for n in range(4)]
    vectors = {"b": np.array([1, 0], np.float16), "d": np.array([0, 1], np.float16)}

    index.add("first", {"pump": 1.0})
    index.add_all(list("abcd"), Vocabulary().weighted_terms(said))
    index.set_vectors(vectors)

    assert found(index, ["2"]) == ["c"]
    assert (index.vectors_missing, FactIndex().vectors_missing) == (3, 0)
    assert index.vector("d") is not None
    with pytest.raises(ValueError, match="already"):
        index.add_all(["a"], Vocabulary().weighted_terms(said[:1]))


def found(index: FactIndex, terms: Sequence[str]) -> list[str]:
    return list(index.pool(Probe(tuple(terms), Anchors(), None, 5)).ids)
