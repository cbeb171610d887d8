"""Weights: a signal that tells what people decide weighs more, and a row always sums to 1."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hive_mind.judge.calibration import learned_weights
from hive_mind.judge.judgment import JudgmentAction, Precedent, Signal

ACCEPT, RETRY, REPLAN, ESCALATE = JudgmentAction
ORIGINS = ("model", "custom", "confirmations")


def signal(origin: str, action: JudgmentAction, confidence: float = 0.8) -> Signal:
    return Signal(name=origin, origin=origin, action=action, confidence=confidence)


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

    found = learned_weights([*right, *other])

    rows = found.weights_by_goal_type
    assert found.decisions_by_goal_type == {"security": 80, "ux": 80}
    assert rows["security"]["custom"] > 0.8
    assert rows["ux"]["model"] == pytest.approx(rows["security"]["custom"])


def test_a_signal_that_is_right_as_often_as_it_says_keeps_its_weight_beside_one_that_says_less():
    """0.8 and 0.6 sure, and right in 8 and 6 of 10 cases, independently."""
    cases = [
        Precedent(person=person, signals=(signal("model", model, 0.8), signal("custom", custom, 0.6)))
        for person, against in ((ACCEPT, RETRY), (RETRY, ACCEPT))
        for model, times in ((person, 8), (against, 2))
        for custom, often in ((person, 6), (against, 4))
        for _ in range(times * often)
    ]
    assert learned_weights(cases).weights_by_goal_type["general"] == {"model": pytest.approx(0.5), "custom": pytest.approx(0.5)}


def test_what_is_silent_about_most_cases_is_weighed_by_those_it_speaks_of():
    """Confirmations only ever accept: what tells is whether they are there."""
    telling = [decided(ACCEPT, model=ACCEPT, confirmations=ACCEPT)] * 30 + [decided(RETRY, model=ACCEPT)] * 30
    rumours = [decided(person, model=person, confirmations=ACCEPT) for person in (ACCEPT, RETRY)] * 30

    found = [learned_weights(some).weights_by_goal_type["general"]["confirmations"] for some in (telling, rumours)]
    assert found[0] > 0.6
    assert found[1] < 0.2


def test_an_audit_counts_for_the_cases_it_stands_for():
    """The questions speak for the custom judge, and as many audits, each of which stands for 20 cases, for the model."""
    asked = [decided(person, model=ACCEPT, custom=person) for person in (ACCEPT, RETRY)] * 20
    audits = [replace(decided(person, model=person, custom=ACCEPT), share=0.05) for person in (ACCEPT, RETRY)] * 20

    row = learned_weights([*asked, *audits]).weights_by_goal_type["general"]
    assert row["model"] > 0.6


def test_a_few_decisions_move_little_and_none_nothing():
    few = [decided(person, model=ACCEPT, custom=person) for person in (ACCEPT, RETRY)]
    assert 0.4 < learned_weights(few).weights_by_goal_type["general"]["model"] < 0.5
    assert learned_weights([decided(ACCEPT, model=ACCEPT, custom=ACCEPT)] * 50).weights_by_goal_type["general"]["model"] == 0.5
    assert learned_weights([]).weights_by_goal_type == {}
