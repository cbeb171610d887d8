"""Agreement: what independent signals say together. Those that agree make each other surer, those that contradict end autonomy.

confidence = σ(Σ wᵢ / max(w) · logit(clip(cᵢ, 0.02, 0.98)))        over the families of signals on one side

The logarithmic opinion pool (Genest & Zidek 1986, "Combining probability distributions"), with the log odds of independent
sources added (Good 1950, "Probability and the weighing of evidence"). A weight below the largest takes from a signal and none
gives to it: a signal alone is never surer than it says, and one more that agrees never makes the others less sure.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import exp, fsum, log
from typing import NamedTuple

from hive_mind.judge.judgment import JudgmentAction, Signal

# Nobody is surer than 49 to 1: a judge that says 1.0 would outvote any number of others.
CONFIDENCE_MIN, CONFIDENCE_MAX = 0.02, 0.98
# More sources than three are hardly ever independent: they have read the same.
COUNTED_MAX = 3
_MILD_FIRST = tuple(JudgmentAction)


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
    # The first of equals is the side that does not accept.
    both = [[voice for voice in voices if (voice.action is JudgmentAction.ACCEPT) is accepting] for accepting in (False, True)]
    sides = [side for side in both if side]
    if not sides:
        return None
    if len(sides) == 2 and all(any(voice.means_it for voice in side) for side in sides):
        return Pooled(JudgmentAction.ESCALATE, None)
    return _together(max(sides, key=lambda side: max(voice.log_odds for voice in side)))


def leanings(signals: Iterable[Signal]) -> dict[str, float]:
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
