"""Intervals of thousands of means at once: what `measure.statistics` computes for one, for all cells of a run in seconds.

Means over equally many questions are drawn together: a resample only says how often each place counts, so one matrix of counts
serves all of them. Values are sorted before, so an interval does not depend on the order of the questions; the seed is fixed, so
that the same rows always make the same scorecard. Where questions come in groups, groups are drawn (`measure.clusters`). Times
have medians, whose intervals need no chance.
"""

from collections.abc import Iterable, Iterator, Sequence, Sized
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from hive_mind.evals.scorecards.card import Estimate, Middle
from hive_mind.measure.statistics import RESAMPLES, are_clusters, cluster_interval, groups_of

SEED = 20260101
_TAIL = 0.025
# Draws are made in blocks of at most this many numbers (16 MB), so that memory does not grow with the number of questions.
_BLOCK_NUMBERS = 2_000_000
# Above this the ranks are taken from the normal curve: they are then at most one from the exact ones.
_EXACT_MAX = 1_000
# Half the width of the middle 95 % of a normal distribution.
_NORMAL = 1.959964

Values = NDArray[np.float64]


def defined(values: Iterable[float | None]) -> Values:
    """The values that are there, in ascending order."""
    return np.sort(np.asarray([value for value in values if value is not None], np.float64))


def estimates(columns: Sequence[Sequence[float | None]], groups: Sequence[Sequence[str]] = ()) -> list[Estimate | None]:
    """Mean and interval of each column; None where nothing is defined. Raises `ValueError` for a value that is not finite.

    `groups` has a list for each column: the group of each of its values. None at all: every question is a group of its own.
    """
    sorted_columns = [defined(column) for column in columns]
    found: list[Estimate | None] = [None] * len(sorted_columns)
    for place, (column, named) in enumerate(zip(columns, groups, strict=True) if groups else ()):
        found[place] = _clustered(column, named)
    for size, places in _by_size([[] if one else column for one, column in zip(found, sorted_columns, strict=True)]):
        together = np.column_stack([sorted_columns[place] for place in places])
        if not np.isfinite(together).all():
            raise ValueError("a measured value is not a finite number; use None for an undefined one")
        lows, highs = np.quantile(_resampled_means(together), [_TAIL, 1 - _TAIL], axis=0)
        for place, mean, low, high in zip(places, together.mean(axis=0), lows, highs, strict=True):
            # Equal values can't move, but their mean can by its last bit.
            low, high = (mean, mean) if _is_constant(sorted_columns[place]) else (low, high)
            found[place] = Estimate(float(mean), float(low), float(high), size)
    return found


def estimate(column: Sequence[float | None], groups: Sequence[str] = ()) -> Estimate | None:
    """The same for one column."""
    return estimates([column], [groups] if groups else ())[0]


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


def _clustered(column: Sequence[float | None], groups: Sequence[str]) -> Estimate | None:
    """None where drawing groups is the same as drawing questions, or there is but one."""
    parts = groups_of(column, groups)
    if not are_clusters(parts):
        return None
    found = cluster_interval(parts, rng=np.random.default_rng(SEED))
    return Estimate(found.mean, found.low, found.high, sum(map(len, parts)))


def _by_size(columns: Sequence[Sized]) -> Iterator[tuple[int, list[int]]]:
    sizes: dict[int, list[int]] = {}
    for place, column in enumerate(columns):
        sizes.setdefault(len(column), []).append(place)
    return ((size, places) for size, places in sorted(sizes.items()) if size)


def _is_constant(ordered: Values) -> bool:
    return bool(ordered[0] == ordered[-1])


def _resampled_means(together: Values) -> Values:
    """A row per resample, a column per mean. The draws are those of `measure.statistics` with the same seed."""
    size = len(together)
    rng, rows = np.random.default_rng(SEED), max(1, _BLOCK_NUMBERS // size)
    blocks = [_drawn(rng, min(rows, RESAMPLES - start), size) @ together for start in range(0, RESAMPLES, rows)]
    return np.asarray(np.concatenate(blocks) / size)


def _drawn(rng: np.random.Generator, rows: int, size: int) -> Values:
    """How often each place is drawn, in each of some resamples."""
    places = rng.integers(size, size=(rows, size)) + np.arange(rows)[:, None] * size
    return np.bincount(places.ravel(), minlength=rows * size).reshape(rows, size).astype(np.float64)
