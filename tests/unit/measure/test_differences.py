"""Differences are paired by question, and looking at many of them makes nobody believe in chance."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.measure import EXACT_MAX, Difference, defined, differences, estimate, holm, metric_changes, randomisation_ps

VALUES = st.floats(-1, 1, allow_nan=False).map(lambda value: round(value, 3))


def difference(*pairs):
    (found,) = differences([pairs])
    return found


def drawn(seed: int, mean: float, count: int) -> list[float]:
    return [float(value) for value in np.random.default_rng(seed).normal(mean, 1.0, count)]


def test_a_difference_worked_by_hand():
    # Differences 1, 1, 1, 0, and one question that only one side defines. Three signs: 2 of 8 flips go as far.
    found = difference((1.0, 0.0), (1.0, 0.0), (1.0, 0.0), (0.5, 0.5), (None, 1.0))

    assert (found.difference, found.p, found.p_holm, found.n) == (0.75, 0.25, 0.25, 4)
    assert found.low >= 0.0
    assert found.high == 1.0


@pytest.mark.parametrize(
    ("pairs", "p"),
    [
        # As likely as coins that all fall alike.
        ([(0.5, 0.25)], 1.0),
        ([(0.5, 0.25)] * 3, 0.25),
        ([(0.5, 0.25)] * 5, 0.0625),
        ([(0.5, 0.25)] * 6, 0.03125),
        # Questions on which both are equal change nothing.
        ([(0.5, 0.25)] * 6 + [(1.0, 1.0)] * 50, 0.03125),
        ([(0.1, 0.1), (0.5, 0.5)], 1.0),
        ([(None, 0.5), (0.5, 0.25), (1.0, None)], 1.0),
    ],
)
def test_few_differences_have_the_exact_p(pairs, p):
    assert difference(*pairs).p == p


def test_a_pair_that_never_meets_is_no_difference_and_no_hypothesis():
    never, once, nothing = differences([[(None, 1.0), (1.0, None)], [(1.0, 0.0), (1.0, 0.0)], []])

    assert never is nothing is None
    assert once.p_holm == once.p == 0.5


def test_equal_arms_differ_by_nothing_at_all():
    found = difference(*[(0.3, 0.3)] * 40)

    assert (found.difference, found.low, found.high, found.p) == (0.0, 0.0, 0.0, 1.0)
    assert not found.is_real


def test_pairing_sees_a_small_gain_that_the_spread_of_questions_hides():
    hardness = np.random.default_rng(4).random(200)
    old, new = list(hardness * 0.9), list(hardness * 0.9 + 0.02)

    paired, apart = difference(*zip(new, old, strict=True)), estimate(new)

    assert paired.low > 0
    assert paired.difference == pytest.approx(0.02)
    assert apart.low < np.mean(old) < apart.high


def test_a_difference_that_is_noise_does_not_exclude_zero():
    noise = difference(*np.random.default_rng(5).random((50, 2)).tolist())

    assert noise.low < 0 < noise.high


@pytest.mark.parametrize(
    ("difference", "p_holm", "n", "words"),
    [
        (0.0, 1.0, 90, ("equal", "equal", "equal")),
        (0.2, 0.04, 90, ("better", "worse", "higher")),
        (-0.2, 0.04, 19, ("worse", "better", "lower")),
        (0.5, 0.05, 20, ("may be chance",) * 3),
        (-0.5, 0.05, 19, ("too few questions",) * 3),
    ],
)
def test_a_difference_in_a_word(difference: float, p_holm: float, n: int, words: tuple[str, ...]):
    shown = Difference(difference, difference / 2, 3 * difference / 2, p_holm, p_holm, n)
    assert tuple(shown.verdict(sense) for sense in ("better", "worse", "neither")) == words


def test_holm_as_worked_by_hand():
    # 0.005 · 4, 0.01 · 3, 0.03 · 2, and 0.04 may not be smaller than the one before it.
    assert holm([0.01, 0.04, None, 0.03, 0.005]) == pytest.approx([0.03, 0.06, None, 0.06, 0.02])


def test_holm_never_says_more_than_certainty():
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_drawing_comes_near_to_looking_at_every_way():
    changes = defined(drawn(3, 0.3, EXACT_MAX))

    # A seventeenth that is next to nothing makes it draw.
    exact, near = randomisation_ps([changes, defined([*changes, 1e-15])])

    assert near == pytest.approx(exact, abs=0.01)


def test_noise_is_called_significant_one_time_in_twenty():
    ps = randomisation_ps([defined(drawn(seed, 0.0, 30)) for seed in range(300)])

    assert np.mean(np.asarray(ps) <= 0.05) == pytest.approx(0.05, abs=0.035)


def test_columns_drawn_together_do_not_disturb_each_other():
    first, second = (defined(drawn(seed, 0.1, 60)) for seed in (5, 6))

    assert randomisation_ps([first, second]) == [*randomisation_ps([first]), *randomisation_ps([second])]


def test_a_difference_that_is_there_is_never_called_impossible():
    # Of 2^19 flips two go as far, which ten thousand draws hardly ever meet; the bound of Hoeffding is not small enough here.
    assert 0 < difference(*[(1.0, 0.0)] * 19).p < 0.001


def test_what_is_beyond_doubt_is_not_cut_off_by_the_number_of_draws():
    # All of twenty the same way: 2 of 2^20 flips. Draws could only say 1 in 10,001.
    assert 2 / 2**20 <= difference(*[(1.0, 0.0)] * 20).p < 1 / 10_001


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=12), st.randoms())
def test_p_is_a_probability_whatever_the_order_and_whoever_comes_first(pairs, chance):
    p = difference(*pairs).p

    assert 0 < p <= 1
    assert difference(*chance.sample(pairs, len(pairs))).p == pytest.approx(p)
    assert difference(*((b, a) for a, b in pairs)).p == pytest.approx(p)


def test_a_thousand_comparisons_of_a_clear_loss_leave_it_real():
    assert all(one is not None and one.is_real for one in differences([[(0.0, 1.0)] * 100] * 1_000))


def test_among_a_thousand_comparisons_of_equals_none_is_real():
    rng = np.random.default_rng(6)

    found = differences([[(float(new), float(old)) for new, old in rng.random((30, 2))] for _ in range(1_000)])

    assert sum(one is not None and one.p < 0.05 for one in found) > 20
    assert not any(one is not None and one.is_real for one in found)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_no_number_is_an_error(bad):
    with pytest.raises(ValueError, match="finite"):
        difference((bad, 0.0))


@pytest.mark.parametrize(
    ("sense", "is_worse", "loss_max"), [("better", True, 0.5), ("worse", False, -0.5), ("neither", False, 0.0)]
)
def test_what_more_of_a_metric_means_decides_what_is_a_loss(sense, is_worse, loss_max):
    (found,) = metric_changes([("m", sense, [(0.25, 0.75)] * 30 + [(None, 0.5)], [""] * 31)])

    assert (found.before, found.after, found.defined) == (0.75, 0.25, (31, 30))
    assert (found.is_worse, found.loss_max) == (is_worse, loss_max)
    assert found.evidence("as told") == "0.250 after 0.750 (-0.500, 95 % interval -0.500 to -0.500, as told)"


@pytest.mark.parametrize(
    ("pairs", "is_certain", "words"),
    [
        ([(0.25, 0.75)] * 30, False, "m is worse"),
        ([(0.5, 1.0), (1.0, 0.5)] * 10, False, ""),
        ([(0.5, 1.0), (1.0, 0.5)] * 10, True, "a loss of up to 0.200 m can't be ruled out"),
        ([(0.5, 0.5)] * 30, True, ""),
    ],
)
def test_a_loss_that_is_left_open_counts_where_it_is_to_be_ruled_out(pairs, is_certain, words):
    (change,) = metric_changes([("m", "better", pairs, [""] * len(pairs))])
    assert re.sub(r"0\.\d+", "0.200", change.loss(is_certain=is_certain)) == words


def test_a_metric_that_is_defined_on_one_side_only_has_no_change():
    (found,) = metric_changes([("m", "better", [(None, 1.0)], [""])])

    assert (found.before, found.after, found.difference, found.defined) == (None, None, None, (1, 0))
    assert (found.is_worse, found.loss_max, found.evidence()) == (False, 0.0, "undefined")
