"""Figures of a judge: how often people are needed, how often a rule decides, how sure it is, and what it costs."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import floor, fsum

from hive_mind.judge.judgment import Judgment, JudgmentAction
from hive_mind.judge.precedent import Judged

# A person reads ten numbers at a glance.
BANDS = 10


@dataclass(frozen=True, slots=True)
class JudgeFigures:
    """Figures that come from judgements alone; how right they are says `CalibrationMetrics`. Rates of nothing are None."""

    judged: int
    escalated: int
    by_rule: int
    """Decided by a rule."""
    unattended: int
    """Accepted because nobody was there to ask."""
    by_confidence: dict[float, int]
    """Judgements with such a confidence, rounded down to a tenth; those that have none are left out."""

    @property
    def escalation_rate(self) -> float | None:
        """How often a person is needed."""
        return self.escalated / self.judged if self.judged else None

    @property
    def rule_match_rate(self) -> float | None:
        """How often a rule gives a definitive answer."""
        return self.by_rule / self.judged if self.judged else None


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of judgements. `unpriced`: those of models without a known price, which `usd` leaves out."""

    asked: int
    """Judgements that a model was asked for."""
    tokens: int
    usd: float
    unpriced: int


def cost(judged: Iterable[Judged]) -> Cost:
    cases = [case for case in judged if case.model]
    return Cost(
        asked=len(cases),
        tokens=sum(case.input_tokens + case.output_tokens for case in cases),
        usd=fsum(case.usd for case in cases if case.usd is not None),
        unpriced=sum(case.usd is None for case in cases),
    )


def figures(judgments: Iterable[Judgment]) -> JudgeFigures:
    """Of all these judgements; what a person decided is none of a judge's."""
    own_judgments = [judgment for judgment in judgments if judgment.cause != "person"]
    bands = Counter(_band(judgment.confidence) for judgment in own_judgments if judgment.confidence is not None)
    return JudgeFigures(
        judged=len(own_judgments),
        escalated=sum(judgment.action is JudgmentAction.ESCALATE for judgment in own_judgments),
        by_rule=sum(judgment.cause == "rule" for judgment in own_judgments),
        unattended=sum(judgment.cause == "unattended" and judgment.action is JudgmentAction.ACCEPT for judgment in own_judgments),
        by_confidence={band / BANDS: bands[band] for band in sorted(bands)},
    )


def retries(judged: Iterable[Judged]) -> list[bool]:
    """Of each thing that was sent back and judged again, whether it was accepted the next time."""
    found, sent_back = [], set[str]()
    for case in filter(lambda one: one.subject, judged):
        action = case.judgment.action
        if case.subject in sent_back:
            found.append(action is JudgmentAction.ACCEPT)
        (sent_back.add if action is JudgmentAction.RETRY else sent_back.discard)(case.subject)
    return found


def _band(confidence: float) -> int:
    # 1.0 is the end of the last band rather than one of its own.
    return min(floor(confidence * BANDS + 1e-9), BANDS - 1)
