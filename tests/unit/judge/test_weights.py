"""Weights: a signal that tells what people decide weighs more, and a row always sums to 1."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.judge.judgment import JudgmentAction, Signal
from hive_mind.judge.precedent import Precedent
from hive_mind.judge.weights import learned_weights

ACCEPT, RETRY, REPLAN, ESCALATE = JudgmentAction
ORIGINS = ("model", "custom", "confirmations")


def signal(origin: str, action: JudgmentAction) -> Signal:
    return Signal(name=origin, origin=origin, action=action, confidence=0.8)


def decided(person: JudgmentAction, kind: str = "general", **said: JudgmentAction) -> Precedent:
    return Precedent(person=person, kind=kind, signals=tuple(signal(origin, action) for origin, action in said.items()))


actions = st.sampled_from(JudgmentAction)
cases = st.builds(
    lambda person, kind, said: decided(person, kind, **said),
    actions,
    st.sampled_from(["security", "ux"]),
    st.dictionaries(st.sampled_from(ORIGINS), actions),
)


@given(st.lists(cases, max_size=40))
def test_each_row_sums_to_one_and_has_every_signal_of_its_kind(some):
    rows = learned_weights(some).weights_by_goal_type
    for kind, row in rows.items():
        assert sum(row.values()) == pytest.approx(1.0)
        assert all(weight >= 0 for weight in row.values())
        assert set(row) == {one.origin for case in some if case.kind == kind for one in case.signals}


def test_who_tells_what_people_decide_weighs_more_and_each_kind_has_its_own():
    right = [decided(person, "security", model=ACCEPT, custom=person) for person in (ACCEPT, RETRY) * 40]
    other = [decided(person, "ux", model=person, custom=RETRY) for person in (ACCEPT, RETRY) * 40]

    rows = learned_weights([*right, *other]).weights_by_goal_type

    # 80 decisions say that one of them knows everything, 20 that both know the same.
    assert rows == {
        "security": {"custom": pytest.approx(0.9), "model": pytest.approx(0.1)},
        "ux": {"custom": pytest.approx(0.1), "model": pytest.approx(0.9)},
    }


def test_a_few_decisions_move_little_and_none_nothing():
    few = [decided(person, model=ACCEPT, custom=person) for person in (ACCEPT, RETRY)]
    assert learned_weights(few).weights_by_goal_type["general"]["model"] == pytest.approx(0.5 * 20 / 22)
    assert learned_weights([decided(ACCEPT, model=ACCEPT, custom=ACCEPT)] * 50).weights_by_goal_type["general"]["model"] == 0.5
    assert learned_weights([]).weights_by_goal_type == {}
