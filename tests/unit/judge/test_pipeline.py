"""What is decided by which signal, and that what is missing or broken is handed to a person with its reason."""

from typing import Any

import pytest

from hive_mind.goals.goal import Constraint, Goal, SuccessCriterion
from hive_mind.judge.judgment import JudgeSettings, Judgment, JudgmentAction, Signal
from hive_mind.judge.pipeline import TOO_UNSURE, Case, Need, next_judgment
from hive_mind.judge.rules import EvaluationRule, RuleSet

ACCEPT, RETRY, REPLAN, ESCALATE = JudgmentAction
NO_RULES = RuleSet()
GRADED = Goal(id="g", success_criteria=[SuccessCriterion(id="good", description="It reads well.")])
HARD = Constraint(id="safe", description="no secrets", check="'secret' not in str(result)")
UNCHECKED = Constraint(id="polite")
ALONE, WITH_MODEL, WITH_CUSTOM = JudgeSettings(), JudgeSettings(has_model=True), JudgeSettings(has_custom=True)


def model(action: JudgmentAction | None = ACCEPT, sure: float | None = 0.9, **fields: Any) -> Signal:
    grades = {"good": 1.0 if action is ACCEPT else 0.2}
    return Signal(**{"name": "model", "origin": "model", "action": action, "confidence": sure, "grades": grades} | fields)


def rule(action: JudgmentAction = ACCEPT, condition: str = "True", **fields: Any) -> RuleSet:
    return RuleSet([EvaluationRule(**{"id": "r", "condition": condition, "action": action} | fields)])


def decided(case: Case, *signals: Signal, rules: RuleSet = NO_RULES, settings: JudgeSettings = ALONE) -> Judgment:
    found = next_judgment(case, rules, settings, signals)
    assert isinstance(found, Judgment), found
    return found


def test_missing_outputs_are_asked_for_before_any_rule_or_model() -> None:
    found = decided(Case({"a": 1, "b": None}, outputs=("a", "b", "c")), rules=rule(), settings=WITH_MODEL)
    assert (found.action, found.cause, found.feedback) == (RETRY, "outputs", "set these outputs: b, c")


def test_where_nothing_is_asked_but_outputs_they_are_the_signal() -> None:
    found = decided(Case({"a": 1}, outputs=("a",)), settings=WITH_MODEL)
    assert (found.action, found.cause, [one.name for one in found.signals]) == (ACCEPT, "outputs", ["outputs"])


def test_no_rule_no_judge_and_no_model_accepts_over_a_hard_constraint() -> None:
    case = Case({"text": "a secret"}, Goal(id="g", constraints=[HARD]))
    for settings in (ALONE, WITH_CUSTOM, JudgeSettings(unattended="accept")):
        found = decided(case, model(name="custom"), model(), rules=rule(priority=9999), settings=settings)
        assert (found.action, found.cause, found.violated) == (ESCALATE, "constraint", ("safe",))
        assert found.reasoning == "violates hard constraint safe (no secrets)"


def test_a_soft_constraint_is_noted_and_stops_nothing() -> None:
    soft = HARD.model_copy(update={"constraint_type": "soft"})
    goal = Goal(id="g", constraints=[soft], success_criteria=[SuccessCriterion(id="c", metric="condition", target="True")])
    found = decided(Case({"text": "a secret"}, goal))
    assert (found.action, found.violated) == (ACCEPT, ("safe",))


@pytest.mark.parametrize("action", list(JudgmentAction))
def test_a_rule_that_matches_is_final_and_no_model_is_asked(action: JudgmentAction) -> None:
    found = decided(Case({"a": 1}, GRADED), rules=rule(action, description="because"), settings=WITH_MODEL)
    assert (found.action, found.cause, found.rule, found.confidence) == (action, "rule", "r", None)
    assert found.reasoning == "rule r (because)"


def test_a_rule_that_breaks_is_named_and_nothing_behind_it_decides() -> None:
    found = decided(Case({}, GRADED), model(), rules=rule(condition="result['x'] > 1"), settings=WITH_MODEL)
    assert (found.action, found.cause, found.rule) == (ESCALATE, "broken", "r")
    assert found.reasoning == "rule r can't be applied to this: there is no 'x' in it; get() gives None instead"


def test_of_several_that_break_the_first_is_named() -> None:
    checks = {name: f"result['{name}'] > 1" for name in ("first", "second")}
    constraints = [Constraint(id=name, check=check) for name, check in checks.items()]
    criteria = [SuccessCriterion(id=name, metric="condition", target=check) for name, check in checks.items()]
    custom = model(ACCEPT, 0.9, name="custom", origin="custom", grades={})
    for goal, settings, named in (
        (Goal(id="g", constraints=constraints), ALONE, "constraint first"),
        (Goal(id="g", success_criteria=criteria), ALONE, "criterion first"),
        (Goal(id="g", success_criteria=[*criteria, *GRADED.success_criteria]), WITH_CUSTOM, "first"),
    ):
        judgment = decided(Case({}, goal), custom, settings=settings)
        assert (judgment.action, judgment.cause) == (ESCALATE, "broken")
        assert judgment.reasoning == f"{named} can't be checked: there is no 'first' in it; get() gives None instead"


@pytest.mark.parametrize(("feedback", "description", "told"), [("f", "d", "f"), ("", "d", "d"), ("f", "", "f"), ("", "", "")])
def test_a_rule_tells_its_feedback_or_else_what_it_is_for(feedback: str, description: str, told: str) -> None:
    assert decided(Case({"a": 1}), rules=rule(RETRY, feedback=feedback, description=description)).feedback == told


def test_a_rule_that_accepts_does_not_stand_for_a_hard_constraint_nobody_checked() -> None:
    found = decided(Case({}, Goal(id="g", constraints=[UNCHECKED])), rules=rule(), settings=WITH_MODEL)
    assert (found.action, found.cause, found.unchecked) == (ESCALATE, "unchecked", ("g", "polite"))


def test_rules_on_trial_are_noted_and_decide_nothing() -> None:
    found = decided(Case({"a": 1}, outputs=("a",)), rules=rule(ESCALATE, mode="shadow"))
    assert (found.action, found.shadows) == (ACCEPT, ("r",))


@pytest.mark.parametrize(("target", "action"), [("pumps", ACCEPT), ("valves", RETRY)])
def test_what_code_can_decide_no_model_is_asked(target: str, action: JudgmentAction) -> None:
    goal = Goal(
        id="g", success_criteria=[SuccessCriterion(id="c", metric="output_contains", target=target, description="names it")]
    )

    found = decided(Case({"report": "all pumps run"}, goal), settings=WITH_MODEL)

    assert (found.action, found.cause, found.confidence) == (action, "criteria", None)
    assert found.feedback == ("not met: c (names it)" if action is RETRY else "")


def test_feedback_tells_nothing_of_hidden_criteria() -> None:
    hidden = SuccessCriterion(id="trap", metric="output_contains", target="x", description="say x", hidden=True)
    found = decided(Case({"a": "b"}, Goal(id="g", success_criteria=[hidden])))
    assert (found.action, found.feedback) == (RETRY, "it is not good enough yet")


def test_a_model_is_asked_for_what_only_it_can_say() -> None:
    assert next_judgment(Case({}, GRADED), NO_RULES, WITH_MODEL) == Need("model")
    assert next_judgment(Case({}, Goal(id="g", constraints=[UNCHECKED])), NO_RULES, WITH_MODEL) == Need("model")
    found = decided(Case({}, GRADED), model(reasoning="fine"), settings=WITH_MODEL)
    assert (found.action, found.cause, found.reasoning, found.score, found.threshold) == (ACCEPT, "agreement", "fine", 1.0, 0.7)


def test_without_a_model_a_person_is_asked_and_told_what_is_left() -> None:
    found = decided(Case({}, GRADED))
    assert (found.action, found.cause, found.reasoning) == (ESCALATE, "missing", "no model may judge this: good")


def test_an_accept_does_not_count_below_the_score_that_is_wanted() -> None:
    found = decided(Case({}, GRADED), model(grades={"good": 0.5}), settings=WITH_MODEL)
    assert (found.action, found.cause, found.feedback) == (RETRY, "criteria", "not met: good (It reads well.)")


def test_a_constraint_that_a_model_says_is_violated_is() -> None:
    case = Case({}, Goal(id="g", success_criteria=GRADED.success_criteria, constraints=[UNCHECKED]))

    kept = decided(case, model(grades={"good": 1.0, "polite": 1.0}), settings=WITH_MODEL)
    violated = decided(case, model(grades={"good": 1.0, "polite": 0.0}), settings=WITH_MODEL)
    silent = decided(case, model(), settings=WITH_MODEL)

    assert kept.action is ACCEPT
    assert (violated.action, violated.cause) == (ESCALATE, "constraint")
    assert (silent.action, silent.cause) == (ESCALATE, "unchecked")


@pytest.mark.parametrize(("sure", "action"), [(0.71, ACCEPT), (0.69, ESCALATE)])
def test_below_the_threshold_a_person_is_asked(sure: float, action: JudgmentAction) -> None:
    found = decided(Case({}, GRADED), model(sure=sure), settings=WITH_MODEL)
    assert (found.action, found.threshold, round(found.confidence or 0, 2)) == (action, 0.7, sure)
    assert action is ACCEPT or found.reasoning == TOO_UNSURE == "Confidence too low for autonomous decision"


@pytest.mark.parametrize(("sure", "left", "action"), [(0.6, 1, RETRY), (0.5, 1, REPLAN), (0.6, 0, ESCALATE), (0.5, 0, ESCALATE)])
def test_a_little_too_unsure_it_is_tried_again_while_attempts_last(sure: float, left: int, action: JudgmentAction) -> None:
    settings = JudgeSettings(has_model=True, degrade=True)
    assert decided(Case({}, GRADED, attempts_left=left), model(sure=sure), settings=settings).action is action


def test_a_kind_of_goal_has_a_threshold_of_its_own_or_none_at_all() -> None:
    strict = JudgeSettings(has_model=True, thresholds={"general": 0.95, "other": None})
    other = GRADED.model_copy(update={"kind": "other"})

    assert decided(Case({}, GRADED), model(sure=0.9), settings=strict).cause == "threshold"
    assert decided(Case({}, GRADED), model(sure=0.97), settings=strict).action is ACCEPT
    assert (
        decided(Case({}, other), model(sure=0.99), settings=strict).reasoning
        == "past decisions of people don't let it decide alone"
    )


def test_independent_signals_that_agree_lift_what_one_alone_could_not_and_contradiction_asks() -> None:
    second = Signal(name="confirmations", origin="confirmations", action=ACCEPT, confidence=0.75)
    against = Signal(name="confirmations", origin="confirmations", action=RETRY, confidence=0.75)

    assert decided(Case({}, GRADED), model(sure=0.65), settings=WITH_MODEL).action is ESCALATE
    assert decided(Case({}, GRADED), model(sure=0.65), second, settings=WITH_MODEL).action is ACCEPT
    found = decided(Case({}, GRADED), model(sure=0.9), against, settings=WITH_MODEL)
    assert (found.action, found.cause) == (ESCALATE, "disagreement")


def test_a_custom_judge_stands_in_for_the_model_and_may_pass() -> None:
    both = JudgeSettings(has_custom=True, has_model=True)
    custom = {"name": "custom", "origin": "custom", "grades": {}}

    assert next_judgment(Case({}, GRADED), NO_RULES, both) == Need("custom")
    assert decided(Case({}, GRADED), model(RETRY, None, **custom), settings=both).action is RETRY
    assert decided(Case({}, GRADED), model(ACCEPT, None, **custom), settings=both).cause == "custom"
    assert decided(Case({}, GRADED), model(ACCEPT, 0.4, **custom), settings=both).cause == "threshold"
    assert next_judgment(Case({}, GRADED), NO_RULES, both, [model(None, None, **custom)]) == Need("model")


def test_a_person_is_final_also_over_hard_constraints() -> None:
    said = Signal(name="ann", origin="person", action=ACCEPT, reasoning="it is a test key")
    found = decided(Case({"text": "a secret"}, Goal(id="g", constraints=[HARD])), said)
    assert (found.action, found.cause, found.reasoning, found.violated) == (ACCEPT, "person", "it is a test key", ("safe",))


def test_where_nobody_attends_that_is_said_and_told_apart() -> None:
    case = Case({}, GRADED)
    held = decided(case, settings=JudgeSettings(unattended="hold"))
    accepted = decided(case, settings=JudgeSettings(unattended="accept"))

    assert (held.action, held.cause) == (ESCALATE, "missing")
    assert (accepted.action, accepted.cause, accepted.confidence) == (ACCEPT, "unattended", None)
    assert accepted.reasoning == "nobody attends (accept): no model may judge this: good"
    assert [one.origin for one in accepted.signals] == ["unattended"]


def test_a_result_that_says_that_it_succeeded_is_no_signal() -> None:
    assert decided(Case({"success": True, "confidence": 1.0}, GRADED)).action is ESCALATE


def test_another_result_or_goal_is_another_case() -> None:
    digests = {
        Case({"a": 1}).digest,
        Case({"a": 2}).digest,
        Case({"a": 1}, GRADED).digest,
        Case({"a": 1}, GRADED.model_copy(update={"accept_at": 0.5})).digest,
        Case({"a": 1}, kind="fact").digest,
    }

    assert len(digests) == 5
    assert Case({"a": 1, "b": 2}).digest == Case({"b": 2, "a": 1}).digest
