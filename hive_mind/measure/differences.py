"""Which differences are real? Paired by question, with bootstrap intervals, randomisation p and Holm's correction.

Two systems that answered the same questions differ less by luck than two means do, because how hard a question is goes away.
Among many differences some occur by chance; Holm's correction keeps the chance of even one such find at 5 %. Differences over the
same questions are tested together, by the same flips of signs, which is what makes a whole scorecard a matter of seconds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from hive_mind.measure import BLOCK_NUMBERS, SEED, Estimate, Values, defined, estimates, macro_mean

# The standard error of a p of 0.05 is then 0.002.
DRAWS = 10_000
# Up to this many differences every way of flipping is looked at: 2^16 sums are a few milliseconds.
EXACT_MAX = 16
# Sums of the same numbers in another order differ in their last bits.
SAME = 1e-9
JUDGED_MIN = 20
"""Questions from which on anything is judged. With eleven the least p there is, 2 to the power of -10, does not survive sixty
comparisons, and an interval is too narrow."""

Pairs = Sequence[tuple[float | None, float | None]]
"""New and old value of each question."""
Sense = Literal["better", "worse", "neither"]
"""The meaning of more of a metric."""
Column = tuple[str, Sense, Pairs, Sequence[str]]
"""A metric's name, the meaning of more of it, its values, and the groups of the questions."""
Word = Literal["better", "worse", "higher", "lower", "equal", "may be chance", "too few questions"]


class Difference(msgspec.Struct, frozen=True):
    """New minus old, paired by question: mean, 95 % bootstrap interval, randomisation p, over `n` questions.

    `p_holm` is p after Holm's correction for all that is compared together, 1 at most: below 0.05 a difference is real.
    """

    difference: float
    low: float
    high: float
    p: float
    p_holm: float
    n: int

    @property
    def is_real(self) -> bool:
        """Whether chance is ruled out, with all that was compared taken into account."""
        return self.p_holm < 0.05

    @property
    def has_too_few_questions(self) -> bool:
        """Whether nothing could have been found out; what is real all the same is real."""
        return self.n < JUDGED_MIN and not self.is_real

    def verdict(self, sense: Sense) -> Word:
        """In a word: only a real one is better or worse, or "higher" or "lower" where that is no merit."""
        if self.difference == self.low == self.high == 0:
            return "equal"
        if not self.is_real:
            return "too few questions" if self.has_too_few_questions else "may be chance"
        if sense == "neither":
            return "higher" if self.difference > 0 else "lower"
        return "better" if (self.difference > 0) == (sense == "better") else "worse"


@dataclass(frozen=True, slots=True)
class MetricChange:
    """A metric before and after. The means are over the paired questions; None where no question has it on both sides."""

    metric: str
    sense: Sense
    before: float | None
    after: float | None
    difference: Difference | None
    defined: tuple[int, int]
    """For how many of the questions that both answered it is defined, before and after."""

    @property
    def is_worse(self) -> bool:
        """Whether the 95 % interval lies wholly on the worse side."""
        worst, best = self._bounds
        return best < 0 if self.sense == "better" else worst > 0 if self.sense == "worse" else False

    @property
    def loss_max(self) -> float:
        """The greatest loss that the interval leaves open; 0 or less where it leaves none."""
        worst, best = self._bounds
        return -worst if self.sense == "better" else best if self.sense == "worse" else 0.0

    def evidence(self, *details: str) -> str:
        """The difference in a line, with what else is to stand in its brackets."""
        difference = self.difference
        if difference is None:
            return "undefined"
        interval = f"{difference.difference:+.3f}, 95 % interval {difference.low:+.3f} to {difference.high:+.3f}"
        return f"{self.after:.3f} after {self.before:.3f} ({', '.join((interval, *details))})"

    def loss(self, name: str = "", *, is_certain: bool) -> str:
        """A loss in words: a proven one and, where it has to be ruled out (`is_certain`), one that is left open; "" for none."""
        name = name or self.metric
        if self.is_worse:
            return f"{name} is worse"
        return f"a loss of up to {self.loss_max:.3f} {name} can't be ruled out" if is_certain and self.loss_max > SAME else ""

    @property
    def _bounds(self) -> tuple[float, float]:
        """Of the difference; zeros where it is undefined."""
        return (self.difference.low, self.difference.high) if self.difference else (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Ground:
    """One reason to refuse, with its evidence and what to do. `kind` is a metric, or a sort of reason; `about` a cell, or ""."""

    kind: str
    message: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether what was measured may take the place of what was measured before.

    `grounds`: all reasons against it. `unjudged`: why nothing can be said, a line each; then it is not allowed either.
    """

    grounds: tuple[Ground, ...] = ()
    unjudged: tuple[str, ...] = ()

    @property
    def allowed(self) -> bool:
        return not self.grounds and not self.unjudged


def metric_changes(columns: Sequence[Column]) -> Iterator[MetricChange]:
    """The changes of metrics: all of them one family for Holm."""
    found_differences = differences([pairs for *_, pairs, _ in columns], [groups for *_, groups in columns])
    for (name, sense, pairs, _), difference in zip(columns, found_differences, strict=True):
        paired = [(new, old) for new, old in pairs if new is not None and old is not None]
        counts = (sum(old is not None for _, old in pairs), sum(new is not None for new, _ in pairs))
        before, after = macro_mean(old for _, old in paired), macro_mean(new for new, _ in paired)
        yield MetricChange(name, sense, before, after, difference, counts)


def differences(columns: Sequence[Pairs], groups: Sequence[Sequence[str]] = ()) -> list[Difference | None]:
    """New minus old for each column, all of them one family for Holm; None where no question is defined for both.

    `groups` are those of each column's questions: intervals are then drawn by group. p remains that of these questions. Raises
    `ValueError` for a value that is not finite.
    """
    moved = [[_change(*pair) for pair in pairs] for pairs in columns]
    ps = randomisation_ps([defined(column) for column in moved])
    p_pairs = zip(ps, holm(ps), strict=True)
    return [_difference(estimate, *p) for estimate, p in zip(estimates(moved, groups), p_pairs, strict=True)]


def randomisation_ps(columns: Sequence[Values]) -> list[float | None]:
    """Two-sided p of each column of differences; None for an empty one, 1.0 where none differs.

    Draws can't show a p below 1 in 10,001. Where Hoeffding's inequality proves that p is smaller, its bound is given, so that a
    correction for many comparisons does not hide what is beyond doubt.
    """
    ps = [_without_draws(column) for column in columns]
    by_size: dict[int, list[int]] = {}
    for place, (column, p) in enumerate(zip(columns, ps, strict=True)):
        if len(column) and p is None:
            by_size.setdefault(len(column), []).append(place)
    for places in by_size.values():
        drawn = _drawn_ps(np.column_stack([columns[place] for place in places]))
        for place, p in zip(places, drawn, strict=True):
            ps[place] = p
    return ps


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """Each p times the number of hypotheses that are not yet rejected when it is its turn, the smallest first; 1 at most.

    Undefined ones are no hypotheses (Holm 1979).
    """
    order = sorted((p, place) for place, p in enumerate(ps) if p is not None)
    corrected: list[float | None] = [None] * len(ps)
    highest = 0.0
    for rank, (p, place) in enumerate(order):
        highest = max(highest, min(1.0, p * (len(order) - rank)))
        corrected[place] = highest
    return corrected


def _change(new: float | None, old: float | None) -> float | None:
    return None if new is None or old is None else new - old


def _difference(change: Estimate | None, p: float | None, p_holm: float | None) -> Difference | None:
    if change is None or p is None or p_holm is None:
        return None
    return Difference(change.mean, change.low, change.high, p, p_holm, change.n)


def _without_draws(differences: Values) -> float | None:
    """p where every way of flipping can be looked at, or where it is certain to be smaller than draws can show."""
    if not len(differences):
        return None
    # A question on which both are equal adds nothing to any sum, whichever its sign.
    moved = differences[differences != 0]
    if len(moved) <= EXACT_MAX:
        signs = ((np.arange(1 << len(moved))[:, None] >> np.arange(len(moved))) & 1) * 2.0 - 1.0
        return float(np.mean(np.abs(signs @ moved) >= _far(moved)))
    bound = _hoeffding(moved)
    return bound if bound < 1 / (1 + DRAWS) else None


def _hoeffding(differences: Values) -> float:
    """How likely a sum of these with random signs is as far from zero as theirs is, at the very most."""
    return float(2 * np.exp(-(differences.sum() ** 2) / (2 * (differences**2).sum())))


def _drawn_ps(together: Values) -> list[float]:
    """By flipping signs at random, the same for all columns. The observed signs are one of the ways, so p is never 0."""
    size, rng = len(together), np.random.default_rng(SEED)
    count: NDArray[np.int64] = np.zeros(together.shape[1], np.int64)
    rows = max(1, BLOCK_NUMBERS // size)
    for start in range(0, DRAWS, rows):
        flips = rng.integers(2, size=(min(rows, DRAWS - start), size), dtype=np.int8) * 2.0 - 1.0
        count += np.count_nonzero(np.abs(flips @ together) >= _far(together), axis=0)
    return [float(p) for p in (1 + count) / (1 + DRAWS)]


def _far(differences: Values) -> Values:
    """From where on a sum is as far from zero as theirs."""
    return np.asarray(np.abs(differences.sum(axis=0)) * (1 - SAME) - SAME * 1e-3)
