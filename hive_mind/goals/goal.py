"""What an agent is to reach and what it may not do on the way: goals with weighted criteria and constraints.

Goal(id="report", success_criteria=[SuccessCriterion(id="cited", metric="output_contains", target="[1]")])
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic.alias_generators import to_camel

from hive_mind.errors import ConditionError
from hive_mind.goals.condition import Condition

Metric = Literal["llm_judge", "output_contains", "output_equals", "condition", "custom"]

_Id = Field(min_length=1, max_length=100, description="What verdicts and feedback call it.")


class _Part(BaseModel):
    """What people write: unknown fields are refused, and names are written in camelCase in files."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True, allow_inf_nan=False)


class SuccessCriterion(_Part):
    """One thing that is wanted, and how it is seen."""

    id: str = _Id
    description: str = Field("", description="What is wanted, in words; a judge reads it.")
    weight: float = Field(1.0, gt=0, description="How much it counts beside the others.")
    metric: Metric = Field("llm_judge", description="How it is seen: by a model or a person, or by code.")
    target: Any = Field(
        None, description="output_contains: a text; output_equals: a value; condition: a condition; custom: the name of a check."
    )
    output: str = Field("", description="The output that is looked at; all of them, as one text, where it is left out.")
    hidden: bool = Field(False, description="Never shown to the worker, only to the judge.")

    @model_validator(mode="after")
    def _has_a_target(self) -> "SuccessCriterion":
        if self.metric == "condition":
            _check_condition(self.target)
        elif self.metric == "output_contains" and (not isinstance(self.target, str) or not self.target):
            raise ValueError("output_contains needs the text to look for as its target")
        elif self.metric == "output_equals" and self.target is None:
            raise ValueError("output_equals needs a value as its target")
        elif self.metric == "custom" and not isinstance(self.target, str | None):
            raise ValueError("the target of a custom criterion is the name of a check")
        return self

    @property
    def check_name(self) -> str:
        """custom: the name of the check that is asked."""
        return self.target or self.id


class Constraint(_Part):
    """One thing that must not happen."""

    id: str = _Id
    description: str = Field("", description="What must not happen, in words; a judge reads it.")
    constraint_type: Literal["hard", "soft"] = Field("hard", description="hard: no rule and no model accepts over it.")
    category: str = Field("general", description="A word of your own, such as security or cost.")
    check: str = Field("", description="A condition that is true as long as it is kept; without one it is never taken for kept.")

    @field_validator("check")
    @classmethod
    def _compiles(cls, check: str) -> str:
        if check:
            _check_condition(check)
        return check


class Goal(_Part):
    """What is wanted. Its criteria say how much of it is reached, its constraints what no success makes good."""

    id: str = _Id
    name: str = Field("", description="What people call it.")
    description: str = Field("", description="What is wanted, in words.")
    kind: str = Field("general", description="Goals of a kind are judged alike: thresholds are learned for each.")
    success_criteria: Sequence[SuccessCriterion] = Field((), description="Without any, the goal is judged as a whole.")
    constraints: Sequence[Constraint] = Field((), description="What must not happen.")
    context: dict[str, Any] = Field(default_factory=dict, description="Knowledge and preferences: worker and judge read them.")
    inputs: Sequence[str] = Field((), description="What a run is given.")
    outputs: Sequence[str] = Field((), description="What a run has to set.")
    accept_at: float = Field(0.9, ge=0, le=1, description="The score from which on it is reached.")

    @model_validator(mode="after")
    def _names_each_once(self) -> "Goal":
        for what, parts in (("criterion", self.success_criteria), ("constraint", self.constraints)):
            if twice := _repeated(part.id for part in parts):
                raise ValueError(f"{what} {twice[0]!r} stands there twice; give each a name of its own")
        return self

    @property
    def criteria(self) -> Sequence[SuccessCriterion]:
        """What is scored: the goal itself where no criteria are given."""
        whole = SuccessCriterion(id=self.id, description=self.description or self.name or self.id)
        return self.success_criteria or (whole,)


def _check_condition(text: object) -> None:
    try:
        Condition(text if isinstance(text, str) else "")
    except ConditionError as error:
        raise ValueError(f"the condition can't be used: {error}") from None


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]
