"""The words of a judgement: what may be decided, the signals it is decided by, and the decision with all that led to
it; and precedents: what a person decided about a case, beside what the signals said. All that a judge learns from.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

from hive_mind.errors import InvalidInput
from hive_mind.goals import GENERAL
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
