"""The limits of a judge: how sure it has to be, which people are asked, and what happens where there are none."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from msgspec import Struct

from hive_mind.model.bounds import BOUNDS

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


class ModelReviewConfig(Struct, frozen=True):
    """A language model as judge. `audit` is the share of what it accepts that a person looks at.

    `weights`: by what people decided, or alike, its confidence and what others confirm count.
    """

    name: str = ""
    threshold: float = CONFIDENCE_THRESHOLD
    calls_per_minute: int = 6
    unattended: Unattended = "escalate"
    audit: float = 0.05
    weights: Literal["equal", "learned"] = "equal"
    degrade: bool = False


class ReviewConfig(Struct, frozen=True):
    """The judges of facts before they are shared, and of runs. `rules` are `EvaluationRule`s as a manifest has them."""

    facts: Literal["off", "rules", "people", "model"] = "off"
    rules: tuple[dict[str, Any], ...] = ()
    desk: DeskConfig = DeskConfig()
    model: ModelReviewConfig = ModelReviewConfig()
    functions: dict[str, str] = {}
    """Judges and checks of one's own, by name: FILE.py:NAME or MODULE:NAME."""
