"""BM25 against the formula written out, and against a public implementation."""

import random
from functools import reduce
from math import log, sqrt
from operator import add
from unittest.mock import patch

import bm25s
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.model.query import TermStatistics
from hive_mind.ranking import inverted
from hive_mind.ranking.inverted import Bm25Index, Bm25Settings, inverse_document_frequency, settings_for, squares_of

SETTINGS = Bm25Settings(1.2, 0.75)
WEIGHTS = st.sampled_from([0.5, 1.0, 1.5, 2.0, 7.0])
DOCUMENTS = st.lists(st.dictionaries(st.sampled_from("abcdefgh"), WEIGHTS, max_size=6), min_size=1, max_size=25)


def by_the_book(documents: list[dict[str, float]], alive: list[int], query: list[str]) -> list[float]:
    k1, b = SETTINGS.saturation, SETTINGS.length_weight
    mean = sum(sum(documents[i].values()) for i in alive) / len(alive) if alive else 1.0
    scores = []
    for i, document in enumerate(documents):
        score = 0.0
        for term in set(query) & document.keys() if i in alive else ():
            df = sum(term in documents[j] for j in alive)
            idf = log(1 + (len(alive) - df + 0.5) / (df + 0.5))
            weight, length = document[term], sum(document.values())
            score += sqrt(query.count(term)) * idf * weight * (k1 + 1) / (weight + k1 * (1 - b + b * length / mean))
        scores.append(score)
    return scores


def index_of(documents: list[dict[str, float]]) -> Bm25Index:
    index = Bm25Index(SETTINGS)
    for position, terms in enumerate(documents):
        index.add(position, terms)
    return index


@given(DOCUMENTS, st.lists(st.sampled_from("abcdefghxy"), max_size=5))
def test_terms_give_the_same_scores_to_the_last_bit_whether_taken_together_or_one_by_one(documents, query):
    index = index_of(documents)
    with patch.object(inverted, "_TOGETHER_BYTES_MAX", -1):
        one_by_one = index.matched(query).scores
    assert one_by_one.tobytes() == index.matched(query).scores.tobytes()


@given(DOCUMENTS, st.lists(st.sampled_from("abcdefghxy"), max_size=5), st.randoms(use_true_random=False))
def test_scores_are_those_of_the_formula_whatever_was_removed(documents, query, chance: random.Random):
    index = index_of(documents)
    removed = chance.sample(range(len(documents)), chance.randint(0, len(documents)))
    for position in removed:
        index.remove(position, documents[position])
    alive = [i for i in range(len(documents)) if i not in removed]

    assert index.matched(query).scores.tolist() == pytest.approx(by_the_book(documents, alive, query), abs=1e-5)
    assert index.statistics(query).documents == len(alive)
    for term in "abcdefgh":
        assert index.positions_with(term).tolist() == [i for i in alive if term in documents[i]]


@given(DOCUMENTS, st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=4), st.integers(1, 4))
def test_statistics_of_shards_add_up_and_score_as_the_whole(documents, query, shards: int):
    whole = index_of(documents)
    parts = [index_of(documents[shard::shards]) for shard in range(shards)]

    total = reduce(add, (part.statistics(query) for part in parts), TermStatistics(0, 0.0))

    assert total == whole.statistics(query)
    for shard, part in enumerate(parts):
        assert part.matched(query, total).scores.tolist() == whole.matched(query).scores[shard::shards].tolist()


def spread_over(lengths: list[float]) -> Bm25Settings:
    return settings_for(TermStatistics(len(lengths), sum(lengths), {}, squares_of(np.float32(lengths))))


def test_saturation_follows_how_long_texts_are_and_length_weight_how_much_they_differ():
    turns, pages, both = [16.0, 24.0] * 50, [400.0, 600.0] * 50, [20.0, 20.0, 20.0, 600.0] * 50
    assert spread_over(turns).length_weight == spread_over(pages).length_weight == pytest.approx(0.5, abs=0.01)
    assert spread_over(turns).saturation < spread_over(both).saturation < spread_over(pages).saturation
    assert spread_over(both).length_weight == 1.0


@pytest.mark.parametrize(
    "figures", [(0, 0.0, 0.0), (3, 0.0, 0.0), (1, 1e308, 1.7e308), (1 << 63, 1.7e308, 0.0), (2, 5e-324, 1e9)]
)
def test_absurd_statistics_give_settings_within_their_bounds(figures: tuple[int, float, float]):
    documents, length, squares = figures
    settings = settings_for(TermStatistics(documents, length, {}, squares))
    assert 0.5 <= settings.saturation <= 4.0
    assert 0.3 <= settings.length_weight <= 1.0


@given(st.lists(st.floats(0.125, 1e4, width=32), min_size=1, max_size=40), st.randoms(use_true_random=False))
def test_squares_are_the_same_in_whatever_order_and_parts_they_are_added(lengths, chance: random.Random):
    shuffled = chance.sample(lengths, len(lengths))
    cut = chance.randint(0, len(lengths))
    parts = squares_of(np.float32(shuffled[:cut])) + squares_of(np.float32(shuffled[cut:]))
    assert parts == sum(squares_of(np.float32([length])) for length in lengths)
    assert parts >= sum(length * length for length in lengths) * 0.999999


def test_removing_twice_is_removing_once():
    index = index_of([{"a": 1.0}, {"a": 2.0}])
    index.remove(0, ["a"])
    index.remove(0, ["a"])
    assert index.statistics(["a"]) == TermStatistics(1, 2.0, {"a": 1}, 4.0)


def test_positions_with_a_least_weight_leave_out_the_surroundings():
    index = index_of([{"a": 0.5}, {"a": 1.0}, {"a": 1.5}])
    assert index.positions_with("a", 1.0).tolist() == [1, 2]
    assert index.positions_with("unheard").tolist() == []


def test_positions_are_handed_out_without_gaps():
    with pytest.raises(ValueError, match="expected 0, got 1"):
        Bm25Index().add(1, {"a": 1.0})


def test_an_empty_index_has_no_scores():
    assert Bm25Index().matched(["a"]).scores.tolist() == []
    assert index_of([{}, {}]).matched(["a"]).scores.tolist() == [0.0, 0.0]


def test_statistics_a_moment_old_never_give_a_negative_idf():
    assert inverse_document_frequency(3, 7) > 0
    assert inverse_document_frequency(0, 0) > 0


def test_the_public_implementation_gives_the_same_scores():
    chance = random.Random(7)
    corpus = [[chance.choice("abcdefghijkl") for _ in range(chance.randint(1, 12))] for _ in range(60)]
    reference = bm25s.BM25(method="lucene", k1=SETTINGS.saturation, b=SETTINGS.length_weight)
    reference.index(corpus, show_progress=False)

    ours = index_of([{term: float(words.count(term)) for term in words} for words in corpus])

    for query in (["a"], ["a", "b"], ["c", "k", "l"]):
        # Theirs leaves out the factor k1 + 1, which is the same for all.
        theirs = reference.get_scores(query) * (SETTINGS.saturation + 1)
        np.testing.assert_allclose(ours.matched(query).scores, theirs, atol=1e-5)
