"""Agreement: what independent signals say together. Those that agree make each other surer, those that contradict end autonomy.

confidence = σ(Σ wᵢ / max(w) · logit(clip(cᵢ, 0.02, 0.98)))        over the families of signals on one side

The logarithmic opinion pool (Genest & Zidek 1986, "Combining probability distributions"), with the log odds of independent
sources added (Good 1950, "Probability and the weighing of evidence"). A weight below the largest takes from a signal and none
gives to it: a signal alone is never surer than it says, and one more that agrees never makes the others less sure.

Weights say how far each signal's confidence is to be believed, learned from what people decided, for each kind of goal: those
under which the pool would have foretold the decisions best (logistic regression on the log odds that the signals gave), pulled
towards equal ones, so that a few decisions change little. Of equal weights a signal keeps what it says where that was right as
often as it claims to be; one that is as sure of what people reject counts for less.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, fsum, log
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from hive_mind.judge.judgment import JudgmentAction, Precedent, Signal

# Nobody is surer than 49 to 1: a judge that says 1.0 would outvote any number of others.
CONFIDENCE_MIN, CONFIDENCE_MAX = 0.02, 0.98
# More sources than three are hardly ever independent: they have read the same.
COUNTED_MAX = 3
_MILD_FIRST = tuple(JudgmentAction)
# The information of 20 decisions on a signal with log odds of about 1 and a chance of 1/2: each adds 1² · 1/2 · 1/2.
_PULL = 20 * 0.25
# Newton's method takes about five; a step is bounded, for where it would overshoot.
_STEPS, _STEP_MAX = 25, 1.0


@dataclass(frozen=True, slots=True)
class Pooled:
    """The combined verdict of the signals. Where they contradict each other it is ESCALATE, and `confidence` is None."""

    action: JudgmentAction
    confidence: float | None


class _Voice(NamedTuple):
    """One family's signal."""

    log_odds: float
    severity: int

    @property
    def action(self) -> JudgmentAction:
        return _MILD_FIRST[self.severity]

    @property
    def means_it(self) -> bool:
        """Whether it is rather for its action than against it."""
        return self.log_odds >= 0.0


def pooled(signals: Iterable[Signal], weights: Mapping[str, float] | None = None) -> Pooled | None:
    """The combined verdict of the signals with an action and a confidence; None if there are none.

    Of each origin one counts. `weights` are by origin, equal where none are given; an origin that is not among them counts like
    the lightest. A side is ACCEPT, or all that is not; one that is less sure than 0.5 of the opposite changes nothing.
    """
    voices = [_weighted(voice, origin, weights or {}) for origin, voice in _voices(signals).items()]
    sides = [side for side in (_side(voices, accepting=False), _side(voices, accepting=True)) if side]
    if not sides:
        return None
    if len(sides) == 2 and all(any(voice.means_it for voice in side) for side in sides):
        return Pooled(JudgmentAction.ESCALATE, None)
    # The first of equals is the side that does not accept.
    return _together(max(sides, key=lambda side: max(voice.log_odds for voice in side)))


def _leanings(signals: Iterable[Signal]) -> dict[str, float]:
    """How much each origin is for ACCEPT, as log odds; negative is against."""
    return {
        origin: voice.log_odds if voice.action is JudgmentAction.ACCEPT else -voice.log_odds
        for origin, voice in _voices(signals).items()
    }


def _voices(signals: Iterable[Signal]) -> dict[str, _Voice]:
    by_origin: dict[str, _Voice] = {}
    for signal in signals:
        if signal.action is not None and signal.confidence is not None:
            voice = _Voice(_log_odds(signal.confidence), _MILD_FIRST.index(signal.action))
            by_origin[signal.origin] = max(by_origin.get(signal.origin, voice), voice, key=_caution)
    return by_origin


def _together(side: list[_Voice]) -> Pooled:
    surest = sorted(voice.log_odds for voice in side)[-COUNTED_MAX:]
    gravest = max(side, key=lambda voice: (voice.means_it, voice.severity))
    return Pooled(gravest.action, 1.0 / (1.0 + exp(-fsum(surest))))


def _side(voices: list[_Voice], *, accepting: bool) -> list[_Voice]:
    return [voice for voice in voices if (voice.action is JudgmentAction.ACCEPT) is accepting]


def _caution(voice: _Voice) -> tuple[int, float]:
    """Of two signals of one family the more severe counts; of two that say the same, the less sure."""
    return voice.severity, -voice.log_odds


def _weighted(voice: _Voice, origin: str, weights: Mapping[str, float]) -> _Voice:
    heaviest = max(weights.values(), default=0.0)
    if heaviest <= 0.0:
        return voice
    share = max(weights.get(origin, min(weights.values())), 0.0) / heaviest
    # A doubt stays as large as it is: a light weight would make it smaller.
    return voice._replace(log_odds=min(voice.log_odds, voice.log_odds * share))


def _log_odds(confidence: float) -> float:
    share = min(max(confidence, CONFIDENCE_MIN), CONFIDENCE_MAX)
    return log(share / (1.0 - share))


@dataclass(frozen=True, slots=True)
class SignalWeights:
    """Learned weights for combining signals."""

    weights_by_goal_type: dict[str, dict[str, float]] = field(default_factory=dict)
    """By kind of goal and origin; each row sums to 1."""
    decisions_by_goal_type: dict[str, int] = field(default_factory=dict)
    """How many each row rests on."""


class _OfKind(Protocol):
    @property
    def kind(self) -> str: ...


_Decision = TypeVar("_Decision", bound=_OfKind)


def by_kind(decisions: Iterable[_Decision]) -> dict[str, list[_Decision]]:
    """Those on goals of one kind together."""
    kinds: dict[str, list[_Decision]] = defaultdict(list)
    for decision in decisions:
        kinds[decision.kind].append(decision)
    return dict(sorted(kinds.items()))


def learned_weights(precedents: Iterable[Precedent]) -> SignalWeights:
    """The weights that these decisions speak for. A kind without a signal that has a confidence is left out."""
    kinds = by_kind(precedents)
    rows = {kind: row for kind, precedents_of_kind in kinds.items() if (row := _row(precedents_of_kind))}
    return SignalWeights(rows, {kind: len(kinds[kind]) for kind in rows})


def _row(precedents: Sequence[Precedent]) -> dict[str, float]:
    leanings_of_all = [_leanings(precedent.signals) for precedent in precedents]
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
