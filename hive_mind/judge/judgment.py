"""The words of a judgement: the case, what may be decided, the signals it is decided by, and the decision with all that led to
it; and precedents: what a person decided about a case, beside what the signals said. All that a judge learns from.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

from hive_mind.errors import InvalidInput
from hive_mind.goals.goal import GENERAL, Constraint, Goal, SuccessCriterion
from hive_mind.goals.satisfaction import Check, Grades, Satisfaction, satisfaction
from hive_mind.model.bounds import BOUNDS

PERSON = "person"
"""The origin of what a person says: it is final."""
NO_GRADES: Mapping[str, float | None] = MappingProxyType({})

CaseKind = Literal["output", "fact"]
FACT: Final = "fact"
"""The kind of facts, where goals have theirs."""

Decided = Literal["person", "outputs", "constraint", "rule", "criteria", "custom", "agreement"]
Undecided = Literal["threshold", "disagreement", "missing", "broken", "unchecked", "unattended"]
Cause = Decided | Undecided
"""Why it was decided so: by whom or what, or what kept everybody but a person from deciding."""

Confidence = Annotated[float, Meta(ge=0.0, le=1.0)]
"""How sure somebody is of the action they name, not of ACCEPT."""


class JudgmentAction(StrEnum):
    """The action that follows from a judgement."""

    ACCEPT = "accept"
    RETRY = "retry"
    REPLAN = "replan"
    ESCALATE = "escalate"
    """It may not pass: a person is to decide or, said by a person, it is rejected."""


class Signal(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The statement of one source about a case. `origin` is its family: signals of one family are not independent.

    Raises `InvalidInput` for a confidence outside [0, 1], and for one that is missing or broken and says something all the same.
    """

    name: str
    origin: str
    action: JudgmentAction | None = None
    confidence: Confidence | None = None
    reasoning: str = ""
    state: Literal["given", "missing", "broken"] = "given"
    grades: Mapping[str, float | None] = NO_GRADES
    """By the id of a criterion or constraint, from 0 to 1; None where it can't say."""

    def __post_init__(self) -> None:
        _check_share("confidence", self.confidence, f"signal {self.name!r}")
        if self.state != "given" and (self.action is not None or self.confidence is not None):
            raise InvalidInput(f"signal {self.name!r} is {self.state}: leave out its action and confidence")


class Judgment(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The decision about a case, and its source. Raises `InvalidInput` for a confidence or threshold outside [0, 1].

    `confidence` is None where nobody measured one: a rule or a person decided. `feedback` is for the next attempt. `score` is
    how much of the goal is reached; `unchecked` and `violated` name criteria and constraints.
    """

    action: JudgmentAction
    reasoning: str
    cause: Cause = "custom"
    """A judgement that somebody else makes is a custom judge's."""
    confidence: Confidence | None = None
    feedback: str = ""
    signals: tuple[Signal, ...] = ()
    rule: str = ""
    """The id of the rule that decided."""
    threshold: Confidence | None = None
    """The threshold that the confidence was compared with."""
    score: float | None = None
    shadows: tuple[str, ...] = ()
    """Rules on trial that would have decided."""
    unchecked: tuple[str, ...] = ()
    violated: tuple[str, ...] = ()
    id: str = ""

    def __post_init__(self) -> None:
        _check_share("confidence", self.confidence, "a judgement")
        _check_share("threshold", self.threshold, "a judgement")


def _check_share(name: str, value: float | None, whose: str) -> None:
    try:
        BOUNDS["confidence"].refuse(name, 0.0 if value is None else value)
    except InvalidInput:
        raise InvalidInput(f"the {name} of {whose} is {value!r}: give a number from 0 to 1, or none") from None


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


class Example(Struct, frozen=True, kw_only=True):
    """A case to which rules are put: `result` as conditions see it; `case` names it; `person` is what a person decided, if any.

    `kind` is that of the goal; "fact" is of facts.
    """

    result: Mapping[str, Any] = {}
    kind: str = GENERAL
    case: str = ""
    person: JudgmentAction | None = None


class Precedent(Example, frozen=True, kw_only=True):
    """One decision. `share` is how many of such cases a person looks at: 1 of what is escalated, 0.05 of what is audited.

    Raises `InvalidInput` for a share outside (0, 1].
    """

    person: JudgmentAction
    signals: tuple[Signal, ...] = ()
    share: float = 1.0
    because: str = ""
    """The person's reason."""

    def __post_init__(self) -> None:
        if not 0.0 < self.share <= 1.0:
            raise InvalidInput(f"the share of the cases a person looks at is {self.share:g}: give a number above 0, up to 1")

    @property
    def weight(self) -> float:
        """How many cases it stands for."""
        return 1.0 / self.share


class Judged(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One judgement. `case` is the digest of the case, `model` the language model that was asked, "" where none was."""

    judgment: Judgment
    case: str
    goal: str = ""
    kind: str = "general"
    result: dict[str, Any] = {}
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = None
    """None where no price is known."""
    weights: dict[str, float] = {}
    """The weights of the signals, by origin, where they were learned."""
    subject: str = ""
    """Of a run: the run and the place that was judged; attempts have one subject."""
    audit: float = 0.0
    """It was accepted and is looked at by a person, as this share of such judgements is; 0: it is not."""
