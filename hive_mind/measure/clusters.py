"""How sure is a mean over questions that come in groups, such as those of one conversation?

Questions of a group are alike, so many of them say less than as many of different groups. Whole groups are drawn instead of
questions (cluster bootstrap, Davison & Hinkley 1997). Of few groups that is still too narrow, so the interval is stretched by
what Student's distribution demands beyond the normal one (Hesterberg 2015): of five groups about 95 in 100 then hold the true
mean instead of 84. No mean lies outside the values themselves, so neither does the interval.
"""

from collections.abc import Sequence
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from hive_mind.measure.statistics import RESAMPLES, Interval

# Student's t at 97.5 % for 1 to 9 degrees of freedom; from 10 on the series below is exact to 0.003.
_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
_NORMAL = 1.960

Values = NDArray[np.float64]


def groups_of(values: Sequence[float | None], groups: Sequence[str]) -> list[Values]:
    """The defined values of each group, all in order, so that the order of the questions decides nothing."""
    found: dict[str, list[float]] = {}
    for value, group in zip(values, groups, strict=True):
        if value is not None:
            found.setdefault(group, []).append(value)
    return [np.sort(np.asarray(found[group], np.float64)) for group in sorted(found)]


def are_clusters(parts: Sequence[Values]) -> bool:
    """Whether drawing groups is another thing than drawing questions: there are several, and some has several values."""
    return 1 < len(parts) < sum(map(len, parts))


def cluster_interval(parts: Sequence[Values], *, rng: np.random.Generator, resamples: int = RESAMPLES) -> Interval:
    """The 95 % interval of the mean of all values. Raises `ValueError` for fewer than two groups, and for what is not finite."""
    if len(parts) < 2:
        raise ValueError(f"an interval over groups needs two of them, not {len(parts)}")
    every = np.concatenate(parts)
    if not np.isfinite(every).all():
        raise ValueError("a measured value is not a finite number; use None for an undefined one")
    sums, counts = np.array([part.sum() for part in parts]), np.array([len(part) for part in parts])
    drawn = rng.integers(len(parts), size=(resamples, len(parts)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    mean, stretch = float(every.mean()), _stretch(len(parts))
    low, high = (mean + stretch * (float(edge) - mean) for edge in np.quantile(means, [0.025, 0.975]))
    return Interval(mean, min(mean, max(float(every.min()), low)), max(mean, min(float(every.max()), high)), 0.95)


def _stretch(count: int) -> float:
    freedom = count - 1
    student = _STUDENT[freedom - 1] if freedom <= len(_STUDENT) else _NORMAL + 2.372 / freedom + 2.82 / freedom**2
    return sqrt(count / freedom) * student / _NORMAL
