import numpy as np
import pytest

from hive_mind.measure.statistics import bootstrap_interval, macro_mean, paired_difference, share_ruled_out, wilson_bounds


def rng(seed=0):
    return np.random.default_rng(seed)


def test_undefined_values_are_counted_and_left_out_of_the_mean():
    result = macro_mean([1.0, None, 0.0, None])

    assert (result.mean, result.defined, result.undefined) == (0.5, 2, 2)


def test_a_mean_of_nothing_is_undefined():
    assert macro_mean([None]).mean is None
    assert macro_mean([]).mean is None
    assert bootstrap_interval([None], rng=rng()) is None
    assert paired_difference([None, 1.0], [1.0, None], rng=rng()) is None


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_value_that_is_no_number_is_an_error(bad):
    with pytest.raises(ValueError, match="finite"):
        macro_mean([0.0, bad])
    with pytest.raises(ValueError, match="finite"):
        bootstrap_interval([0.0, bad], rng=rng())


def test_the_interval_is_as_wide_as_theory_says():
    values = rng(1).normal(size=400)

    interval = bootstrap_interval(list(values), rng=rng(2), resamples=4_000)

    half_width = 1.96 * values.std() / np.sqrt(400)
    assert interval.low == pytest.approx(values.mean() - half_width, abs=0.1 * half_width)
    assert interval.high == pytest.approx(values.mean() + half_width, abs=0.1 * half_width)


def test_nineteen_of_twenty_intervals_hold_the_true_mean():
    chance = rng(3)

    intervals = [bootstrap_interval(list(chance.random(60)), rng=chance, resamples=400) for _ in range(300)]

    assert np.mean([interval.low <= 0.5 <= interval.high for interval in intervals]) == pytest.approx(0.95, abs=0.04)


def test_equal_values_leave_no_doubt():
    interval = bootstrap_interval([0.25] * 10, rng=rng())

    assert (interval.low, interval.mean, interval.high) == (0.25, 0.25, 0.25)


def test_the_same_seed_gives_the_same_interval():
    values = [0.0, 1.0, 0.5, 0.25]

    assert bootstrap_interval(values, rng=rng(7)) == bootstrap_interval(values, rng=rng(7))


def test_many_questions_are_drawn_in_blocks_with_as_many_draws():
    interval = bootstrap_interval([0.0, 1.0] * 50_000, rng=rng(), resamples=50)

    assert interval.low < 0.5 < interval.high


def test_pairing_sees_a_small_gain_that_the_spread_of_questions_hides():
    hardness = rng(4).random(200)
    old, new = list(hardness * 0.9), list(hardness * 0.9 + 0.02)

    paired = paired_difference(new, old, rng=rng())

    assert paired.low > 0
    assert paired.mean == pytest.approx(0.02)
    apart = bootstrap_interval(new, rng=rng())
    assert apart.low < np.mean(old) < apart.high


def test_a_difference_that_is_noise_does_not_exclude_zero():
    chance = rng(5)
    noise = paired_difference(list(chance.random(50)), list(chance.random(50)), rng=chance)

    assert noise.low < 0 < noise.high


def test_a_question_that_is_undefined_for_one_system_is_compared_for_none():
    assert paired_difference([1.0, None, 0.5], [0.5, 1.0, None], rng=rng()).mean == 0.5


def test_different_numbers_of_questions_are_an_error():
    with pytest.raises(ValueError, match="same questions, but there are 1 and 2 values"):
        paired_difference([1.0], [1.0, 2.0], rng=rng())


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0])
def test_a_confidence_outside_zero_and_one_is_an_error(confidence):
    with pytest.raises(ValueError, match="between 0 and 1"):
        bootstrap_interval([1.0], rng=rng(), confidence=confidence)


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
