import numpy as np
import pytest

from hive_mind.measure.intervals import share_ruled_out, wilson_bounds


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
