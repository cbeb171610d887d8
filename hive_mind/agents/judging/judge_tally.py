"""Counts of the actions of a judge of facts since its process began, made as it acts: for monitoring."""

from collections import Counter
from dataclasses import dataclass, field
from math import ceil

from hive_mind.judge.precedent import Judged


@dataclass(slots=True)
class JudgeTally:
    """`judgements` by action and cause, `tenths` by confidence, rounded up to a tenth: 10 is more than 0.9."""

    judgements: Counter[tuple[str, str]] = field(default_factory=Counter)
    tenths: Counter[int] = field(default_factory=Counter)
    confidence: float = 0.0
    """The sum of all."""
    tokens: int = 0
    usd: float = 0.0
    threshold: float | None = None
    """At work; None: it may not decide alone."""

    def count(self, judged: Judged) -> None:
        judgment = judged.judgment
        self.judgements[judgment.action.value, judgment.cause] += 1
        self.tokens += judged.input_tokens + judged.output_tokens
        self.usd += judged.usd or 0.0
        if judgment.confidence is not None:
            self.tenths[ceil(judgment.confidence * 10 - 1e-9)] += 1
            self.confidence += judgment.confidence
