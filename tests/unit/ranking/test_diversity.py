"""Results differ from one another as far as lambda asks for it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.ranking.distraction import diversified, likeness_of_terms, likeness_of_vectors

EAST, NORTH = (1.0, 0.0), (0.0, 1.0)


def vectors(*rows: tuple[float, float]):
    return likeness_of_vectors(np.array(rows, np.float32))


WORDS = likeness_of_terms([frozenset("ab"), frozenset("ab"), frozenset("cd")])


@pytest.mark.parametrize(
    ("relevance", "likeness", "count", "share", "chosen"),
    [
        ([1.0, 0.95, 0.8], vectors(EAST, EAST, NORTH), 2, {}, [0, 2]),
        ([1.0, 0.95, 0.8], vectors(EAST, EAST, NORTH), 3, {"share": 1.0}, [0, 1, 2]),
        ([1.0, 0.95, 0.8], WORDS, 3, {}, [0, 2, 1]),
        ([1.0, 0.9], vectors(EAST, (float("nan"), float("nan"))), 2, {}, [0, 1]),
        ([], vectors(), 3, {}, []),
    ],
    ids=["something else comes second", "relevance alone decides", "words in common count", "like nothing", "nothing to choose"],
)
def test_results_differ_as_far_as_lambda_asks_for_it(relevance, likeness, count: int, share: dict[str, float], chosen: list[int]):
    assert diversified(relevance, likeness, count, **share) == chosen


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.integers(1, 15), st.floats(0, 1))
def test_each_candidate_has_one_place(relevance: list[float], count: int, share: float):
    chosen = diversified(relevance, likeness_of_vectors(np.eye(len(relevance), dtype=np.float32)), count, share)
    assert len(chosen) == len(set(chosen)) == min(count, len(relevance))


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=12))
def test_what_does_not_overlap_stays_in_its_order(relevance: list[float]):
    falling = sorted(relevance, reverse=True)
    unlike = likeness_of_vectors(np.eye(len(falling), dtype=np.float32))
    assert diversified(falling, unlike, len(falling)) == list(range(len(falling)))
