"""The limits of a judge: how sure it has to be, which people are asked, and what happens where there are none."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from msgspec import Struct

from hive_mind.model.bounds import BOUNDS
from hive_mind.model.setting import SHARE, Setting

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
