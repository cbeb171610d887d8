"""Questions of one group are alike: an interval that knows it is as sure as it says."""

import numpy as np
import pytest

from hive_mind.measure.statistics import are_clusters, bootstrap_interval, cluster_interval, groups_of


def drawn(chance: np.random.Generator, groups: int, spread: float = 0.1) -> list[np.ndarray]:
    """Groups of 40 questions that are right or wrong; how often, differs between groups."""
    return [(chance.random(40) < rate).astype(float) for rate in chance.normal(0.6, spread, groups)]


@pytest.mark.parametrize("groups", [3, 5, 10, 30])
def test_nineteen_of_twenty_intervals_hold_the_true_mean_from_three_groups_on(groups: int):
    chance = np.random.default_rng(11)

    found = [cluster_interval(drawn(chance, groups), rng=chance, resamples=400) for _ in range(600)]

    # Three standard errors of a share of 600 around 95 %.
    assert np.mean([one.low <= 0.6 <= one.high for one in found]) == pytest.approx(0.95, abs=0.027)


def test_drawing_questions_of_groups_is_surer_than_it_may_be():
    chance = np.random.default_rng(12)

    samples = [np.concatenate(drawn(chance, 5)) for _ in range(300)]
    found = [bootstrap_interval(list(one), rng=chance, resamples=400) for one in samples]

    assert np.mean([one.low <= 0.6 <= one.high for one in found if one]) < 0.85


def test_groups_that_do_not_differ_cost_little():
    parts = drawn(np.random.default_rng(13), 40, spread=0.0)

    by_group = cluster_interval(parts, rng=np.random.default_rng(1))
    by_question = bootstrap_interval(list(np.concatenate(parts)), rng=np.random.default_rng(1))

    assert by_question
    assert by_group.mean == pytest.approx(by_question.mean)
    assert by_group.high - by_group.low == pytest.approx(by_question.high - by_question.low, rel=0.25)


def test_neither_the_order_of_questions_nor_that_of_groups_decides_anything():
    values, names = [0.1, 0.2, 0.7, 0.9, 0.4], ["b", "a", "b", "c", "c"]

    one, other = (groups_of(values[::step], names[::step]) for step in (1, -1))

    assert cluster_interval(one, rng=np.random.default_rng(2)) == cluster_interval(other, rng=np.random.default_rng(2))


def test_an_interval_stays_within_what_can_be_measured():
    found = cluster_interval([np.array([0.0, 1.0]), np.array([1.0, 1.0])], rng=np.random.default_rng(3))

    assert (found.low, found.mean, found.high) == (0.0, 0.75, 1.0)


def test_equal_values_leave_no_doubt():
    found = cluster_interval([np.full(7, 0.1), np.full(2, 0.1)], rng=np.random.default_rng(4))

    assert found.low == found.mean == found.high


def test_one_group_or_one_question_each_are_no_clusters():
    assert are_clusters(groups_of([1.0, 0.0, 1.0], ["a", "a", "b"]))
    assert not are_clusters(groups_of([1.0, 0.0, None], ["a", "a", "b"]))
    assert not are_clusters(groups_of([1.0, 0.0, 1.0], ["a", "b", "c"]))


def test_one_group_and_values_that_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match="needs two of them, not 1"):
        cluster_interval([np.array([1.0, 0.5])], rng=np.random.default_rng(5))
    with pytest.raises(ValueError, match="finite"):
        cluster_interval([np.array([1.0, float("nan")]), np.array([0.0])], rng=np.random.default_rng(5))
