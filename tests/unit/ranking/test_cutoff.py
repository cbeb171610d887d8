"""A ranking ends before its cliff (the table of document 000), wherever the scores lie, and keeps to its bounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.ranking.distraction import cut

TABLE = (0.0328, 0.0318, 0.0307, 0.0295, 0.0281, 0.0266, 0.0198, 0.0190, 0.0182, 0.0174)
FALLING = st.lists(st.floats(0, 100), max_size=30).map(lambda scores: sorted(scores, reverse=True))


def test_the_table_of_document_000_stops_after_six_results_at_five_and_a_half_times_the_mean():
    found = cut(TABLE)
    assert found.kept == 6
    assert found.gap == pytest.approx(0.0068)
    assert found.mean_gap == pytest.approx(0.00124)
    assert round(found.times, 1) == 5.5


@pytest.mark.parametrize(("factor", "kept"), [(1.05, 2), (3.0, 6), (5.4, 6), (5.6, 10), (100.0, 10)])
def test_the_factor_says_how_steep_a_cliff_is(factor: float, kept: int):
    assert cut(TABLE, factor).kept == kept


def test_a_gap_of_just_the_factor_is_no_cliff():
    assert cut([8.0, 7.0, 4.0, 3.5], 3.0).kept == 4
    assert cut([8.0, 7.0, 3.75, 3.5], 3.0).kept == 2


def test_scores_of_one_arm_have_cliffs_too():
    assert cut([14.1, 13.2, 12.4, 3.0, 2.9]).kept == 3


def test_the_last_result_that_is_wanted_may_lie_below_a_cliff_too():
    assert cut([14.1, 13.2, 12.4, 3.0, 2.9], max_results=4).kept == 3


def test_a_cliff_above_the_least_is_looked_for_again_below_it():
    scores = [10.0, 9.9, 5.0, 4.95, 1.0, 0.9]
    assert cut(scores).kept == 2
    # The great gap is then part of the trend, and the next one no cliff beside it.
    assert cut(scores, min_results=3).kept == 6


def test_two_results_are_never_parted_as_their_gap_has_nothing_before_it():
    assert cut([1.0, 0.001]).kept == 2


@pytest.mark.parametrize("ties", range(1, 6))
def test_equal_scores_are_no_trend(ties: int):
    tied = [1.0] * ties
    assert cut([*tied, 0.5]).kept == ties + 1
    # Falls as evenly behind the ties as without them.
    assert cut([*tied, 0.95, 0.9, 0.85, 0.8]).kept == ties + 4
    assert cut([*tied, 0.95, 0.9, 0.4, 0.39]).kept == ties + 2


def test_the_last_bits_of_a_sum_are_neither_a_cliff_nor_a_trend():
    assert cut([1.0, 1.0 - 1e-15, 0.5]).kept == 3
    assert cut([1e9, 1e9 - 1e-6, 5e8]).kept == 3
    assert cut([1.0, 0.95, 0.95 - 1e-15, 0.5]).kept == 3
    # A part of the best, however steep a cliff has to be.
    assert cut([1e12, 1.0, 0.5], 1e-13).kept == 3
    assert cut([1e11, 1.0, 0.5], 1e-13).kept == 2


@pytest.mark.parametrize(("scores", "kept"), [([], 0), ([1.0], 1), ([1.0] * 30, 10)])
def test_without_a_cliff_everything_up_to_the_most_is_kept(scores: list[float], kept: int):
    found = cut(scores)
    assert (found.kept, found.is_cliff) == (kept, False)


@given(FALLING, st.floats(0.1, 10), st.integers(1, 10), st.integers(1, 10))
def test_it_keeps_to_its_bounds(scores: list[float], factor: float, least: int, most: int):
    least = min(least, most)
    assert min(len(scores), least) <= cut(scores, factor, least, most).kept <= min(len(scores), most)


@given(FALLING, st.floats(0.5, 4.0))
def test_a_larger_unit_of_scores_changes_nothing(scores: list[float], unit: float):
    rounded = [round(score) for score in scores]
    assert cut(rounded).kept == cut([2.0 ** round(unit) * score for score in rounded]).kept
