"""What is kept of a judgement: what was judged, by which signals and which model, and what it cost."""

from typing import Any

from msgspec import Struct

from hive_mind.judge.judgment import Judgment, JudgmentAction
from hive_mind.judge.precedent import Precedent


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
    audit: float = 0.0
    """It was accepted and is looked at by a person, as this share of such judgements is; 0: it is not."""

    def precedent(self, person: JudgmentAction, share: float = 1.0) -> Precedent:
        """With what a person decided; `share` of such cases are looked at."""
        signals = self.judgment.signals
        return Precedent(
            person=person, kind=self.kind, judge=self.model, signals=signals, result=self.result, share=share, case=self.case
        )
