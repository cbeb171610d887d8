"""Results differ from one another as far as lambda asks for it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.ranking.distraction import diversified, likeness_of_terms, likeness_of_vectors

EAST, NORTH = (1.0, 0.0), (0.0, 1.0)


def vectors(*rows: tuple[float, float]):
    return likeness_of_vectors(np.array(rows, np.float32))


def test_the_second_place_goes_to_what_says_something_else():
    assert diversified([1.0, 0.95, 0.8], vectors(EAST, EAST, NORTH), 2) == [0, 2]


def test_at_lambda_one_relevance_alone_decides():
    assert diversified([1.0, 0.95, 0.8], vectors(EAST, EAST, NORTH), 3, share=1.0) == [0, 1, 2]


def test_without_vectors_words_in_common_count():
    words = likeness_of_terms([frozenset("ab"), frozenset("ab"), frozenset("cd")])
    assert diversified([1.0, 0.95, 0.8], words, 3) == [0, 2, 1]


def test_a_vector_that_is_missing_is_like_nothing():
    assert diversified([1.0, 0.9], vectors(EAST, (float("nan"), float("nan"))), 2) == [0, 1]


def test_nothing_to_choose_from_gives_nothing():
    assert diversified([], vectors(), 3) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.integers(1, 15), st.floats(0, 1))
def test_each_candidate_has_one_place(relevance: list[float], count: int, share: float):
    chosen = diversified(relevance, likeness_of_vectors(np.eye(len(relevance), dtype=np.float32)), count, share)
    assert len(chosen) == len(set(chosen)) == min(count, len(relevance))


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=12))
def test_what_does_not_overlap_stays_in_its_order(relevance: list[float]):
    falling = sorted(relevance, reverse=True)
    unlike = likeness_of_vectors(np.eye(len(falling), dtype=np.float32))
    assert diversified(falling, unlike, len(falling)) == list(range(len(falling)))
