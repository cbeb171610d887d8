"""Near-duplicate density, worked by hand."""

import numpy as np
import pytest

from hive_mind.measure.results import Likeness, likeness


def rows(*values: tuple[float, ...]) -> np.ndarray:
    return np.array(values, np.float32)


def test_of_three_results_of_which_two_are_equal_one_pair_in_three_is_a_duplicate() -> None:
    found = likeness(rows((1, 0), (1, 0), (0, 1)))

    assert found is not None
    assert found.near_duplicates == pytest.approx(1 / 3)
    assert found.mean_cosine == pytest.approx(1 / 3)


def test_a_pair_just_at_the_threshold_is_no_duplicate_and_one_above_it_is() -> None:
    # The cosine of (3, 4) and (1, 0) is 0.6.
    pair = rows((3, 4), (1, 0))

    at, below = likeness(pair, threshold=0.6 + 1e-9), likeness(pair, threshold=0.59)
    assert at is not None
    assert below is not None
    assert (at.near_duplicates, below.near_duplicates) == (0.0, 1.0)
    assert at.mean_cosine == pytest.approx(0.6)


def test_how_long_a_vector_is_changes_nothing() -> None:
    found = likeness(rows((1e30, 0), (1e-30, 0)))

    assert found == Likeness(1.0, 1.0)


@pytest.mark.parametrize("vectors", [np.zeros((0, 3)), np.ones((1, 3)), np.zeros((4, 3)), np.zeros((4, 0))])
def test_without_two_vectors_there_is_no_pair_to_compare(vectors: np.ndarray) -> None:
    assert likeness(vectors.astype(np.float32)) is None


def test_a_result_without_a_vector_is_left_out() -> None:
    assert likeness(rows((1, 0), (0, 0), (1, 0))) == Likeness(1.0, 1.0)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_vector_that_is_not_finite_is_an_error(value: float) -> None:
    with pytest.raises(ValueError, match="not a finite number"):
        likeness(rows((1, 0), (value, 0)))


def test_a_single_vector_in_place_of_a_matrix_is_an_error() -> None:
    with pytest.raises(ValueError, match="rows of a matrix"):
        likeness(np.ones(3, np.float32))
