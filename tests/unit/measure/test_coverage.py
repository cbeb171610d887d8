"""Coverage gap, worked by hand."""

import pytest

from hive_mind.measure.results import coverage_gap


@pytest.mark.parametrize(
    ("scores", "expected"), [([0.9, 0.5, 0.49, 0.1], 0.5), ([0.5], 0.0), ([0.0, 1.0, 1.0], 1 / 3), ([0.2, 0.3], 1.0)]
)
def test_the_gap_is_the_share_of_results_below_the_threshold(scores: list[float], expected: float) -> None:
    assert coverage_gap(scores) == pytest.approx(expected)


def test_nothing_found_is_the_widest_gap() -> None:
    assert coverage_gap([]) == 1.0


def test_the_threshold_can_be_another() -> None:
    assert coverage_gap([0.2, 0.4, 0.6], threshold=0.25) == pytest.approx(1 / 3)


@pytest.mark.parametrize("score", [float("nan"), float("inf"), -0.1, 1.1])
def test_a_score_that_is_none_is_an_error(score: float) -> None:
    with pytest.raises(ValueError, match=r"in \[0, 1\]"):
        coverage_gap([0.9, score])
