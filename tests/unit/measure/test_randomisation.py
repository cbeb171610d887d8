import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.measure.statistics import EXACT_MAX, randomisation_p

VALUES = st.floats(-1, 1, allow_nan=False).map(lambda value: round(value, 3))
PAIRS = st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=12)


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize(("wins", "p"), [(1, 1.0), (3, 0.25), (5, 0.0625), (6, 0.03125)])
def test_questions_that_are_all_won_by_the_same_are_as_likely_as_coins_that_all_fall_alike(wins, p):
    assert randomisation_p([0.5] * wins, [0.25] * wins, rng=rng()) == p


def test_equal_systems_are_as_likely_as_can_be():
    assert randomisation_p([0.1, 0.5], [0.1, 0.5], rng=rng()) == 1.0


def test_questions_on_which_both_are_equal_change_nothing():
    assert randomisation_p([0.5] * 6 + [1.0] * 50, [0.25] * 6 + [1.0] * 50, rng=rng()) == 0.03125


def test_undefined_questions_are_left_out():
    assert randomisation_p([None, 0.5, 1.0], [0.5, 0.25, None], rng=rng()) == 1.0
    assert randomisation_p([None], [0.5], rng=rng()) is None
    assert randomisation_p([], [], rng=rng()) is None


def test_drawing_comes_near_to_looking_at_every_way():
    differences = list(rng(3).normal(0.3, 0.5, EXACT_MAX))

    exact = randomisation_p(differences, [0.0] * EXACT_MAX, rng=rng())
    # A seventeenth that is next to nothing makes it draw.
    drawn = randomisation_p([*differences, 1e-15], [0.0] * (EXACT_MAX + 1), rng=rng(1))

    assert drawn == pytest.approx(exact, abs=0.01)


def test_noise_is_called_significant_one_time_in_twenty():
    chance = rng(5)
    p = [randomisation_p(list(chance.normal(size=30)), [0.0] * 30, rng=chance, draws=1_000) for _ in range(300)]

    assert np.mean(np.asarray(p) <= 0.05) == pytest.approx(0.05, abs=0.035)


def test_a_difference_that_is_there_is_never_called_impossible():
    assert 0 < randomisation_p([1.0] * 200, [0.0] * 200, rng=rng()) < 0.001


@given(PAIRS, st.randoms())
def test_it_is_a_probability_whatever_the_order_and_whoever_comes_first(pairs, chance):
    p = randomisation_p([a for a, _ in pairs], [b for _, b in pairs], rng=rng())
    mixed = chance.sample(pairs, len(pairs))

    assert 0 < p <= 1
    assert randomisation_p([a for a, _ in mixed], [b for _, b in mixed], rng=rng()) == pytest.approx(p)
    assert randomisation_p([b for _, b in pairs], [a for a, _ in pairs], rng=rng()) == pytest.approx(p)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_no_number_is_an_error(bad):
    with pytest.raises(ValueError, match="finite"):
        randomisation_p([bad], [0.0], rng=rng())


def test_different_numbers_of_questions_are_an_error():
    with pytest.raises(ValueError, match="same questions, but there are 1 and 2 values"):
        randomisation_p([1.0], [1.0, 2.0], rng=rng())
