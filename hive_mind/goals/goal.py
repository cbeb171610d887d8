"""The aims of an agent and its bounds on the way: goals with weighted criteria and constraints.

Goal(id="report", success_criteria=[SuccessCriterion(id="cited", metric="output_contains", target="[1]")])

People write them in files (`kind: Goal`): unknown fields are refused, and names stand there in camelCase. A file is read to a
`Goal`, or to all that is wrong with it, each with its line and what to do; the first one is commented and right as it is.

    score = Σ weight · grade / Σ weight        with the grade of an unchecked criterion as 0 in `score` and 1 in `possible`

is how much of a goal a result reaches, as far as code can see and a judge has graded. Criteria that nobody checked are never
taken for met.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator
from pydantic.alias_generators import to_camel

from hive_mind.errors import ConditionError, GoalError, Problem
from hive_mind.forms import Finding, Form, Path, Tree, spelled
from hive_mind.forms.reading import in_order, located, read
from hive_mind.goals import GENERAL
from hive_mind.goals.condition import Condition
from hive_mind.remembered import remembered

Metric = Literal["llm_judge", "output_contains", "output_equals", "condition", "custom"]

_Id = Field(min_length=1, max_length=100, description="Its name in verdicts and feedback.")


class GoalSection(BaseModel):
    """A part of such a file. It is taken as it is: nothing is changed afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True, allow_inf_nan=False)


class SuccessCriterion(GoalSection):
    """One thing that is wanted, and how it is seen."""

    id: str = _Id
    description: str = Field("", description="The desired result, in words; a judge reads it.")
    weight: float = Field(1.0, gt=0, description="How much it counts beside the others.")
    metric: Metric = Field("llm_judge", description="How it is checked: by a model or a person, or by code.")
    target: Any = Field(
        None,
        validate_default=True,
        description="output_contains: a text; output_equals: a value; condition: a condition; custom: the name of a check.",
    )
    output: str = Field("", description="The output to check; without it, all of them as one text.")
    hidden: bool = Field(False, description="Never shown to the worker, only to the judge.")

    @field_validator("target")
    @classmethod
    def _fits(cls, target: Any, info: ValidationInfo) -> Any:
        match info.data.get("metric"):
            case "condition":
                _check_condition(target)
            case "output_contains" if not isinstance(target, str) or not target:
                raise ValueError("output_contains needs the text to look for as its target")
            case "output_equals" if target is None:
                raise ValueError("output_equals needs a value as its target")
            case "custom" if not isinstance(target, str | None):
                raise ValueError("the target of a custom criterion is the name of a check")
        return target

    @property
    def check_name(self) -> str:
        """custom: the name of the check that is asked."""
        return self.target or self.id


class Constraint(GoalSection):
    """One thing that must not happen."""

    id: str = _Id
    description: str = Field("", description="The forbidden event, in words; a judge reads it.")
    constraint_type: Literal["hard", "soft"] = Field("hard", description="hard: no rule and no model accepts over it.")
    category: str = Field(GENERAL, description="A label of your own, such as security or cost.")
    check: str = Field(
        "", description="A condition that is true while the constraint is kept; without one it never counts as kept."
    )

    @property
    def in_words(self) -> str:
        """Its description, behind its category where it has one."""
        return ": ".join(filter(None, (self.category if self.category != GENERAL else "", self.description)))

    @field_validator("check")
    @classmethod
    def _compiles(cls, check: str) -> str:
        if check:
            _check_condition(check)
        return check


_Named = SuccessCriterion | Constraint


class HealthCriteria(GoalSection):
    """From where on a run is in trouble, where this is not what the manifest of the fleet says for all."""

    warn: int | None = Field(None, ge=1, description="Steps in a row without anything accepted: a line in the log.")
    degraded: int | None = Field(None, ge=1, description="As many before a ticket is opened.")
    critical: int | None = Field(None, ge=1, description="As many before a ticket, and the queen holds the run up.")
    stall_min: float | None = Field(None, gt=0, description="Minutes without any step: critical.")

    @property
    def given(self) -> dict[str, float]:
        """Those that are given, by name."""
        return self.model_dump(exclude_none=True)

    @model_validator(mode="after")
    def _in_order(self) -> "HealthCriteria":
        table = [number for number in (self.warn, self.degraded, self.critical) if number is not None]
        if table != sorted(table):
            raise ValueError("warn is at most degraded, and degraded at most critical")
        return self


class Goal(GoalSection):
    """The desired result. Its criteria say how much of it is reached, its constraints name faults that no success makes good."""

    id: str = _Id
    name: str = Field("", description="Its name for people.")
    description: str = Field("", description="The desired result, in words.")
    kind: str = Field(GENERAL, description="Goals of one kind are judged alike: thresholds are learned per kind.")
    success_criteria: Sequence[SuccessCriterion] = Field((), description="Without any, the goal is judged as a whole.")
    constraints: Sequence[Constraint] = Field((), description="Events that must not happen.")
    context: dict[str, Any] = Field(default_factory=dict, description="Knowledge and preferences: worker and judge read them.")
    inputs: Sequence[str] = Field((), description="The inputs of a run.")
    outputs: Sequence[str] = Field((), description="The values that a run has to set.")
    accept_at: float = Field(0.9, ge=0, le=1, description="The score at which it counts as reached.")
    health: HealthCriteria = Field(default_factory=HealthCriteria, description="From where on a run for it is in trouble.")

    @field_validator("success_criteria", "constraints")
    @classmethod
    def _named_once(cls, parts: Sequence[_Named], info: ValidationInfo) -> Sequence[_Named]:
        names = [part.id for part in parts]
        if info.field_name == "constraints":
            # A judge grades by id: a criterion that is met must not say that the constraint of its name is kept.
            criteria: Sequence[_Named] = info.data.get("success_criteria", ())
            names += [criterion.id for criterion in criteria] or [info.data.get("id", "")]
        if twice := [name for name, times in Counter(names).items() if times > 1]:
            raise ValueError(f"the id {twice[0]!r} occurs twice; give each criterion and constraint a name of its own")
        return parts

    @field_validator("success_criteria", "constraints", "inputs", "outputs")
    @classmethod
    def _kept_as_it_is(cls, parts: Sequence[Any]) -> Sequence[Any]:
        return tuple(parts)

    @property
    def criteria(self) -> Sequence[SuccessCriterion]:
        """The criteria that are scored: the goal itself where none are given."""
        if self.success_criteria:
            return self.success_criteria
        return (SuccessCriterion(id=self.id, description=self.description or self.name or self.id),)


def _check_condition(text: object) -> None:
    try:
        Condition(text if isinstance(text, str) else "")
    except ConditionError as error:
        raise ValueError(f"the condition can't be used: {error}") from None


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
        check = self.checks.get(criterion.check_name)
        if check is None:
            return self._grade(criterion.id)
        try:
            return self._bounded(criterion.id, float(check(self.result)))
        except Exception as error:  # noqa: BLE001 - somebody else's code: whatever it raises, it has not said yes
            self.broken.append(Broken(criterion.id, f"its check {criterion.check_name!r} failed: {error}"))
            return None

    def at_constraint(self, constraint: Constraint) -> float | None:
        return self._holds(constraint.id, constraint.check) if constraint.check else self._grade(constraint.id)

    def _holds(self, id: str, condition: str) -> float | None:
        try:
            return float(_condition(condition).holds(result=dict(self.result), output=dict(self.result)))
        except ConditionError as error:
            self.broken.append(Broken(id, str(error)))
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


_LISTS = ("successCriteria", "constraints")

_FIRST = """\
# A goal: what is wanted, and what must not happen. Check it with: hive-mind file validate {file}
# All that can stand here: hive-mind file explain goal
apiVersion: hive-mind/v1
kind: Goal
spec:
  id: {id}
  description: Say in a few sentences what is wanted.

  # How much of it is reached is the sum of what is met, by weight.
  successCriteria:
    - id: useful
      description: The summary answers the question, and names what is not known.
      weight: 2              # twice as much as each of the others
      metric: llm_judge      # a model or a person grades it
    - id: cites-sources
      metric: output_contains
      output: summary        # left out: all outputs, as one text
      target: "[1]"
    - id: short
      metric: condition      # a question to the outputs, in a part of Python
      target: len(output.summary) < 2000

  # Limits that no success makes up for. hard: nothing is accepted over it. soft: it is noted.
  constraints:
    - id: no-passwords
      description: No password in the logs.
      category: security
      check: "'password' not in str(result.get('logs', ''))"   # true as long as it is kept
    - id: polite
      constraintType: soft
      description: The tone is friendly.    # without a check: a model or a person says whether it is kept

  # Knowledge for worker and judge: facts of the field, preferences.
  context:
    audience: people who are new to it

  outputs: [summary, logs]
  acceptAt: 0.9              # reached from this score on
"""


class GoalFile(BaseModel):
    """The goal of a run, its constraints, and how both are checked."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel)

    api_version: Literal["hive-mind/v1"] = Field(description="The version of this form.")
    kind: Literal["Goal"] = Field(description="The kind of the file.")
    spec: Goal


GOAL = Form(
    "goal",
    GoalFile,
    begin="begin with `hive-mind file init goal`",
    help="hive-mind file explain goal",
    # The values of `context` and `target` may be deep; the rest has four levels.
    levels="four",
)


def goal_of(text: str, file: str = "goal") -> Goal:
    """The goal in the text of such a file. Raises `GoalError`."""
    found_read = read(text, GOAL)
    if found_read.value is None:
        raise GoalError(_exact(found_read.problems, found_read.tree), file)
    return found_read.value.spec


def _exact(problems: tuple[Problem, ...], tree: Tree | None) -> tuple[Problem, ...]:
    """With the line of each repeated id, instead of that of its list."""
    repeated = tuple(_repeated(tree)) if tree else ()
    lists = {problem.path.partition("[")[0] for problem in repeated}
    return in_order([*(problem for problem in problems if problem.path not in lists), *repeated])


def _repeated(tree: Tree) -> Iterator[Problem]:
    """A grade is given by id alone, so criteria and constraints share their names."""
    places_by_name: dict[str, str] = {}
    for place in _ids(tree):
        name = tree.at(place)[0].value
        if isinstance(name, str) and places_by_name.setdefault(name, spelled(place[:-1])) != spelled(place[:-1]):
            yield located(Finding(place, f"is also the id of {places_by_name[name]}; choose another"), tree, GOAL)


def _ids(tree: Tree) -> Iterator[Path]:
    criteria, way = tree.at(("spec", "successCriteria"))
    if len(way) < 2 or not criteria.parts:
        # The goal is then its own and only criterion.
        yield ("spec", "id")
    for name in _LISTS:
        parts, _ = tree.at(("spec", name))
        for number in range(len(parts.value) if isinstance(parts.value, list) else 0):
            place = ("spec", name, number, "id")
            if tree.at(place)[1] == place:
                yield place


def first_goal(name: str, file: str) -> str:
    """The text of a file that begins a goal."""
    return _FIRST.format(id=name, file=file)
