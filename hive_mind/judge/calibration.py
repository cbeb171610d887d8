"""Calibration: how sure a judge has to be to decide alone, learned from what people decided about the same cases.

The threshold of a kind of goal is the lowest at which the accuracy of what lies above it is the target at least, with 95 %
confidence. People see every case below the threshold and only audited ones above it, so each counts for as many cases as it
stands for. Without audits a wrong acceptance is never seen, and no threshold learned this way means anything.

What independent signals say together: those that agree make each other surer, those that contradict end autonomy.

    confidence = σ(Σ wᵢ / max(w) · logit(clip(cᵢ, 0.02, 0.98)))        over the families of signals on one side

The logarithmic opinion pool (Genest & Zidek 1986, "Combining probability distributions"), with the log odds of independent
sources added (Good 1950, "Probability and the weighing of evidence"). A weight below the largest takes from a signal and none
gives to it: a signal alone is never surer than it says, and one more that agrees never makes the others less sure.

Weights say how far each signal's confidence is to be believed, learned from what people decided, for each kind of goal: those
under which that pool would have foretold the decisions best (logistic regression on the log odds that the signals
gave), pulled towards equal ones, so that a few decisions change little. Of equal weights a signal keeps what it says where that
was right as often as it claims to be; one that is as sure of what people reject counts for less.

Beside them the figures of a judge that its judgements alone give: how often people are needed, how sure it is, what it costs.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, exp, floor, fsum, log
from typing import NamedTuple, TypeVar

import numpy as np

from hive_mind.goals import GENERAL
from hive_mind.judge.judgment import PERSON, Judged, JudgmentAction, Precedent, Signal
from hive_mind.measure import wilson_bounds

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
            share = min(max(signal.confidence, CONFIDENCE_MIN), CONFIDENCE_MAX)
            voice = _Voice(log(share / (1.0 - share)), _MILD_FIRST.index(signal.action))
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


TARGET = 0.95
# Fewer could be one person on one day.
SAMPLES_MIN = 20.0
# A threshold that falls further at once lets through what nobody has looked at yet.
FALL_MAX = 0.05
_HUNDREDTHS = 100
# The information of 20 decisions on a signal with log odds of about 1 and a chance of 1/2: each adds 1² · 1/2 · 1/2.
_PULL = 20 * 0.25
# Newton's method takes about five; a step is bounded, for where it would overshoot.
_STEPS, _STEP_MAX = 25, 1.0
# A person reads ten numbers at a glance.
_BANDS = 10


@dataclass(frozen=True, slots=True)
class Comparison:
    """A judge would have accepted with this confidence; `is_right` if the person did. `weight`: for how many cases it stands."""

    confidence: float
    is_right: bool
    kind: str = GENERAL
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class CalibrationMetrics:
    """A judge's accuracy against people."""

    accept_accuracy_by_confidence: dict[float, float]
    """Of what it accepted with this confidence (rounded down to a tenth), the share that people accepted."""
    retry_success_rate: float | None
    """Of what it sent back, the share that was accepted afterwards; None where nothing was."""
    recommended_threshold: float | None
    """Over all kinds of goals; None where it may not decide alone, or nobody knows yet."""
    threshold_by_goal_type: dict[str, float | None]
    """None: it may not decide alone. A kind with too few decisions to tell is left out: there the setting holds."""


class _Counted(NamedTuple):
    """Weighted cases; `squares` of the weights tell how many unweighted ones they are worth (Kish 1965)."""

    right: float = 0.0
    all: float = 0.0
    squares: float = 0.0

    @property
    def effective(self) -> float:
        return self.all**2 / self.squares if self.squares else 0.0

    def and_also(self, comparisons: Sequence[Comparison]) -> "_Counted":
        weights = [comparison.weight for comparison in comparisons]
        right = fsum(comparison.weight for comparison in comparisons if comparison.is_right)
        return _Counted(self.right + right, self.all + fsum(weights), self.squares + fsum(weight**2 for weight in weights))

    def at_least(self) -> float:
        """The lower bound of the accuracy."""
        return wilson_bounds(self.right / self.all * self.effective, self.effective)[0] if self.all else 0.0


def accepted(precedents: Iterable[Precedent], weights: Mapping[str, Mapping[str, float]] | None = None) -> list[Comparison]:
    """Those cases in which the signals, with the weights of today, say ACCEPT, beside the decisions."""
    comparisons = []
    for precedent in precedents:
        together = pooled(precedent.signals, (weights or {}).get(precedent.kind))
        if together and together.confidence is not None and together.action is JudgmentAction.ACCEPT:
            is_right = precedent.person is JudgmentAction.ACCEPT
            comparisons.append(Comparison(together.confidence, is_right, precedent.kind, precedent.weight))
    return comparisons


_Decision = TypeVar("_Decision", Comparison, Precedent)


def by_kind(decisions: Iterable[_Decision]) -> dict[str, list[_Decision]]:
    """Those on goals of one kind together."""
    kinds: dict[str, list[_Decision]] = defaultdict(list)
    for decision in decisions:
        kinds[decision.kind].append(decision)
    return dict(sorted(kinds.items()))


def calibrated(comparisons: Sequence[Comparison], retries: Sequence[bool] = (), target: float = TARGET) -> CalibrationMetrics:
    """The metrics of one judge. `retries`: of each thing it sent back, whether the next attempt was accepted."""
    bands: dict[int, list[Comparison]] = defaultdict(list)
    for comparison in comparisons:
        bands[_tenth(comparison.confidence)].append(comparison)
    counts = {band / _BANDS: _Counted().and_also(bands[band]) for band in sorted(bands)}
    return CalibrationMetrics(
        accept_accuracy_by_confidence={confidence: counted.right / counted.all for confidence, counted in counts.items()},
        retry_success_rate=sum(retries) / len(retries) if retries else None,
        recommended_threshold=threshold(comparisons, target),
        threshold_by_goal_type={
            kind: threshold(comparisons_of_kind, target)
            for kind, comparisons_of_kind in by_kind(comparisons).items()
            if are_conclusive(comparisons_of_kind, target)
        },
    )


def threshold(comparisons: Iterable[Comparison], target: float = TARGET) -> float | None:
    """The lowest threshold, in hundredths, above which the target is reached; None where there is none."""
    counted, lowest = _Counted(), None
    steps: dict[int, list[Comparison]] = defaultdict(list)
    for comparison in comparisons:
        steps[_rounded_down(comparison.confidence, _HUNDREDTHS)].append(comparison)
    for hundredths in sorted(steps, reverse=True):
        counted = counted.and_also(steps[hundredths])
        if counted.effective >= SAMPLES_MIN and counted.at_least() >= target:
            lowest = hundredths / _HUNDREDTHS
    return lowest


def are_conclusive(comparisons: Sequence[Comparison], target: float = TARGET) -> bool:
    """Whether these are enough to say that a judge may not decide alone: with no mistake among them, it might."""
    effective = _Counted().and_also(comparisons).effective
    return effective >= SAMPLES_MIN and wilson_bounds(effective, effective)[0] >= target


def moved(now: float | None, recommended: float | None) -> float | None:
    """Where a threshold goes next: up, or shut (None), at once; down, or open again, by little each time."""
    if recommended is None:
        return None
    return max(recommended, round((1.0 if now is None else now) - FALL_MAX, 4))


def _rounded_down(confidence: float, steps: int) -> int:
    # 0.29 · 100 is 28.999….
    return floor(confidence * steps + 1e-9)


def _tenth(confidence: float) -> int:
    # 1.0 is the end of the last band rather than one of its own.
    return min(_rounded_down(confidence, _BANDS), _BANDS - 1)


@dataclass(frozen=True, slots=True)
class SignalWeights:
    """Learned weights for combining signals."""

    weights_by_goal_type: dict[str, dict[str, float]] = field(default_factory=dict)
    """By kind of goal and origin; each row sums to 1."""
    decisions_by_goal_type: dict[str, int] = field(default_factory=dict)
    """How many each row rests on."""


def learned_weights(precedents: Iterable[Precedent]) -> SignalWeights:
    """The weights that these decisions speak for. A kind without a signal that has a confidence is left out."""
    kinds = by_kind(precedents)
    rows = {kind: row for kind, precedents_of_kind in kinds.items() if (row := _row(precedents_of_kind))}
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


@dataclass(slots=True)
class JudgeTally:
    """Figures that come from judgements alone; how right they are says `CalibrationMetrics`. Rates of nothing are None.

    `judgements` by action and cause, `tenths` by confidence, rounded up to a tenth: 10 is more than 0.9. What a person decided is
    none of a judge's.
    """

    judgements: Counter[tuple[str, str]] = field(default_factory=Counter)
    tenths: Counter[int] = field(default_factory=Counter)
    confidence: float = 0.0
    """The sum of all."""
    by_confidence: Counter[float] = field(default_factory=Counter)
    """Judgements with such a confidence, rounded down to a tenth; those that have none are left out."""
    asked: int = 0
    """Judgements that a model was asked for."""
    tokens: int = 0
    usd: float = 0.0
    unpriced: int = 0
    """Those of models without a known price, which `usd` leaves out."""
    threshold: float | None = None
    """At work; None: it may not decide alone."""

    def count(self, judged: Judged) -> None:
        judgment = judged.judgment
        if judgment.cause == PERSON:
            return
        self.judgements[judgment.action.value, judgment.cause] += 1
        self.asked += bool(judged.model)
        self.tokens += judged.input_tokens + judged.output_tokens
        self.usd += judged.usd or 0.0
        self.unpriced += bool(judged.model) and judged.usd is None
        if judgment.confidence is not None:
            self.tenths[ceil(judgment.confidence * 10 - 1e-9)] += 1
            self.by_confidence[_tenth(judgment.confidence) / _BANDS] += 1
            self.confidence += judgment.confidence

    @property
    def judged(self) -> int:
        return self.judgements.total()

    @property
    def escalated(self) -> int:
        return sum(count for (action, _), count in self.judgements.items() if action == JudgmentAction.ESCALATE)

    @property
    def by_rule(self) -> int:
        """Decided by a rule."""
        return sum(count for (_, cause), count in self.judgements.items() if cause == "rule")

    @property
    def unattended(self) -> int:
        """Accepted because nobody was there to ask."""
        return self.judgements[JudgmentAction.ACCEPT, "unattended"]

    @property
    def escalation_rate(self) -> float | None:
        """How often a person is needed."""
        return self.escalated / self.judged if self.judged else None

    @property
    def rule_match_rate(self) -> float | None:
        """How often a rule gives a definitive answer."""
        return self.by_rule / self.judged if self.judged else None


def tally_of(judged: Iterable[Judged]) -> JudgeTally:
    tally = JudgeTally()
    for case in judged:
        tally.count(case)
    return tally


def retries(judged: Iterable[Judged]) -> list[bool]:
    """Of each thing that was sent back and judged again, whether it was accepted the next time."""
    accepted_first, sent_back = [], set[str]()
    for case in filter(lambda case: case.subject, judged):
        action = case.judgment.action
        if case.subject in sent_back:
            accepted_first.append(action is JudgmentAction.ACCEPT)
        (sent_back.add if action is JudgmentAction.RETRY else sent_back.discard)(case.subject)
    return accepted_first
