"""The judge: a pure pipeline over signals. It decides, or names the signal it still needs, and it fails closed.

The first line that decides ends it: a person · outputs that are missing · hard constraints · rules · criteria that code decides ·
a custom judge or a model · agreement and the threshold · outputs alone. Nothing is accepted without a signal that says so, and
whatever is missing or broken on the way to a decision is handed to a person with its reason.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final, Literal

from msgspec.structs import replace

from hive_mind.goals import GENERAL
from hive_mind.goals.goal import Check, Constraint, Goal, Grades, Satisfaction, SuccessCriterion, satisfaction
from hive_mind.judge.calibration import Pooled, pooled
from hive_mind.judge.judgment import FACT, PERSON, CaseKind, Cause, JudgeSettings, Judgment, JudgmentAction, Signal
from hive_mind.judge.rules import RuleSet


@dataclass(frozen=True, slots=True)
class Case:
    """A result against a goal, or a fact at the gate, with all that a verdict may depend on; named by its digest.

    `outputs`: keys of `result` that have to be there beyond those of the goal. `attempts_left`: how often it may be done again.
    Without a goal, outputs that are there are all that is asked.
    """

    result: Mapping[str, Any]
    goal: Goal | None = None
    kind: CaseKind = "output"
    outputs: Sequence[str] = ()
    attempts_left: int = 0
    about: str = ""
    """The kind of the goal that it is a part of, where it has none of its own."""
    given: frozenset[str] = frozenset()
    """Keys of `result` that were there before: a rule is about what was made."""
    checks: Mapping[str, Check] = field(default_factory=dict, compare=False)

    @property
    def goal_kind(self) -> str:
        """Cases of a kind share thresholds and weights."""
        return self.goal.kind if self.goal else self.about or (FACT if self.kind == FACT else GENERAL)

    @property
    def criteria(self) -> Sequence[SuccessCriterion]:
        return self.goal.criteria if self.goal else ()

    @property
    def constraints(self) -> Sequence[Constraint]:
        return self.goal.constraints if self.goal else ()

    @property
    def missing(self) -> list[str]:
        """Outputs that are not there."""
        keys = (*(self.goal.outputs if self.goal else ()), *self.outputs)
        return [key for key in dict.fromkeys(keys) if self.result.get(key) is None]

    @property
    def names(self) -> Mapping[str, object]:
        plain = {key: value for key, value in self.result.items() if key not in self.given}
        return {"result": plain, "output": plain, "goal": {"id": self.goal.id if self.goal else "", "kind": self.goal_kind}}

    @property
    def digest(self) -> str:
        """Of the result and the goal: another result, or another goal, is another case. How long it may take is no part of it."""
        goal = self.goal.model_dump(mode="json", by_alias=True, exclude={"health"}) if self.goal else None
        content = json.dumps([self.kind, goal, self.result], sort_keys=True, default=str)
        return sha256(content.encode()).hexdigest()

    def satisfaction(self, grades: Grades | None = None) -> Satisfaction | None:
        """How far the goal is reached; None where there is none."""
        return satisfaction(self.goal, self.result, grades, self.checks) if self.goal else None


CUSTOM: Final = "custom"
RULES: Final = "rules"
"""The signal that some rule can't be asked here."""
MODEL: Final = "model"
TOO_UNSURE = "Confidence too low for autonomous decision"

_RETRY_FROM, _REPLAN_FROM = 0.75, 0.5
# Causes that a person has to look at, whatever `unattended` says.
_NEVER_ALONE = frozenset(("constraint", "unchecked", "rule", "broken", "person"))


@dataclass(frozen=True, slots=True)
class Need:
    """The signal that is needed before anything can be decided."""

    signal: Literal["custom", "model"]


def next_judgment(case: Case, rules: RuleSet, settings: JudgeSettings, signals: Sequence[Signal] = ()) -> Judgment | Need:
    """The decision on a case from the signals there are, or the need that comes first. For plain data it raises nothing."""
    judged = _Judged(case, rules, settings, tuple(signals))
    for step in _STEPS:
        outcome = step(judged)
        if isinstance(outcome, Need):
            return outcome
        if outcome is not None:
            return judged.finished(outcome)
    return judged.finished(_accepted("outputs" if case.kind == "output" else "gate", "the requested outputs are set", "outputs"))


def is_for_a_person(judgment: Judgment, settings: JudgeSettings) -> bool:
    """Whether somebody has to be asked, or nothing but waiting is left."""
    return judgment.action is JudgmentAction.ESCALATE and (settings.unattended == "escalate" or judgment.cause in _NEVER_ALONE)


@dataclass(frozen=True, slots=True)
class _Judged:
    case: Case
    rules: RuleSet
    settings: JudgeSettings
    given: tuple[Signal, ...]

    def named(self, name: str) -> Signal | None:
        return next((signal for signal in self.given if signal.name == name), None)

    @property
    def digest(self) -> str:
        """Of the case, where a rule decides a share of all."""
        return self.case.digest if self.rules.is_partial else ""

    def seen(self) -> Satisfaction | None:
        """How far the goal is reached, with the grades of all signals that were given; None where there is none."""
        if self.case.goal is None:
            return None
        grades: dict[str, float | None] = {}
        for signal in self.given:
            if signal.state == "given":
                grades |= signal.grades
        return self.case.satisfaction(grades)

    def unchecked(self, satisfaction: Satisfaction) -> list[str]:
        """Hard constraints that nobody has looked at."""
        hard = {constraint.id for constraint in self.case.constraints if constraint.constraint_type == "hard"}
        return [id for id in satisfaction.unchecked if id in hard]

    def left_to_grade(self, satisfaction: Satisfaction) -> list[str]:
        """Parts only a judge can grade: criteria without a check, and constraints, soft ones where that costs no question."""
        needed = {*self.unchecked(satisfaction), *(criterion.id for criterion in self.case.criteria)}
        return [id for id in satisfaction.unchecked if id in needed or self.settings.has_model]

    def finished(self, judgment: Judgment) -> Judgment:
        """With all that was looked at on the way; where nobody attends, what is done instead of asking."""
        if self.case.goal is None and not self.given and not self.rules.has_shadows:
            return _attended(self.settings, judgment)
        signals = (*judgment.signals, *(signal for signal in self.given if signal not in judgment.signals))
        shadows = self.rules.shadows(self.case.names, self.case.kind, self.digest) if self.rules.has_shadows else []
        shadow_ids = tuple(match.rule.id for match in shadows if not match.broken)
        judgment = replace(judgment, signals=signals, shadows=shadow_ids)
        if satisfaction := self.seen():
            is_alone = judgment.action is JudgmentAction.ESCALATE and not is_for_a_person(judgment, self.settings)
            if is_alone and self.unchecked(satisfaction):
                # A person decides on parts that no judge has looked at, whatever `unattended` lets pass.
                judgment = replace(judgment, cause="unchecked")
            judgment = replace(
                judgment, score=satisfaction.score, unchecked=satisfaction.unchecked, violated=satisfaction.violated
            )
        return _attended(self.settings, judgment)


def _by_person(judged: _Judged) -> Judgment | None:
    for signal in judged.given:
        if signal.origin == PERSON and signal.action:
            reasoning = signal.reasoning or f"{signal.name} decided"
            return Judgment(action=signal.action, reasoning=reasoning, cause="person", feedback=signal.reasoning)
    return None


def _by_outputs(judged: _Judged) -> Judgment | None:
    if not (missing := ", ".join(judged.case.missing)):
        return None
    reasoning, feedback = f"missing outputs: {missing}", f"set these outputs: {missing}"
    return Judgment(action=JudgmentAction.RETRY, reasoning=reasoning, cause="outputs", feedback=feedback)


def _by_constraints(judged: _Judged) -> Judgment | None:
    satisfaction = judged.seen()
    if satisfaction is None:
        return None
    constraints = {constraint.id: constraint for constraint in judged.case.constraints}
    if failed := [grade for grade in satisfaction.broken if grade.id in constraints]:
        return _escalated(f"constraint {failed[0].id} can't be checked: {failed[0].why}", "broken")
    hard = [id for id in satisfaction.violated if constraints[id].constraint_type == "hard"]
    if hard:
        violated = "; ".join(f"{id}{_described(constraints[id].in_words)}" for id in hard)
        return _escalated(f"violates hard constraint {violated}", "constraint")
    return None


def _by_rules(judged: _Judged) -> Judgment | None:
    match = judged.rules.first(judged.case.names, judged.case.kind, judged.digest)
    unasked = judged.named(RULES)
    if unasked and (match is None or match.rule.action is JudgmentAction.ACCEPT):
        # One that can't be asked might be the one that stops it.
        return _escalated(unasked.reasoning, "broken")
    if match is None:
        return None
    rule = match.rule
    if match.broken:
        return replace(_escalated(f"rule {rule.id} can't be applied to this: {match.broken}", "broken"), rule=rule.id)
    satisfaction = judged.seen()
    if rule.action is JudgmentAction.ACCEPT and satisfaction and (unchecked := judged.unchecked(satisfaction)):
        return replace(_unchecked(unchecked), rule=rule.id)
    reasoning = f"rule {rule.id}{_described(rule.description)}"
    return Judgment(
        action=rule.action, reasoning=reasoning, cause="rule", rule=rule.id, feedback=rule.feedback or rule.description
    )


def _by_criteria(judged: _Judged) -> Judgment | None:
    """The judgement of code, where nothing is left to grade."""
    satisfaction = judged.case.satisfaction()
    if satisfaction is None or judged.left_to_grade(satisfaction):
        return None
    if satisfaction.broken:
        return _escalated(f"criterion {satisfaction.broken[0].id} can't be checked: {satisfaction.broken[0].why}", "broken")
    judgment = _scored(judged, satisfaction)
    # A judge of one's own sees more than the criteria say, and so does not see what they refuse.
    is_left_to_it = judged.settings.has_custom and judgment.action is JudgmentAction.ACCEPT
    signal = judged.named(CUSTOM)
    return None if is_left_to_it and not (signal and signal.state == "given" and signal.action is None) else judgment


def _by_judge(judged: _Judged) -> Judgment | Need | None:
    """A custom judge, or else a model, where something is left that only they can say."""
    if judged.settings.has_custom:
        custom = judged.named(CUSTOM)
        if custom is None:
            return Need(CUSTOM)
        if custom.state == "broken":
            return _escalated(f"the custom judge failed: {custom.reasoning}", "broken")
        if custom.action is not None:
            return _weighed(judged, custom, "custom")
    plain = judged.case.satisfaction()
    # A fact has no goal: a model judges it wherever there is one.
    if plain is None and not (judged.case.kind == "fact" and judged.settings.has_model):
        return None
    model = judged.named(MODEL)
    if model is None and plain and not judged.settings.has_model:
        return _escalated(f"no model may judge this: {', '.join(judged.left_to_grade(plain))}", "missing")
    if model is None:
        return Need(MODEL)
    if model.state == "missing":
        return _escalated(f"no model judged this: {model.reasoning}", "missing")
    if model.state == "broken" or model.action is None:
        return _escalated(f"the model's verdict can't be used: {model.reasoning or 'it says nothing'}", "broken")
    return _weighed(judged, model, "agreement")


def _weighed(judged: _Judged, signal: Signal, cause: Cause) -> Judgment:
    """A judge's verdict, as far as the goal, the other signals and the threshold let it."""
    satisfaction = judged.seen()
    if satisfaction and satisfaction.broken:
        return _escalated(f"{satisfaction.broken[0].id} can't be checked: {satisfaction.broken[0].why}", "broken")
    if satisfaction and signal.action is JudgmentAction.ACCEPT and (stopped := _stopped(judged, satisfaction, signal)):
        return stopped
    if signal.confidence is None:
        if signal.name != CUSTOM:
            return _escalated(f"{signal.name} does not say how sure it is", "broken")
        reasoning = signal.reasoning or "the custom judge decided"
        return Judgment(
            action=signal.action or JudgmentAction.ESCALATE, reasoning=reasoning, cause="custom", feedback=signal.reasoning
        )
    pooled_signals = pooled(judged.given, judged.settings.weights_of(judged.case.goal_kind))
    if pooled_signals is None or pooled_signals.confidence is None:
        actions = "; ".join(f"{signal.name}: {signal.action} ({signal.confidence})" for signal in judged.given if signal.action)
        return _escalated(f"independent signals contradict each other: {actions}", "disagreement")
    return _decided(judged, pooled_signals, pooled_signals.confidence, signal, cause)


def _stopped(judged: _Judged, satisfaction: Satisfaction, signal: Signal) -> Judgment | None:
    """The obstacle to an ACCEPT of a judge. A custom judge answers for the parts it does not grade, a model grades all."""
    if unchecked := judged.unchecked(satisfaction):
        return _unchecked(unchecked)
    ungraded = [criterion.id for criterion in judged.case.criteria if criterion.id in satisfaction.unchecked]
    if ungraded and signal.name != CUSTOM:
        return _escalated(f"nobody graded {', '.join(ungraded)}", "unchecked")
    goal, score = judged.case.goal, satisfaction.possible if signal.name == CUSTOM else satisfaction.score
    return _scored(judged, satisfaction) if goal and score < goal.accept_at else None


def _decided(judged: _Judged, pooled_signals: Pooled, sure: float, signal: Signal, cause: Cause) -> Judgment:
    threshold = judged.settings.threshold_of(judged.case.goal_kind)
    if threshold is None:
        judgment = _escalated("past decisions of people don't let it decide alone", "threshold")
    elif sure < threshold:
        judgment = _unsure(judged, pooled_signals.action, sure / threshold, signal)
    else:
        judgment = Judgment(action=pooled_signals.action, reasoning=signal.reasoning, cause=cause, feedback=signal.reasoning)
    return replace(judgment, confidence=sure, threshold=threshold)


def _unsure(judged: _Judged, action: JudgmentAction, share: float, signal: Signal) -> Judgment:
    """Below the threshold: `share` of it is reached."""
    if judged.settings.degrade and judged.case.attempts_left > 0 and action is JudgmentAction.ACCEPT and share >= _REPLAN_FROM:
        lesser = JudgmentAction.RETRY if share >= _RETRY_FROM else JudgmentAction.REPLAN
        reasoning = f"too unsure to accept: {signal.reasoning}"
        return Judgment(action=lesser, reasoning=reasoning, cause="threshold", feedback=signal.reasoning)
    return _escalated(TOO_UNSURE, "threshold")


def _scored(judged: _Judged, satisfaction: Satisfaction) -> Judgment:
    goal = judged.case.goal
    if goal is None or satisfaction.score >= goal.accept_at:
        return _accepted("criteria", f"reaches {satisfaction.score:.2f} of the goal", "criteria")
    reasoning = f"reaches {satisfaction.score:.2f} of the goal; not met: {', '.join(satisfaction.unmet)}"
    descriptions = {criterion.id: criterion.description for criterion in judged.case.criteria if not criterion.hidden}
    unmet = [f"{id}{_described(descriptions[id])}" for id in satisfaction.unmet if id in descriptions]
    feedback = f"not met: {'; '.join(unmet)}" if unmet else "it is not good enough yet"
    return Judgment(action=JudgmentAction.RETRY, reasoning=reasoning, cause="criteria", feedback=feedback)


def _accepted(signal: str, reasoning: str, cause: Cause) -> Judgment:
    accepting = Signal(name=signal, origin=signal, action=JudgmentAction.ACCEPT, reasoning=reasoning)
    return Judgment(action=JudgmentAction.ACCEPT, reasoning=reasoning, cause=cause, signals=(accepting,))


def _escalated(reasoning: str, cause: Cause) -> Judgment:
    return Judgment(action=JudgmentAction.ESCALATE, reasoning=reasoning, cause=cause)


def _unchecked(ids: Sequence[str]) -> Judgment:
    return _escalated(f"unchecked hard constraint {', '.join(ids)}: give it a check, or a model that may judge it", "unchecked")


def _attended(settings: JudgeSettings, judgment: Judgment) -> Judgment:
    if judgment.action is not JudgmentAction.ESCALATE or is_for_a_person(judgment, settings):
        return judgment
    reasoning = f"nobody attends ({settings.unattended}): {judgment.reasoning}"
    if settings.unattended == "hold":
        return replace(judgment, reasoning=reasoning)
    signal = Signal(name="unattended", origin="unattended", action=JudgmentAction.ACCEPT, reasoning=reasoning)
    return replace(
        judgment,
        action=JudgmentAction.ACCEPT,
        reasoning=reasoning,
        cause="unattended",
        confidence=None,
        signals=(*judgment.signals, signal),
    )


def _described(description: str) -> str:
    return f" ({description})" if description else ""


_STEPS: Sequence[Callable[[_Judged], Judgment | Need | None]] = (
    _by_person,
    _by_outputs,
    _by_constraints,
    _by_rules,
    _by_criteria,
    _by_judge,
)
