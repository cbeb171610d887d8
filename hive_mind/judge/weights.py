"""Weights: how much each signal tells about what people decide, learned for each kind of goal.

A signal's information is the mutual information (Shannon 1948) of "it accepts" and "a person accepts". 20 made-up decisions
that find all signals alike stand beside the real ones, so that a few of these do not silence a signal.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import fsum, log2

from hive_mind.judge.judgment import JudgmentAction
from hive_mind.judge.precedent import Precedent

PSEUDO_DECISIONS = 20.0

_Pair = tuple[bool, bool]
"""Whether a signal accepts, and whether a person does."""


@dataclass(frozen=True, slots=True)
class SignalWeights:
    """Learned weights for combining signals."""

    weights_by_goal_type: dict[str, dict[str, float]] = field(default_factory=dict)
    """By kind of goal and origin; each row sums to 1."""


def learned_weights(precedents: Iterable[Precedent]) -> SignalWeights:
    """The weights that these decisions speak for."""
    kinds: dict[str, list[Precedent]] = defaultdict(list)
    for one in precedents:
        kinds[one.kind].append(one)
    rows = {kind: _row(some) for kind, some in sorted(kinds.items())}
    return SignalWeights({kind: row for kind, row in rows.items() if row})


def _row(precedents: Sequence[Precedent]) -> dict[str, float]:
    pairs: dict[str, Counter[_Pair]] = defaultdict(Counter)
    for one in precedents:
        for signal in one.signals:
            if signal.action is not None:
                accepts = (signal.action is JudgmentAction.ACCEPT, one.person is JudgmentAction.ACCEPT)
                pairs[signal.origin][accepts] += 1
    told = {origin: _information(counts) for origin, counts in sorted(pairs.items())}
    whole, equal = fsum(told.values()), 1.0 / max(len(told), 1)
    trust = len(precedents) / (len(precedents) + PSEUDO_DECISIONS) if whole else 0.0
    return {origin: trust * (bits / (whole or 1.0)) + (1.0 - trust) * equal for origin, bits in told.items()}


def _information(counts: Counter[_Pair]) -> float:
    """In bits; never below 0, which rounding could make it."""
    total = counts.total()
    said = {accepts: sum(count for pair, count in counts.items() if pair[0] is accepts) for accepts in (True, False)}
    done = {accepts: sum(count for pair, count in counts.items() if pair[1] is accepts) for accepts in (True, False)}
    parts = (count / total * log2(count * total / (said[a] * done[b])) for (a, b), count in counts.items())
    return max(0.0, fsum(parts))
