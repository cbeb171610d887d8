"""Near-duplicate density, worked by hand.

Coverage gap, worked by hand.

Source diversity, worked by hand.
"""

from math import log2

import numpy as np
import pytest

from hive_mind.measure.results import Likeness, coverage_gap, likeness, source_diversity


def rows(*values: tuple[float, ...]) -> np.ndarray:
    return np.array(values, np.float32)


def test_of_three_results_of_which_two_are_equal_one_pair_in_three_is_a_duplicate() -> None:
    found = likeness(rows((1, 0), (1, 0), (0, 1)))

    assert (found.near_duplicates, found.mean_cosine) == pytest.approx((1 / 3, 1 / 3))


def test_a_pair_just_at_the_threshold_is_no_duplicate_and_one_above_it_is() -> None:
    # The cosine of (3, 4) and (1, 0) is 0.6.
    pair = rows((3, 4), (1, 0))

    at, below = likeness(pair, threshold=0.6 + 1e-9), likeness(pair, threshold=0.59)
    assert (at.near_duplicates, below.near_duplicates) == (0.0, 1.0)
    assert at.mean_cosine == pytest.approx(0.6)


def test_how_long_a_vector_is_changes_nothing() -> None:
    assert likeness(rows((1e30, 0), (1e-30, 0))) == Likeness(1.0, 1.0)


@pytest.mark.parametrize("vectors", [np.zeros((0, 3)), np.ones((1, 3)), np.zeros((4, 3)), np.zeros((4, 0))])
def test_without_two_vectors_there_is_no_pair_to_compare(vectors: np.ndarray) -> None:
    assert likeness(vectors.astype(np.float32)) is None


def test_a_result_without_a_vector_is_left_out() -> None:
    assert likeness(rows((1, 0), (0, 0), (1, 0))) == Likeness(1.0, 1.0)


@pytest.mark.parametrize(
    ("vectors", "told"),
    [
        *((rows((1, 0), (value, 0)), "not a finite number") for value in (np.nan, np.inf)),
        (np.ones(3, np.float32), "rows of a matrix"),
    ],
)
def test_what_is_no_matrix_of_finite_numbers_is_an_error(vectors: np.ndarray, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        likeness(vectors)


@pytest.mark.parametrize(
    ("scores", "expected"), [([0.9, 0.5, 0.49, 0.1], 0.5), ([0.5], 0.0), ([0.0, 1.0, 1.0], 1 / 3), ([0.2, 0.3], 1.0), ([], 1.0)]
)
def test_the_gap_is_the_share_of_results_below_the_threshold(scores: list[float], expected: float) -> None:
    assert coverage_gap(scores) == pytest.approx(expected)


def test_the_threshold_can_be_another() -> None:
    assert coverage_gap([0.2, 0.4, 0.6], threshold=0.25) == pytest.approx(1 / 3)


@pytest.mark.parametrize("score", [float("nan"), float("inf"), -0.1, 1.1])
def test_a_score_that_is_none_is_an_error(score: float) -> None:
    with pytest.raises(ValueError, match=r"in \[0, 1\]"):
        coverage_gap([0.9, score])


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (["chat", "log"], 1.0),
        (["chat", "log", "note"], 1.0),
        (["chat", "chat", "chat"], 0.0),
        (["chat"], 0.0),
        (["chat", "chat", "chat", "log"], -(0.75 * log2(0.75) + 0.25 * log2(0.25))),
        (["chat", "chat", "log", "note"], 1.5 / log2(3)),
    ],
)
def test_an_even_spread_is_1_a_single_kind_0_and_what_lies_between_its_entropy(kinds: list[str], expected: float) -> None:
    assert source_diversity(kinds) == pytest.approx(expected)


def test_a_result_whose_kind_is_not_known_is_no_kind_of_its_own() -> None:
    assert source_diversity(["chat", "", "chat"]) == 0.0
    assert source_diversity(["", "chat", "log"]) == 1.0


@pytest.mark.parametrize("kinds", [[], ["", ""]])
def test_where_no_kind_is_known_diversity_is_undefined(kinds: list[str]) -> None:
    assert source_diversity(kinds) is None
