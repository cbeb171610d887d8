"""An interval is as sure as it says, for one mean and for many, by question and by group; a median lies between two values."""

import numpy as np
import pytest

from hive_mind import measure
from hive_mind.measure import by_group, estimate, estimates, macro_mean, median_interval, middle, share_ruled_out, wilson_bounds
from tests.sampled import usually


def holding(samples, truth, found=estimate) -> float:
    """The share of intervals that hold the truth."""
    made = [found(*sample) for sample in samples]
    return float(np.mean([one.low <= truth <= one.high for one in made]))


def in_groups(chance: np.random.Generator, groups: int, spread: float = 0.1) -> tuple[list[float], list[str]]:
    """Groups of 40 questions that are right or wrong; how often, differs between groups."""
    rates = chance.normal(0.6, spread, groups)
    return [float(one) for rate in rates for one in chance.random(40) < rate], [
        f"{n:02}" for n in range(groups) for _ in range(40)
    ]


def test_undefined_values_are_left_out_and_not_counted():
    found = estimate([None, 1.0, None, 0.0, 0.5])

    assert (found.mean, found.n) == (0.5, 3)
    assert macro_mean([1.0, None, 0.0, None]) == 0.5


def test_a_column_without_a_defined_value_has_no_interval_and_takes_none_from_others():
    empty, full = estimates([[None, None], [0.25]])

    assert empty is macro_mean([None]) is macro_mean([]) is None
    assert (full.mean, full.low, full.high, full.n) == (0.25, 0.25, 0.25, 1)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_value_that_is_no_number_is_refused(bad):
    for refuses in (
        lambda: estimates([[1.0], [bad]]),
        lambda: macro_mean([0.0, bad]),
        lambda: by_group([1.0, bad, 0.0], ["a", "a", "b"]),
    ):
        with pytest.raises(ValueError, match="not a finite number"):
            refuses()


@pytest.mark.parametrize("groups", [(), ["a"] * 7 + ["b"] * 23])
def test_equal_values_leave_no_doubt(groups):
    found = estimate([0.1] * 30, groups)

    assert found.low == found.mean == found.high == pytest.approx(0.1)


@pytest.mark.parametrize("groups", [(), [str(number % 7) for number in range(50)]])
def test_an_interval_does_not_depend_on_the_order_of_the_questions(groups):
    values = [float(value) for value in np.random.default_rng(7).random(50)]

    assert estimate(values, groups) == estimate(values[::-1], groups[::-1])


def test_what_stands_beside_a_column_changes_nothing_about_it():
    column = [0.0, 1.0, 1.0, 0.5]

    assert estimates([column, [9.0, 8.0, 7.0, 0.0]])[0] == estimate(column)


def test_the_interval_is_as_wide_as_theory_says():
    values = np.random.default_rng(1).normal(size=400)

    found = estimate(list(values))

    half_width = 1.96 * values.std() / np.sqrt(400)
    assert found.low == pytest.approx(values.mean() - half_width, abs=0.1 * half_width)
    assert found.high == pytest.approx(values.mean() + half_width, abs=0.1 * half_width)


def test_nineteen_of_twenty_intervals_hold_the_true_mean():
    chance = np.random.default_rng(3)

    assert holding([(list(chance.random(60)),) for _ in range(300)], 0.5) == pytest.approx(0.95, abs=0.04)


def test_many_questions_are_drawn_in_blocks_with_as_many_draws(monkeypatch):
    values = [float(value) for value in np.random.default_rng(8).random(100)]
    at_once = estimate(values)

    monkeypatch.setattr(measure, "BLOCK_NUMBERS", 1_000)

    assert estimate(values) == at_once


@pytest.mark.parametrize("groups", usually([3, 5, 10, 30], 3, 30))
def test_nineteen_of_twenty_intervals_hold_the_true_mean_from_three_groups_on(groups: int):
    chance = np.random.default_rng(11)

    # Three standard errors of a share of 600 around 95 %.
    assert holding([in_groups(chance, groups) for _ in range(600)], 0.6) == pytest.approx(0.95, abs=0.027)


def test_drawing_questions_of_groups_is_surer_than_it_may_be():
    chance = np.random.default_rng(12)

    assert holding([in_groups(chance, 5)[:1] for _ in range(100)], 0.6) < 0.85


def test_groups_that_do_not_differ_cost_little():
    values, names = in_groups(np.random.default_rng(13), 40, spread=0.0)

    grouped, apart = estimate(values, names), estimate(values)

    assert grouped.mean == pytest.approx(apart.mean)
    assert grouped.high - grouped.low == pytest.approx(apart.high - apart.low, rel=0.25)


def test_an_interval_stays_within_what_can_be_measured():
    found = estimate([0.0, 1.0, 1.0, 1.0], ["a", "a", "b", "b"])

    assert (found.low, found.mean, found.high) == (0.0, 0.75, 1.0)


def test_one_group_or_one_question_each_are_drawn_by_question():
    assert by_group([1.0, 0.0, 1.0], ["a", "a", "b"])
    for values, names in (([1.0, 0.0, None], ["a", "a", "b"]), ([1.0, 0.0, 1.0], ["a", "b", "c"])):
        assert by_group(values, names) is None
        assert estimate(values, names) == estimate(values)


# Ranks from the binomial (n, 1/2), as tables of nonparametric statistics have them: counted from 1 from either end.
@pytest.mark.parametrize(("count", "rank"), [(6, 1), (8, 1), (9, 2), (10, 2), (20, 6), (50, 18), (100, 40)])
def test_a_median_lies_between_the_values_of_the_tables(count: int, rank: int):
    assert median_interval(np.arange(1.0, count + 1)) == (rank, count - rank + 1)


def test_five_values_are_too_few_to_be_sure_of_a_median():
    assert median_interval(np.arange(5.0)) == (None, None)


def test_large_counts_go_on_where_exact_ones_end():
    exact, near = (median_interval(np.arange(1.0, count + 1))[0] for count in (1_000, 1_001))

    assert abs(exact - near) <= 1


def test_times_have_a_median_a_slow_end_and_a_count():
    found = middle([5.0, 1.0, 4.0, 2.0, 3.0, 6.0])

    assert (found.median, found.low, found.high, found.n) == (3.5, 1.0, 6.0, 6)
    assert found.p95 == pytest.approx(5.75)
    assert middle([]) is None


@pytest.mark.parametrize(("found", "asked", "exact"), [(0, 1, 0.95), (0, 300, 0.009936), (1, 300, 0.015715), (20, 300, 0.095402)])
def test_what_share_is_ruled_out_is_exact(found: int, asked: int, exact: float):
    assert share_ruled_out(found, asked) == pytest.approx(exact, rel=1e-4)


def test_one_that_was_found_rules_out_less_than_none():
    shares = [share_ruled_out(found, 300) for found in (0, 1, 2, 299, 300)]

    assert shares == sorted(set(shares))
    assert shares[-1] == 1.0


def test_at_most_one_sample_in_twenty_has_a_true_share_beyond_what_is_ruled_out():
    for share in (0.004, 0.012, 0.3):
        found = np.random.default_rng(7).binomial(300, share, 4_000)
        ruled_out = {one: share_ruled_out(int(one), 300) for one in set(found.tolist())}

        assert np.mean([ruled_out[one] < share for one in found.tolist()]) <= 0.055


def test_no_share_is_refused():
    for found, asked in ((2, 1), (0, 0), (-1, 3)):
        with pytest.raises(ValueError, match=f"{found} of {asked} is not a share"):
            share_ruled_out(found, asked)


# Newcombe 1998, "Two-sided confidence intervals for the single proportion", table I: 95 % two-sided, so 97.5 % on each side.
@pytest.mark.parametrize(
    ("found", "asked", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_bounds_are_those_of_the_literature(found, asked, low, high):
    assert wilson_bounds(found, asked, 0.975) == pytest.approx((low, high), abs=1e-4)


def test_wilson_bounds_get_narrower_with_more_asked_and_mirror_each_other():
    for asked in (1, 5, 20.5, 1_000):
        low, high = wilson_bounds(0.8 * asked, asked)
        assert 0 <= low < 0.8 < high <= 1
        assert wilson_bounds(0.2 * asked, asked) == pytest.approx((1 - high, 1 - low))
        assert wilson_bounds(0.8 * asked * 4, asked * 4)[0] > low
    assert wilson_bounds(0, 0) == (0.0, 1.0)
    with pytest.raises(ValueError, match="not a share"):
        wilson_bounds(3, 2)
