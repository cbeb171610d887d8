"""The aims of an agent and its bounds on the way: goals with weighted criteria and constraints.

Goal(id="report", success_criteria=[SuccessCriterion(id="cited", metric="output_contains", target="[1]")])

People write them in files: unknown fields are refused, and names stand there in camelCase.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator
from pydantic.alias_generators import to_camel

from hive_mind.errors import ConditionError
from hive_mind.goals import GENERAL
from hive_mind.goals.condition import Condition

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
        if twice := _repeated(names):
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


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]
