"""A ranking ends before its cliff (the table of document 000), wherever the scores lie, and keeps to its bounds."""

from typing import Any

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


ONE_ARM, TWO_CLIFFS = (14.1, 13.2, 12.4, 3.0, 2.9), (10.0, 9.9, 5.0, 4.95, 1.0, 0.9)


@pytest.mark.parametrize(
    ("scores", "more", "kept"),
    [
        # The factor says how steep a cliff is; a gap of just the factor is none.
        *((TABLE, {"factor": factor}, kept) for factor, kept in ((1.05, 2), (3.0, 6), (5.4, 6), (5.6, 10), (100.0, 10))),
        ((8.0, 7.0, 4.0, 3.5), {}, 4),
        ((8.0, 7.0, 3.75, 3.5), {}, 2),
        # The last result that is wanted may lie below a cliff too.
        *((ONE_ARM, more, 3) for more in ({}, {"max_results": 4})),
        # A cliff above the least is part of the trend, and the next one none beside it.
        (TWO_CLIFFS, {}, 2),
        (TWO_CLIFFS, {"min_results": 3}, 6),
        # Two are never parted: their gap has nothing before it.
        ((1.0, 0.001), {}, 2),
    ],
)
def test_a_ranking_ends_before_its_cliff(scores: tuple[float, ...], more: dict[str, Any], kept: int):
    assert cut(scores, **more).kept == kept


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
