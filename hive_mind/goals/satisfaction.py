"""How much of a goal a result reaches, as far as code can see and a judge has graded. Criteria that nobody checked are never
taken for met.

score = Σ weight · grade / Σ weight        with the grade of an unchecked criterion as 0 in `score` and 1 in `possible`
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hive_mind.errors import ConditionError
from hive_mind.goals.condition import Condition
from hive_mind.goals.goal import Constraint, Goal, SuccessCriterion
from hive_mind.remembered import remembered

Result = Mapping[str, Any]
Grades = Mapping[str, float | None]
"""By the id of a criterion or constraint: 0 to 1, None where it could not be graded. 1 for a constraint says that it is kept."""
Check = Callable[[Result], float | bool]
"""A check of one's own: a grade from 0 to 1, or yes and no."""

_KEPT_FROM = 0.5


@dataclass(frozen=True, slots=True)
class Broken:
    """A criterion or constraint whose check could not be made, and why."""

    id: str
    why: str


@dataclass(frozen=True, slots=True)
class Satisfaction:
    """How far a goal is reached, by ids. `possible`: the score if all that nobody checked were met."""

    score: float
    possible: float
    met: tuple[str, ...] = ()
    unmet: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    """Criteria and constraints that neither code nor a judge has looked at."""
    violated: tuple[str, ...] = ()
    broken: tuple[Broken, ...] = ()


def satisfaction(
    goal: Goal, result: Result, graded: Grades | None = None, checks: Mapping[str, Check] | None = None
) -> Satisfaction:
    """How far `result` (outputs by name) reaches `goal`. `graded`: what a judge said; `checks`: for custom criteria, by name."""
    broken: list[Broken] = []
    examined = _Looked(result, graded or {}, checks or {}, broken)
    grades = {criterion.id: examined.at_criterion(criterion) for criterion in goal.criteria}
    grades_of_constraints = {constraint.id: examined.at_constraint(constraint) for constraint in goal.constraints}
    weights = {criterion.id: criterion.weight for criterion in goal.criteria}
    total = sum(weights.values())
    score = sum(weights[id] * (grade or 0.0) for id, grade in grades.items()) / total
    failed = {constraint.id for constraint in broken}
    unchecked = [id for id, grade in (*grades.items(), *grades_of_constraints.items()) if grade is None and id not in failed]
    return Satisfaction(
        score=score,
        possible=score + sum(weights[id] for id in grades if id in unchecked) / total,
        met=tuple(id for id, grade in grades.items() if grade is not None and grade >= goal.accept_at),
        unmet=tuple(id for id, grade in grades.items() if grade is not None and grade < goal.accept_at),
        unchecked=tuple(dict.fromkeys(unchecked)),
        violated=tuple(id for id, grade in grades_of_constraints.items() if grade is not None and grade < _KEPT_FROM),
        broken=tuple(broken),
    )


def as_text(value: object) -> str:
    """An output as it is looked through: a text as it stands, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


@dataclass(frozen=True, slots=True)
class _Looked:
    """A result with its checks: a grade from 0 to 1, or None where nobody can say."""

    result: Result
    graded: Grades
    checks: Mapping[str, Check]
    broken: list[Broken]

    def at_criterion(self, criterion: SuccessCriterion) -> float | None:
        match criterion.metric:
            case "llm_judge":
                return self._grade(criterion.id)
            case "output_contains":
                return float(criterion.target in self._text(criterion.output))
            case "output_equals":
                return float((self.result.get(criterion.output) if criterion.output else self._text("")) == criterion.target)
            case "condition":
                return self._holds(criterion.id, criterion.target)
        return self._by_check(criterion)

    def at_constraint(self, constraint: Constraint) -> float | None:
        return self._holds(constraint.id, constraint.check) if constraint.check else self._grade(constraint.id)

    def _holds(self, id: str, condition: str) -> float | None:
        try:
            return float(_condition(condition).holds(result=dict(self.result), output=dict(self.result)))
        except ConditionError as error:
            self.broken.append(Broken(id, str(error)))
            return None

    def _by_check(self, criterion: SuccessCriterion) -> float | None:
        check = self.checks.get(criterion.check_name)
        if check is None:
            return self._grade(criterion.id)
        try:
            return self._bounded(criterion.id, float(check(self.result)))
        except Exception as error:  # noqa: BLE001 - somebody else's code: whatever it raises, it has not said yes
            self.broken.append(Broken(criterion.id, f"its check {criterion.check_name!r} failed: {error}"))
            return None

    def _grade(self, id: str) -> float | None:
        grade = self.graded.get(id)
        return None if grade is None else self._bounded(id, grade)

    def _bounded(self, id: str, grade: float) -> float | None:
        if 0.0 <= grade <= 1.0:
            return grade
        self.broken.append(Broken(id, f"its grade {grade:g} is not from 0 to 1"))
        return None

    def _text(self, output: str) -> str:
        if output:
            return as_text(self.result[output]) if output in self.result else ""
        return "\n".join(map(as_text, self.result.values()))


@remembered(256)
def _condition(text: str) -> Condition:
    return Condition(text)
