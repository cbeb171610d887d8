"""Signals that agree make a judgement surer, signals that contradict end it, and the order they come in does not matter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.judge.calibration import CONFIDENCE_MAX, CONFIDENCE_MIN, Pooled, pooled
from hive_mind.judge.judgment import JudgmentAction, Signal

ACCEPT, RETRY, REPLAN, ESCALATE = JudgmentAction
ORIGINS = ("model", "custom", "confirmations", "audit", "peer")


def signal(origin: str, action: JudgmentAction, confidence: float) -> Signal:
    return Signal(name=origin, origin=origin, action=action, confidence=confidence)


def sure_of(one: Pooled | None) -> float:
    assert one is not None
    assert one.confidence is not None
    return one.confidence


shares = st.floats(0, 1)
sure = st.floats(0.5, 1)
actions = st.sampled_from(JudgmentAction)
signals = st.builds(signal, st.sampled_from(ORIGINS), actions, shares)
weights = st.dictionaries(st.sampled_from(ORIGINS), shares, max_size=5)


@given(st.lists(signals, max_size=6), weights, st.randoms(use_true_random=False))
def test_the_order_of_the_signals_does_not_matter(some, row, chance):
    mixed = chance.sample(some, len(some))
    assert pooled(some, row) == pooled(mixed, row)


@given(st.lists(st.tuples(st.sampled_from(ORIGINS), shares), min_size=1, max_size=4), actions, sure, weights)
def test_one_more_that_agrees_never_makes_it_less_sure(some, action, confidence, row):
    agreeing = [signal(origin, action, share) for origin, share in some]
    before = pooled(agreeing, row)

    after = pooled([*agreeing, signal("fresh", action, confidence)], row)

    assert sure_of(after) >= sure_of(before)
    assert after is not None
    assert after.action is action


@given(st.lists(signals, max_size=4), actions.filter(lambda one: one is not ACCEPT), sure, sure, weights)
def test_who_accepts_and_who_does_not_and_mean_it_leave_it_to_a_person(some, action, one, other, row):
    contradicting = [signal("yes", ACCEPT, one), signal("no", action, other)]
    assert pooled([*some, *contradicting], row) == Pooled(ESCALATE, None)


@given(signals, weights)
def test_a_signal_alone_keeps_its_action_and_is_never_surer_than_it_says(only, row):
    alone = pooled([only], row)

    assert alone is not None
    assert alone.action is only.action
    assert only.confidence is not None
    assert sure_of(alone) <= max(only.confidence, CONFIDENCE_MIN) + 1e-12
    if not row:
        assert sure_of(alone) == pytest.approx(min(max(only.confidence, CONFIDENCE_MIN), CONFIDENCE_MAX))


@given(st.lists(signals, min_size=1, max_size=6), weights)
def test_nothing_is_accepted_that_no_signal_accepts(some, row):
    together = pooled(some, row)
    assert together is not None
    assert together.action in {one.action for one in some} | {ESCALATE}


@given(st.lists(st.tuples(st.sampled_from(ORIGINS), st.floats(0.6, 1)), min_size=1, max_size=5), st.floats(0, 0.49))
def test_who_doubts_the_opposite_does_not_make_an_acceptance_surer(some, confidence):
    accepting = [signal(origin, ACCEPT, share) for origin, share in some]
    assert pooled([*accepting, signal("doubt", RETRY, confidence)]) == pooled(accepting)


def test_two_that_are_each_fairly_sure_are_surer_together():
    together = pooled([signal("model", ACCEPT, 0.8), signal("confirmations", ACCEPT, 0.75)])

    # Odds of 4 and of 3 are 12 together.
    assert together == Pooled(ACCEPT, pytest.approx(12 / 13))


def test_signals_of_one_family_count_once_and_the_more_careful_one():
    twice = pooled([signal("model", ACCEPT, 0.8), signal("model", ACCEPT, 0.9)])
    contradicting = pooled([signal("model", ACCEPT, 0.9), signal("model", RETRY, 0.6)])
    assert twice == Pooled(ACCEPT, pytest.approx(0.8))
    assert contradicting == Pooled(RETRY, pytest.approx(0.6))


def test_a_lighter_weight_takes_from_a_signal():
    model = signal("model", ACCEPT, 0.8)

    light = pooled([model], {"model": 0.25, "confirmations": 0.75})
    heavy = pooled([model], {"model": 0.75, "confirmations": 0.25})

    # The third root of odds of 4.
    assert light == Pooled(ACCEPT, pytest.approx(4 ** (1 / 3) / (1 + 4 ** (1 / 3))))
    assert heavy == Pooled(ACCEPT, pytest.approx(0.8))


def test_a_fourth_source_counts_only_instead_of_a_weaker_one():
    three = [signal(origin, ACCEPT, 0.7) for origin in ORIGINS[:3]]
    assert pooled([*three, signal("audit", ACCEPT, 0.6)]) == pooled(three)
    assert pooled([*three, signal("audit", ACCEPT, 0.9)]) == pooled([*three[:2], signal("audit", ACCEPT, 0.9)])


def test_of_those_who_do_not_accept_the_gravest_is_heard():
    assert pooled([signal("model", RETRY, 0.9), signal("custom", REPLAN, 0.6)]) == Pooled(
        REPLAN, pytest.approx(27 / 29 * 1.0, abs=0.01)
    )
    assert pooled([signal("model", RETRY, 0.9), signal("custom", ESCALATE, 0.3)]).action is RETRY


def test_where_nobody_says_anything_there_is_nothing_to_pool():
    silent = Signal(name="model", origin="model", state="broken", reasoning="throttled")
    assert pooled([]) is None
    assert pooled([silent]) is None
