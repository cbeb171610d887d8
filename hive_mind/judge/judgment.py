"""The words of a judgement: what may be decided, the signals it is decided by, and the decision with all that led to it.

Precedents are what a person decided about a case, beside what the signals said: all that a judge learns from. Limits of a judge
are how sure it has to be, which people are asked, and what happens where there are none.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

from hive_mind.errors import InvalidInput
from hive_mind.goals import GENERAL
from hive_mind.model.bounds import BOUNDS, SHARE, Setting

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


Unattended = Literal["escalate", "hold", "accept"]

CONFIDENCE_THRESHOLD = 0.7
"""Below it nothing is decided without a person; raise it to be asked more often."""


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """`thresholds`: learned, by kind of goal; None there: no judge may decide alone. `weights`: learned, by kind and origin.

    `has_custom`, `has_model`: whether such signals can be had. `degrade`: a little too unsure to accept means to try again, as
    long as attempts last. `unattended`: what replaces a question to a person where nobody is there; hard constraints, rules that
    escalate and checks that are broken wait for a person all the same.
    """

    threshold: float = CONFIDENCE_THRESHOLD
    thresholds: Mapping[str, float | None] = field(default_factory=dict)
    weights: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    has_custom: bool = False
    has_model: bool = False
    degrade: bool = False
    unattended: Unattended = "escalate"

    def __post_init__(self) -> None:
        """Raises `InvalidInput` for a threshold outside [0, 1]."""
        for kind, threshold in [("", self.threshold), *self.thresholds.items()]:
            if threshold is not None:
                BOUNDS["confidence"].refuse(f"thresholds[{kind}]" if kind else "threshold", threshold)

    def threshold_of(self, kind: str) -> float | None:
        """How sure a judge has to be of goals of this kind; None: it may not decide alone."""
        return self.thresholds.get(kind, self.threshold)

    def weights_of(self, kind: str) -> Mapping[str, float]:
        """How much the signals of each origin count; empty for alike."""
        return self.weights.get(kind, {})


class DeskConfig(Struct, frozen=True):
    """The agent at whose desk people decide for the whole fleet, and its node."""

    agent: str = ""
    node: str = ""


@dataclass(frozen=True)
class ModelReviewConfig:
    """A language model as judge, and when a person decides instead."""

    name: Annotated[str, Setting("model")] = ""
    """The model that judges, such as openai:gpt-5-mini; by default the agent's, or the fleet's."""
    threshold: Annotated[float, SHARE] = CONFIDENCE_THRESHOLD
    """How sure a judge has to be to decide alone, until calibrated from people's decisions."""
    calls_per_minute: Annotated[int, Setting(ge=1, le=1000)] = 6
    """model: calls of an agent, each about 20 facts; others wait at home."""
    unattended: Annotated[Unattended, Setting()] = "escalate"
    """Where a judge may not decide alone. escalate: a person is asked. hold: a fact stays home, a node of a run has failed.
    accept: it passes unjudged. A failure goes to a person in any case."""
    audit: Annotated[float, SHARE] = 0.05
    """The share of what a judge accepts that a person looks at afterwards."""
    weights: Annotated[Literal["equal", "learned"], Setting()] = "equal"
    """How a judge's confidence and what others confirm count. learned: by what people decided (hive-mind judge)."""
    degrade: Annotated[bool, Setting()] = False
    """Runs: what a judge is a little too unsure to accept is tried again or planned anew while attempts last."""

    @property
    def settings(self) -> JudgeSettings:
        """How sure a judge has to be, and what if it is not."""
        return JudgeSettings(threshold=self.threshold, unattended=self.unattended, degrade=self.degrade)


@dataclass(frozen=True)
class JudgedBy:
    """The judge of facts before others learn of them, and judges of one's own."""

    facts: Annotated[Literal["off", "rules", "people", "model"], Setting()] = "off"
    """off: no review. rules: shared unless a rule objects; a rule may ask a person. people: a person decides where no rule does
    (hive-mind inbox). model: a language model does, and a person where it is too unsure."""
    functions: Annotated[dict[str, str], Setting()] = field(default_factory=dict)
    """Judges and checks of your own in Python, by the names that workers give: FILE.py:NAME, relative to the manifest, or
    MODULE:NAME."""


@dataclass(frozen=True)
class ReviewConfig(JudgedBy):
    """The judges of facts before they are shared, and of runs. `rules` are `EvaluationRule`s as a manifest has them."""

    rules: tuple[dict[str, Any], ...] = ()
    desk: DeskConfig = field(default_factory=DeskConfig)
    model: ModelReviewConfig = field(default_factory=ModelReviewConfig)
