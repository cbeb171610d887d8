"""The metrics, and how sure one may be of them: pure functions of lists and numbers. Here is how sure a mean over questions is,
one of them or thousands at once, for all cells of a run in seconds.

Percentile bootstrap over questions (Efron 1979): draw as many questions as there are, with replacement, and look how much the
mean moves. Means over equally many questions are drawn together: a resample only says how often each place counts, so one matrix
of counts serves all of them. Where questions come in groups, such as conversations, groups are drawn. Values are sorted before
and the seed is fixed, so the same values always have the same interval, in whichever order they come. Times have medians, whose
intervals need no chance. Undefined values (None) are left out, never taken for 0.

The range of a share of few: bounds for a count of questions, exact or by score.

Which differences are real? Paired by question, with bootstrap intervals, randomisation p and Holm's correction. Two systems that
answered the same questions differ less by luck than two means do, because how hard a question is goes away. Among many
differences some occur by chance; Holm's correction keeps the chance of even one such find at 5 %. Differences over the same
questions are tested together, by the same flips of signs, which is what makes a whole scorecard a matter of seconds.
"""

from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from math import lgamma, log, log1p, sqrt
from statistics import NormalDist
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

SEED = 20260101
# Of a 95 % interval this fixes each end to about 2 % of its width (standard error of that quantile of a normal mean).
# More only takes time.
RESAMPLES = 2_000
_TAIL = 0.025
# Draws are made in blocks of at most this many numbers (16 MB), so that memory does not grow with the number of questions.
BLOCK_NUMBERS = 2_000_000
# Above this the ranks are taken from the normal curve: they are then at most one from the exact ones.
_EXACT_MAX = 1_000
# Half the width of the middle 95 % of a normal distribution.
_NORMAL = 1.959964
# Student's t at 97.5 % for 1 to 9 degrees of freedom; from 10 on the series below is exact to 0.003.
_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)

Values = NDArray[np.float64]


class Estimate(msgspec.Struct, frozen=True):
    """A macro mean over the `n` questions for which it is defined, and its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float
    n: int


class Middle(msgspec.Struct, frozen=True):
    """A median over `n` questions with its 95 % interval (order statistics; None below six questions), and the slow end."""

    median: float
    low: float | None
    high: float | None
    p95: float
    n: int


def defined(values: Iterable[float | None]) -> Values:
    """The values that are there, in ascending order. Raises `ValueError` for one that is not finite."""
    numbers = np.sort(np.asarray([value for value in values if value is not None], np.float64))
    if not np.isfinite(numbers).all():
        raise ValueError("a measured value is not a finite number; use None for an undefined one")
    return numbers


def macro_mean(values: Iterable[float | None]) -> float | None:
    """The mean over the questions for which a value is defined, each counting the same; None where it is for none."""
    numbers = defined(values)
    return float(numbers.mean()) if len(numbers) else None


def estimates(columns: Sequence[Sequence[float | None]], groups: Sequence[Sequence[str]] = ()) -> list[Estimate | None]:
    """Mean and interval of each column; None where nothing is defined. Raises `ValueError` for a value that is not finite.

    `groups` has a list for each column: the group of each of its values. None at all: every question is a group of its own.
    """
    sorted_columns = [defined(column) for column in columns]
    found_estimates: list[Estimate | None] = [None] * len(sorted_columns)
    for place, (column, group_names) in enumerate(zip(columns, groups, strict=True) if groups else ()):
        found_estimates[place] = by_group(column, group_names)
    for size, places in _by_size([[] if one else column for one, column in zip(found_estimates, sorted_columns, strict=True)]):
        together = np.column_stack([sorted_columns[place] for place in places])
        lows, highs = np.quantile(_resampled_means(together), [_TAIL, 1 - _TAIL], axis=0)
        for place, mean, low, high in zip(places, together.mean(axis=0), lows, highs, strict=True):
            # Equal values can't move, but their mean can by its last bit.
            low, high = (mean, mean) if sorted_columns[place][0] == sorted_columns[place][-1] else (low, high)
            found_estimates[place] = Estimate(float(mean), float(low), float(high), size)
    return found_estimates


def estimate(column: Sequence[float | None], groups: Sequence[str] = ()) -> Estimate | None:
    return estimates([column], [groups] if groups else ())[0]


def by_group(column: Sequence[float | None], groups: Sequence[str]) -> Estimate | None:
    """The mean with an interval for which groups are drawn, each with all that it has.

    None where that is the same as drawing questions, and where there is one group only. Of few groups the draws know too little,
    so the interval is as much wider as Student's t is.
    """
    values_by_group: dict[str, list[float]] = {}
    for value, group in zip(column, groups, strict=True):
        if value is not None:
            values_by_group.setdefault(group, []).append(value)
    parts = [defined(values_by_group[group]) for group in sorted(values_by_group)]
    if not 1 < len(parts) < sum(map(len, parts)):
        return None
    every = np.concatenate(parts)
    sums, counts = np.array([part.sum() for part in parts]), np.array([len(part) for part in parts])
    drawn = np.random.default_rng(SEED).integers(len(parts), size=(RESAMPLES, len(parts)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    freedom = len(parts) - 1
    student = _STUDENT[freedom - 1] if freedom <= len(_STUDENT) else 1.960 + 2.372 / freedom + 2.82 / freedom**2
    mean, stretch = float(every.mean()), sqrt(len(parts) / freedom) * student / 1.960
    if every.min() == every.max():
        return Estimate(mean, mean, mean, len(every))
    low, high = (mean + stretch * (float(edge) - mean) for edge in np.quantile(means, [_TAIL, 1 - _TAIL]))
    return Estimate(mean, min(mean, max(float(every.min()), low)), max(mean, min(float(every.max()), high)), len(every))


def middle(values: Iterable[float]) -> Middle | None:
    """The median with its interval, and the 95th percentile; None without values."""
    ordered = defined(values)
    if not len(ordered):
        return None
    low, high = median_interval(ordered)
    return Middle(float(np.median(ordered)), low, high, float(np.quantile(ordered, 0.95)), len(ordered))


def median_interval(ordered: Values) -> tuple[float | None, float | None]:
    """Two of the values themselves between which the median lies in at least 95 of 100 samples, whatever the distribution.

    How many of n values are below the median is a binomial count (n, ½). Below six values no two are sure enough.
    """
    outside = _outside(len(ordered))
    if not outside:
        return None, None
    return float(ordered[outside - 1]), float(ordered[-outside])


def _outside(count: int) -> int:
    """The greatest r for which fewer than r of `count` fair coins show heads in at most 2.5 % of all throws."""
    if count > _EXACT_MAX:
        return int((count - _NORMAL * sqrt(count)) / 2)
    ways, total, rank = 1, 0, 0
    while total + ways <= _TAIL * 2**count:
        total += ways
        rank += 1
        ways = ways * (count - rank + 1) // rank
    return rank


def _by_size(columns: Sequence[Sized]) -> Iterator[tuple[int, list[int]]]:
    sizes: dict[int, list[int]] = {}
    for place, column in enumerate(columns):
        sizes.setdefault(len(column), []).append(place)
    return ((size, places) for size, places in sorted(sizes.items()) if size)


def _resampled_means(together: Values) -> Values:
    """A row per resample, a column per mean."""
    size = len(together)
    rng, rows = np.random.default_rng(SEED), max(1, BLOCK_NUMBERS // size)
    blocks = [_drawn(rng, min(rows, RESAMPLES - start), size) @ together for start in range(0, RESAMPLES, rows)]
    return np.asarray(np.concatenate(blocks) / size)


def _drawn(rng: np.random.Generator, rows: int, size: int) -> Values:
    """How often each place is drawn, in each of some resamples."""
    places = rng.integers(size, size=(rows, size)) + np.arange(rows)[:, None] * size
    return np.bincount(places.ravel(), minlength=rows * size).reshape(rows, size).astype(np.float64)


def share_ruled_out(found: int, size: int, confidence: float = 0.95) -> float:
    """The share beyond which `found` or fewer of `asked` would be unlikely (Clopper & Pearson 1934), in [0, 1].

    Exact, where a bootstrap is not: what is rare is drawn too rarely, and what was not found is never drawn. Raises `ValueError`
    for more found than asked, or nothing asked.
    """
    if not 0 <= found <= size or size < 1:
        raise ValueError(f"{found} of {size} is not a share")
    fewer = np.arange(found + 1)
    ways = np.array([lgamma(size + 1) - lgamma(count + 1) - lgamma(size - count + 1) for count in range(found + 1)])
    low, high = found / size, 1.0
    # Each step halves what is open: after 50 a float has no room left.
    for _ in range(50 if found < size else 0):
        share = (low + high) / 2
        chance = np.exp(ways + fewer * log(share) + (size - fewer) * log1p(-share)).sum()
        low, high = (share, high) if chance > 1 - confidence else (low, share)
    return high


def wilson_bounds(count: float, size: float, confidence: float = 0.95) -> tuple[float, float]:
    """The lower and upper bound of a share, each with this confidence (score interval, Wilson 1927), in [0, 1].

    Both may be effective numbers of a weighted sample. Of nothing asked everything is possible. Raises `ValueError` for more
    found than asked.
    """
    # Sums of weights miss each other by a rounding.
    if not -1e-9 <= count <= size + 1e-9:
        raise ValueError(f"{count} of {size} is not a share")
    if size <= 0:
        return 0.0, 1.0
    deviations = NormalDist().inv_cdf(confidence)
    share, lent = min(max(count / size, 0.0), 1.0), deviations**2 / size
    centre = share + lent / 2
    reach = sqrt(lent * (share * (1 - share) + lent / 4))
    return max(0.0, (centre - reach) / (1 + lent)), min(1.0, (centre + reach) / (1 + lent))


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
    for size, places in _by_size([column if p is None else [] for column, p in zip(columns, ps, strict=True)]):
        # By flipping signs at random, the same for all columns. The observed signs are one of the ways, so p is never 0.
        together = np.column_stack([columns[place] for place in places])
        rng = np.random.default_rng(SEED)
        count: NDArray[np.int64] = np.zeros(together.shape[1], np.int64)
        rows = max(1, BLOCK_NUMBERS // size)
        for start in range(0, DRAWS, rows):
            flips = rng.integers(2, size=(min(rows, DRAWS - start), size), dtype=np.int8) * 2.0 - 1.0
            count += np.count_nonzero(np.abs(flips @ together) >= _far(together), axis=0)
        drawn = [float(p) for p in (1 + count) / (1 + DRAWS)]
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
    # How likely a sum of these with random signs is as far from zero as theirs is, at the very most.
    bound = float(2 * np.exp(-(moved.sum() ** 2) / (2 * (moved**2).sum())))
    return bound if bound < 1 / (1 + DRAWS) else None


def _far(differences: Values) -> Values:
    """From where on a sum is as far from zero as theirs."""
    return np.asarray(np.abs(differences.sum(axis=0)) * (1 - SAME) - SAME * 1e-3)
