"""Cases: what is judged. Apart from the words of a judgement, which a worker needs before it has a goal: goals load pydantic."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from hive_mind.goals import GENERAL
from hive_mind.goals.goal import Constraint, Goal, SuccessCriterion
from hive_mind.goals.satisfaction import Check, Grades, Satisfaction, satisfaction
from hive_mind.judge.judgment import FACT, CaseKind


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
