"""Differences are paired by question, and looking at many of them makes nobody believe in chance."""

import numpy as np
import pytest

from hive_mind.evals.scorecards.differences import differences, holm, identical, paired, randomisation_ps
from hive_mind.measure.statistics import randomisation_p
from tests.unit.evals.scorecards.written_runs import row


def test_a_difference_worked_by_hand():
    # Differences 1, 1, 1, 0, and one question that only one side defines. Three signs: 2 of 8 flips go as far.
    (found,) = differences([[(1.0, 0.0), (1.0, 0.0), (1.0, 0.0), (0.5, 0.5), (None, 1.0)]])

    assert found is not None
    assert (found.difference, found.p, found.p_holm, found.n) == (0.75, 0.25, 0.25, 4)
    assert found.low >= 0.0
    assert found.high == 1.0


def test_a_pair_that_never_meets_is_no_difference_and_no_hypothesis():
    never, once = differences([[(None, 1.0), (1.0, None)], [(1.0, 0.0), (1.0, 0.0)]])

    assert never is None
    assert once is not None
    assert once.p_holm == once.p == 0.5


def test_equal_arms_differ_by_nothing_at_all():
    (found,) = differences([[(0.3, 0.3)] * 40])

    assert found is not None
    assert (found.difference, found.low, found.high, found.p) == (0.0, 0.0, 0.0, 1.0)
    assert not found.is_real


def test_holm_as_worked_by_hand():
    # 0.005 · 4, 0.01 · 3, 0.03 · 2, and 0.04 may not be smaller than the one before it.
    assert holm([0.01, 0.04, None, 0.03, 0.005]) == pytest.approx([0.03, 0.06, None, 0.06, 0.02])


def test_holm_never_says_more_than_certainty():
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_few_differences_have_the_exact_p():
    columns = [[1.0, -1.0, 1.0], [0.5] * 10, [0.0, 0.0, 0.2]]

    expected = [randomisation_p(one, [0.0] * len(one), rng=np.random.default_rng(1)) for one in columns]
    assert randomisation_ps(columns) == expected


def test_many_differences_have_the_p_of_the_statistics_up_to_the_draws():
    rng = np.random.default_rng(3)
    columns = [[float(value) for value in rng.normal(mean, 1.0, 200)] for mean in (0.0, 0.1, 0.15, 0.2)]

    for column, p in zip(columns, randomisation_ps(columns), strict=True):
        one = randomisation_p(column, [0.0] * 200, rng=np.random.default_rng(4))
        assert p is not None
        assert one is not None
        # Five standard errors of a p from 10,000 draws, at the most.
        assert p == pytest.approx(one, abs=0.025)


def test_columns_drawn_together_do_not_disturb_each_other():
    rng = np.random.default_rng(5)
    first, second = ([float(value) for value in rng.normal(0.1, 1.0, 60)] for _ in range(2))

    assert randomisation_ps([first, second]) == [*randomisation_ps([first]), *randomisation_ps([second])]


def test_what_is_beyond_doubt_is_not_cut_off_by_the_number_of_draws():
    # All of twenty the same way: 2 of 2^20 flips. Draws could only say 1 in 10,001.
    (p,) = randomisation_ps([[1.0] * 20])

    assert p is not None
    assert 2 / 2**20 <= p < 1 / 10_001


def test_a_thousand_comparisons_of_a_clear_loss_leave_it_real():
    found = differences([[(0.0, 1.0)] * 100] * 1_000)

    assert all(one is not None and one.is_real for one in found)


def test_among_a_thousand_comparisons_of_equals_none_is_real():
    rng = np.random.default_rng(6)
    columns = [[(float(new), float(old)) for new, old in rng.random((30, 2))] for _ in range(1_000)]

    found = differences(columns)

    assert sum(one is not None and one.p < 0.05 for one in found) > 20
    assert not any(one is not None and one.is_real for one in found)


def test_questions_are_paired_by_name_and_an_unanswered_one_is_undefined():
    new = {
        "a": row("a", metrics={"m": 1.0}),
        "b": row("b", error="timed out", metrics={"m": 0.0}),
        "c": row("c", metrics={"m": 0.5}),
    }
    old = {"b": row("b", metrics={"m": 0.7}), "a": row("a", metrics={"m": 0.2})}

    assert paired(new, old, "m") == [(1.0, 0.2), (None, 0.7)]


def test_identical_means_the_same_facts_in_the_same_order_up_to_the_cut():
    new = {"a": row("a", facts=["x", "y", "z"]), "b": row("b", facts=["y", "x"]), "c": row("c", error="no")}
    old = {"a": row("a", facts=["x", "y", "w"]), "b": row("b", facts=["x", "y"]), "c": row("c")}

    assert identical(new, old, 2) == [1.0, 0.0, None]
    assert identical(new, old, 3) == [0.0, 0.0, None]
