"""Cases are chosen alike everywhere, and a rule goes on only while people agree with it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.judge.rules import RolloutRecord, chosen, next_share

CASES = [f"case {number}" for number in range(4_000)]


@pytest.mark.parametrize("share", [0.05, 0.1, 0.5])
def test_as_many_are_chosen_as_the_share_says(share):
    taken = sum(chosen(case, share, "rule") for case in CASES)

    # Three standard deviations.
    assert abs(taken - share * len(CASES)) < 3 * (len(CASES) * share * (1 - share)) ** 0.5


@given(st.text(), st.text(), st.floats(0, 1), st.floats(0, 1))
def test_a_larger_share_holds_the_cases_of_a_smaller_one(case, key, one, other):
    assert not chosen(case, min(one, other), key) or chosen(case, max(one, other), key)
    assert chosen(case, 1.0, key)
    assert not chosen(case, 0.0, key)


def test_another_key_chooses_other_cases():
    both = sum(chosen(case, 0.1, "a") and chosen(case, 0.1, "b") for case in CASES)
    assert both < 100


def test_a_rule_goes_on_step_by_step_once_people_agreed_often_enough():
    assert next_share(0.1, RolloutRecord(19, 19), 0.95) == 0.1
    assert [next_share(share, RolloutRecord(20, 20), 0.95) for share in (0.0, 0.1, 0.5, 1.0)] == [0.1, 0.5, 1.0, 1.0]
    assert next_share(0.1, RolloutRecord(18, 20), 0.95) == 0.1


def test_a_rule_that_people_contradict_is_taken_back():
    assert RolloutRecord(0, 0).is_refuted(0.95) is False
    assert RolloutRecord(19, 20).is_refuted(0.95) is False
    assert RolloutRecord(14, 20).is_refuted(0.95)
    assert next_share(1.0, RolloutRecord(14, 20), 0.95) == 0.0
