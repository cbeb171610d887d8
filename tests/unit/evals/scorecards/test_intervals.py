"""Intervals of many means at once are those of each of them, and a median lies between two of the values."""

import numpy as np
import pytest

from hive_mind.evals.scorecards.intervals import SEED, estimate, estimates, median_interval, middle
from hive_mind.measure.statistics import bootstrap_interval


@pytest.mark.parametrize("size", [1, 2, 19, 400, 2_500])
def test_many_intervals_at_once_are_those_of_the_statistics_of_one(size: int):
    rng = np.random.default_rng(size)
    columns = [[float(value) for value in rng.random(size)], [float(value) for value in rng.integers(2, size=size)]]

    for column, found in zip(columns, estimates(columns), strict=True):
        one = bootstrap_interval(sorted(column), rng=np.random.default_rng(SEED))
        assert found is not None
        assert one is not None
        assert (found.mean, found.low, found.high) == pytest.approx((one.mean, one.low, one.high), abs=1e-12)
        assert found.n == size


def test_undefined_values_are_left_out_and_not_counted():
    found = estimate([None, 1.0, None, 0.0, 0.5])

    assert found is not None
    assert (found.mean, found.n) == (0.5, 3)


def test_a_column_without_a_defined_value_has_no_interval_and_takes_none_from_others():
    empty, full = estimates([[None, None], [0.25]])

    assert empty is None
    assert full is not None
    assert (full.mean, full.low, full.high, full.n) == (0.25, 0.25, 0.25, 1)


def test_equal_values_leave_no_doubt():
    found = estimate([0.1] * 30)

    assert found is not None
    assert (found.low, found.mean, found.high) == (found.mean, found.mean, found.mean)


def test_an_interval_does_not_depend_on_the_order_of_the_questions():
    values = [float(value) for value in np.random.default_rng(7).random(50)]

    assert estimate(values) == estimate(values[::-1])


def test_what_stands_beside_a_column_changes_nothing_about_it():
    column = [0.0, 1.0, 1.0, 0.5]

    assert estimates([column, [9.0, 8.0, 7.0, 0.0]])[0] == estimate(column)


def test_a_value_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match="not a finite number"):
        estimates([[1.0], [float("nan")]])


# Ranks from the binomial (n, 1/2), as tables of nonparametric statistics have them: counted from 1 from either end.
@pytest.mark.parametrize(("count", "rank"), [(6, 1), (8, 1), (9, 2), (10, 2), (20, 6), (50, 18), (100, 40)])
def test_a_median_lies_between_the_values_of_the_tables(count: int, rank: int):
    assert median_interval(np.arange(1.0, count + 1)) == (rank, count - rank + 1)


def test_five_values_are_too_few_to_be_sure_of_a_median():
    assert median_interval(np.arange(5.0)) == (None, None)


def test_large_counts_go_on_where_exact_ones_end():
    exact, near = (median_interval(np.arange(1.0, count + 1))[0] for count in (1_000, 1_001))

    assert exact is not None
    assert near is not None
    assert abs(exact - near) <= 1


def test_times_have_a_median_a_slow_end_and_a_count():
    found = middle([5.0, 1.0, 4.0, 2.0, 3.0, 6.0])

    assert found is not None
    assert (found.median, found.low, found.high, found.n) == (3.5, 1.0, 6.0, 6)
    assert found.p95 == pytest.approx(5.75)
    assert middle([]) is None
