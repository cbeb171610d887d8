"""A rule on trial: what it would do to facts or outputs that are there, and how often people decided otherwise. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hive_mind.errors import ConditionError
from hive_mind.goals.condition import Condition
from hive_mind.judge.case import FACT
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.judge.rules import EvaluationRule, RolloutRecord

EXAMPLES_MAX = 5


@dataclass(frozen=True, slots=True)
class Tried:
    """One case: what conditions see as `result`, how it is shown, and what a person decided, if anybody did."""

    result: Mapping[str, Any]
    title: str
    person: JudgmentAction | None = None
    kind: str = FACT
    """"fact", or the kind of the goal that an output is for."""

    @property
    def on(self) -> str:
        return FACT if self.kind == FACT else "output"


@dataclass(slots=True)
class Trial:
    """The result of one rule. `first` counts the cases that no rule before it decides.

    `rightly` and `wrongly` are those of which people decided the same, or otherwise. `broken` counts cases that it can't be put
    to, and `why` says it of the first.
    """

    rule: EvaluationRule
    matched: int = 0
    first: int = 0
    rightly: int = 0
    wrongly: int = 0
    broken: int = 0
    why: str = ""
    examples: list[str] = field(default_factory=list)

    @property
    def record(self) -> RolloutRecord:
        return RolloutRecord(self.rightly, self.rightly + self.wrongly)


def tried(rules: Iterable[EvaluationRule], cases: Iterable[Tried]) -> list[Trial]:
    """All of them in the order they are asked, also those that are on trial or retired, put to every case."""
    trials = [(Trial(rule), Condition(rule.condition)) for rule in sorted(rules, key=lambda rule: (-rule.priority, rule.id))]
    for case in cases:
        _put(trials, case)
    return [trial for trial, _ in trials]


def _put(trials: Sequence[tuple[Trial, Condition]], case: Tried) -> None:
    is_decided = False
    for trial, condition in trials:
        if trial.rule.on not in ("any", case.on):
            continue
        try:
            if not condition.holds(result=case.result, output=case.result, goal={"id": "", "kind": case.kind}):
                continue
        except ConditionError as error:
            trial.broken += 1
            trial.why = trial.why or str(error)
            continue
        trial.matched += 1
        trial.first += not is_decided
        is_decided = is_decided or trial.rule.mode == "active"
        if case.person is not None:
            is_agreed = (case.person is JudgmentAction.ACCEPT) is (trial.rule.action is JudgmentAction.ACCEPT)
            trial.rightly += is_agreed
            trial.wrongly += not is_agreed
        if len(trial.examples) < EXAMPLES_MAX:
            trial.examples.append(case.title)
