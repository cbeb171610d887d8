"""Precedents: what a person decided about a case, beside what the signals said. All that a judge learns from.

The record of a judgement: the case, the signals and the model, and the cost.
"""

from typing import Any

from msgspec import Struct

from hive_mind.errors import InvalidInput
from hive_mind.judge.judgment import Judgment, JudgmentAction, Signal


class Precedent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One decision. `share` is how many of such cases a person looks at: 1 of what is escalated, 0.05 of what is audited.

    `kind` is that of the goal, `judge` names the model with its prompt, `result` is what was judged, `case` names it.
    Raises `InvalidInput` for a share outside (0, 1].
    """

    person: JudgmentAction
    kind: str = "general"
    judge: str = ""
    signals: tuple[Signal, ...] = ()
    result: dict[str, Any] = {}
    share: float = 1.0
    case: str = ""
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

    def precedent(self, person: JudgmentAction, share: float = 1.0) -> Precedent:
        """With what a person decided; `share` of such cases are looked at."""
        signals = self.judgment.signals
        return Precedent(
            person=person, kind=self.kind, judge=self.model, signals=signals, result=self.result, share=share, case=self.case
        )
