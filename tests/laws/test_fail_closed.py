"""For every way in which a signal can be missing or broken, alone and together: nothing is accepted that no signal accepts.

All combinations are tried. What may be accepted is worked out here again, from what each part says and not from the order in
which the judge looks at them.
"""

from functools import cache
from itertools import product

import pytest

from hive_mind.goals.goal import Constraint, Goal, SuccessCriterion
from hive_mind.judge.judgment import JudgeSettings, Judgment, JudgmentAction, Signal
from hive_mind.judge.pipeline import Case, next_judgment
from hive_mind.judge.rules import EvaluationRule, RuleSet

ACCEPT, RETRY, ESCALATE = JudgmentAction.ACCEPT, JudgmentAction.RETRY, JudgmentAction.ESCALATE
BROKEN = "result['none'] == 1"

RULES = {
    "no rule": [],
    "rule that does not match": [EvaluationRule(id="r", condition="False", action=ACCEPT)],
    "rule that accepts": [EvaluationRule(id="r", condition="True", action=ACCEPT)],
    "rule that escalates": [EvaluationRule(id="r", condition="True", action=ESCALATE)],
    "broken rule": [EvaluationRule(id="r", condition=BROKEN, action=ACCEPT)],
}
CONSTRAINTS = {
    "no constraint": [],
    "kept": [Constraint(id="k", check="True")],
    "violated": [Constraint(id="k", check="False")],
    "broken constraint": [Constraint(id="k", check=BROKEN)],
    "unchecked": [Constraint(id="k")],
}
CRITERIA = {
    "met": [SuccessCriterion(id="c", metric="condition", target="True")],
    "unmet": [SuccessCriterion(id="c", metric="condition", target="False")],
    "broken criterion": [SuccessCriterion(id="c", metric="condition", target=BROKEN)],
    "check nobody has": [SuccessCriterion(id="c", metric="custom")],
    "to be graded": [SuccessCriterion(id="c")],
}


def said(name: str, action: JudgmentAction | None, sure: float | None, **grades: float) -> Signal:
    return Signal(name=name, origin=name, action=action, confidence=sure, grades=grades)


CUSTOM = {
    "no custom judge": None,
    "broken custom judge": Signal(name="custom", origin="custom", state="broken", grades={"c": 1.0, "k": 1.0}),
    "custom judge that passes": said("custom", None, None),
    "custom judge that accepts": said("custom", ACCEPT, None),
    "custom judge that is unsure": said("custom", ACCEPT, 0.3),
    "custom judge that rejects": said("custom", RETRY, None),
}
MODEL = {
    "no model": None,
    "missing": Signal(name="model", origin="model", state="missing", grades={"c": 1.0, "k": 1.0}),
    "broken model": Signal(name="model", origin="model", state="broken", grades={"c": 1.0, "k": 1.0}),
    "model without a verdict": said("model", None, 0.9, c=1.0, k=1.0),
    "model that is not sure of anything": said("model", ACCEPT, None, c=1.0, k=1.0),
    "unsure model": said("model", ACCEPT, 0.69, c=1.0, k=1.0),
    "model that grades nothing": said("model", ACCEPT, 0.99),
    "model that grades beyond 1": said("model", ACCEPT, 0.99, c=3.0, k=1.0),
    "model that accepts and grades low": said("model", ACCEPT, 0.99, c=0.2, k=1.0),
    "model that accepts a violation": said("model", ACCEPT, 0.99, c=1.0, k=0.0),
    "model that accepts": said("model", ACCEPT, 0.9, c=1.0, k=1.0),
    "model that rejects": said("model", RETRY, 0.9, c=0.0, k=1.0),
}
GRADES = {name: signal is not None and signal.state == "given" and "k" in signal.grades for name, signal in MODEL.items()}
# Whatever else is said, a person has to look at these.
STOPS = {"violated", "broken constraint", "broken rule"}


RULE_SETS = {name: RuleSet(rules) for name, rules in RULES.items()}
GOALS = {
    (constraint, criterion): Goal(id="g", success_criteria=CRITERIA[criterion], constraints=CONSTRAINTS[constraint])
    for constraint, criterion in product(CONSTRAINTS, CRITERIA)
}


@cache
def judged(names: tuple[str, ...], unattended: str = "escalate") -> Judgment:
    rule, constraint, criterion, custom, model = names
    settings = JudgeSettings(
        has_custom=CUSTOM[custom] is not None,
        has_model=MODEL[model] is not None,
        unattended=unattended,  # type: ignore[arg-type]
    )
    given: list[Signal] = []
    for _ in range(3):
        found = next_judgment(Case({"text": "x"}, GOALS[constraint, criterion]), RULE_SETS[rule], settings, given)
        if isinstance(found, Judgment):
            return found
        signal = {"custom": CUSTOM[custom], "model": MODEL[model]}[found.signal]
        assert signal is not None, (names, found)
        given.append(signal)
    raise AssertionError((names, "is asked for again and again"))


def may_be_accepted(names: tuple[str, ...]) -> bool:
    """Whether something says so, and nothing that has to be asked is left out."""
    rule, constraint, criterion, custom, model = names
    if STOPS & set(names) or rule == "rule that escalates":
        return False
    if rule == "rule that accepts":
        return constraint != "unchecked"
    if criterion in ("broken criterion", "unmet"):
        return False
    if criterion == "met" and constraint != "unchecked":
        # A judge of one's own is asked all the same: it sees more than criteria say.
        return custom in ("no custom judge", "custom judge that passes", "custom judge that accepts")
    if custom != "no custom judge" and custom != "custom judge that passes":
        return custom == "custom judge that accepts" and constraint != "unchecked"
    # What has a check, or is not there, is nothing for a model to grade.
    ungraded = {"model that accepts a violation"} if constraint != "unchecked" else set()
    if criterion == "met":
        ungraded |= {"model that grades beyond 1", "model that accepts and grades low"}
    return model in {"model that accepts", *ungraded}


ALL = list(product(RULES, CONSTRAINTS, CRITERIA, CUSTOM, MODEL))


def test_of_all_combinations_only_what_a_signal_accepts_is_accepted() -> None:
    wrong = [names for names in ALL if (judged(names).action is ACCEPT) != may_be_accepted(names)]
    assert len(ALL) == 9_000
    assert wrong == []


def test_what_is_missing_or_broken_is_escalated_with_its_reason() -> None:
    for names in ALL:
        found = judged(names)
        if STOPS & set(names):
            assert (found.action, bool(found.reasoning)) == (ESCALATE, True), names
        if found.cause in ("missing", "broken", "unchecked", "threshold", "disagreement"):
            assert found.action is ESCALATE, names
            assert len(found.reasoning) > 10, names


@pytest.mark.parametrize("unattended", ["hold", "accept"])
def test_where_nobody_attends_hard_constraints_and_what_broke_wait_all_the_same(unattended: str) -> None:
    for names in ALL:
        attended = judged(names)
        if attended.action is not ACCEPT and (found := judged(names, unattended)).action is ACCEPT:
            assert unattended == "accept", names
            assert (found.cause, found.confidence) == ("unattended", None), names
            assert attended.cause in ("missing", "threshold", "disagreement") or "nobody graded" in attended.reasoning, names
            assert not STOPS & set(names), names
            # A hard constraint without a check passes only where a model has looked at it.
            assert names[1] != "unchecked" or GRADES[names[4]], names
