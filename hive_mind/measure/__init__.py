"""The metrics, and how sure one may be of them: pure functions of lists and numbers. Here is how sure a mean over questions is,
one of them or thousands at once, for all cells of a run in seconds.

Percentile bootstrap over questions (Efron 1979): draw as many questions as there are, with replacement, and look how much the
mean moves. Means over equally many questions are drawn together: a resample only says how often each place counts, so one matrix
of counts serves all of them. Where questions come in groups, such as conversations, groups are drawn. Values are sorted before
and the seed is fixed, so the same values always have the same interval, in whichever order they come. Times have medians, whose
intervals need no chance. Undefined values (None) are left out, never taken for 0.

The range of a share of few: bounds for a count of questions, exact or by score.
"""

from collections.abc import Iterable, Iterator, Sequence, Sized
from math import lgamma, log, log1p, sqrt
from statistics import NormalDist

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
    mean, stretch = float(every.mean()), _stretch(len(parts))
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


def _stretch(count: int) -> float:
    freedom = count - 1
    student = _STUDENT[freedom - 1] if freedom <= len(_STUDENT) else 1.960 + 2.372 / freedom + 2.82 / freedom**2
    return sqrt(count / freedom) * student / 1.960


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
