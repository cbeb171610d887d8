"""Weights: how far each signal's confidence is to be believed, learned from what people decided, for each kind of goal.

Those under which the pool of `agreement` would have foretold the decisions best (logistic regression on the log odds that the
signals gave), pulled towards equal ones, so that a few decisions change little. Of equal weights a signal keeps what it says
where that was right as often as it claims to be; one that is as sure of what people reject counts for less.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from hive_mind.judge.agreement import leanings
from hive_mind.judge.judgment import JudgmentAction, Precedent

# The information of 20 decisions on a signal with log odds of about 1 and a chance of 1/2: each adds 1² · 1/2 · 1/2.
_PULL = 20 * 0.25
# Newton's method takes about five; a step is bounded, for where it would overshoot.
_STEPS, _STEP_MAX = 25, 1.0


@dataclass(frozen=True, slots=True)
class SignalWeights:
    """Learned weights for combining signals."""

    weights_by_goal_type: dict[str, dict[str, float]] = field(default_factory=dict)
    """By kind of goal and origin; each row sums to 1."""
    decisions_by_goal_type: dict[str, int] = field(default_factory=dict)
    """How many each row rests on."""


def learned_weights(precedents: Iterable[Precedent]) -> SignalWeights:
    """The weights that these decisions speak for. A kind without a signal that has a confidence is left out."""
    kinds: dict[str, list[Precedent]] = defaultdict(list)
    for precedent in precedents:
        kinds[precedent.kind].append(precedent)
    rows = {kind: row for kind, precedents_of_kind in sorted(kinds.items()) if (row := _row(precedents_of_kind))}
    return SignalWeights(rows, {kind: len(kinds[kind]) for kind in rows})


def _row(precedents: Sequence[Precedent]) -> dict[str, float]:
    leanings_of_all = [leanings(precedent.signals) for precedent in precedents]
    origins = sorted({origin for leanings_of_one in leanings_of_all for origin in leanings_of_one})
    odds = np.array([[leanings_of_one.get(origin, 0.0) for origin in origins] for leanings_of_one in leanings_of_all])
    accepted = np.array([float(precedent.person is JudgmentAction.ACCEPT) for precedent in precedents])
    stands_for = np.array([precedent.weight for precedent in precedents])
    # As many cases together as unweighted ones would be worth (Kish 1965).
    stands_for *= stands_for.sum() / (stands_for**2).sum()
    weights = np.ones(len(origins))
    for _ in range(_STEPS):
        sure = 1.0 / (1.0 + np.exp(-(odds @ weights)))
        slope = odds.T @ (stands_for * (accepted - sure)) - _PULL * (weights - 1.0)
        bend = (odds.T * (stands_for * sure * (1.0 - sure))) @ odds + _PULL * np.eye(len(origins))
        weights += np.linalg.solve(bend, slope).clip(-_STEP_MAX, _STEP_MAX)
    believed = weights.clip(0.0)
    if not believed.any():
        believed[:] = 1.0
    return dict(zip(origins, (believed / believed.sum()).tolist(), strict=True))
