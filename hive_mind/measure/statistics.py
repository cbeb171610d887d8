"""How sure is a mean over questions, and is one system really better than another?

Percentile bootstrap over questions (Efron 1979): draw as many questions as there are, with replacement, and look how much
the mean moves; questions of one conversation are drawn together. Paired differences get a randomisation test. Undefined values
(None) are left out and counted, never taken for 0. Chance comes in as `rng`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import lgamma, log, log1p, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

# Of a 95 % interval this fixes each end to about 2 % of its width (standard error of that quantile of a normal mean).
# More only takes time.
RESAMPLES = 2_000

# Draws are made in blocks of at most this many numbers, so that memory does not grow with the number of questions.
_BLOCK_NUMBERS = 2_000_000

# Up to this many differences every way of flipping is looked at: 2^16 sums are a few milliseconds.
EXACT_MAX = 16
# The standard error of a p of 0.05 is then 0.002.
DRAWS = 10_000
# Sums of the same numbers in another order differ in their last bits.
_SAME = 1e-9

# Student's t at 97.5 % for 1 to 9 degrees of freedom; from 10 on the series below is exact to 0.003.
_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
_NORMAL = 1.960

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Mean:
    """A macro mean: every defined value counts the same. `mean` is None when nothing is defined."""

    mean: float | None
    defined: int
    undefined: int


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and the range that holds it with the given confidence (0.95: nineteen times in twenty)."""

    mean: float
    low: float
    high: float
    confidence: float


def macro_mean(values: Iterable[float | None]) -> Mean:
    """Mean over the questions for which a value is defined."""
    everything = list(values)
    defined = _checked([value for value in everything if value is not None])
    mean = float(defined.mean()) if len(defined) else None
    return Mean(mean, len(defined), len(everything) - len(defined))


def bootstrap_interval(
    values: Iterable[float | None], *, rng: np.random.Generator, confidence: float = 0.95, resamples: int = RESAMPLES
) -> Interval | None:
    """Percentile bootstrap interval of the macro mean; None when nothing is defined.

    Raises `ValueError` for a value that is not finite or a confidence outside (0, 1).
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, not {confidence}")
    defined = _checked([value for value in values if value is not None])
    if not len(defined):
        return None
    tail = (1 - confidence) / 2
    low, high = np.quantile(_resampled_means(defined, resamples, rng), [tail, 1 - tail])
    return Interval(float(defined.mean()), float(low), float(high), confidence)


def paired_difference(
    new: Sequence[float | None],
    old: Sequence[float | None],
    *,
    rng: np.random.Generator,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
) -> Interval | None:
    """Interval of mean(new - old) over the questions for which both are defined; None without any.

    Both answer the same questions in the same order. Pairing takes away the difficulty of the questions, which is
    most of the noise. Raises `ValueError` for different lengths and for values that are not finite.
    """
    if len(new) != len(old):
        raise ValueError(f"both must answer the same questions, but there are {len(new)} and {len(old)} values")
    differences = [a - b for a, b in zip(new, old, strict=True) if a is not None and b is not None]
    return bootstrap_interval(differences, rng=rng, confidence=confidence, resamples=resamples)


def share_ruled_out(found: int, asked: int, confidence: float = 0.95) -> float:
    """The share beyond which `found` or fewer of `asked` would be unlikely (Clopper & Pearson 1934), in [0, 1].

    Exact, where a bootstrap is not: what is rare is drawn too rarely, and what was not found is never drawn. Raises `ValueError`
    for more found than asked, or nothing asked.
    """
    if not 0 <= found <= asked or asked < 1:
        raise ValueError(f"{found} of {asked} is not a share")
    fewer = np.arange(found + 1)
    ways = np.array([lgamma(asked + 1) - lgamma(count + 1) - lgamma(asked - count + 1) for count in range(found + 1)])
    low, high = found / asked, 1.0
    # Each step halves what is open: after 50 a float has no room left.
    for _ in range(50 if found < asked else 0):
        share = (low + high) / 2
        chance = np.exp(ways + fewer * log(share) + (asked - fewer) * log1p(-share)).sum()
        low, high = (share, high) if chance > 1 - confidence else (low, share)
    return high


def wilson_bounds(found: float, asked: float, confidence: float = 0.95) -> tuple[float, float]:
    """What a share is at least, and what it is at most, each with this confidence (score interval, Wilson 1927), in [0, 1].

    Both may be effective numbers of a weighted sample. Of nothing asked everything is possible. Raises `ValueError` for more
    found than asked.
    """
    # Sums of weights miss each other by a rounding.
    if not -1e-9 <= found <= asked + 1e-9:
        raise ValueError(f"{found} of {asked} is not a share")
    if asked <= 0:
        return 0.0, 1.0
    deviations = NormalDist().inv_cdf(confidence)
    share, lent = min(max(found / asked, 0.0), 1.0), deviations**2 / asked
    centre = share + lent / 2
    reach = sqrt(lent * (share * (1 - share) + lent / 4))
    return max(0.0, (centre - reach) / (1 + lent)), min(1.0, (centre + reach) / (1 + lent))


def _checked(values: list[float]) -> NDArray[np.float64]:
    array = np.asarray(values, np.float64)
    if not np.isfinite(array).all():
        raise ValueError("a measured value is not a finite number; use None for an undefined one")
    return array


def _resampled_means(values: NDArray[np.float64], resamples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    size = len(values)
    rows = max(1, _BLOCK_NUMBERS // size)
    blocks = [
        values[rng.integers(size, size=(min(rows, resamples - start), size))].mean(axis=1) for start in range(0, resamples, rows)
    ]
    return np.concatenate(blocks)


def randomisation_p(
    new: Sequence[float | None], old: Sequence[float | None], *, rng: np.random.Generator, draws: int = DRAWS
) -> float | None:
    """Two-sided p of the difference of means; None where no question is defined for both, 1.0 where none differs.

    Raises `ValueError` for different lengths and for values that are not finite.
    """
    if len(new) != len(old):
        raise ValueError(f"both must answer the same questions, but there are {len(new)} and {len(old)} values")
    pairs = [(a, b) for a, b in zip(new, old, strict=True) if a is not None and b is not None]
    if not pairs:
        return None
    differences = np.asarray([a - b for a, b in pairs], np.float64)
    if not np.isfinite(differences).all():
        raise ValueError("a measured value is not a finite number; use None for an undefined one")
    # A question on which both are equal adds nothing to any sum, whichever its sign.
    moved = differences[differences != 0]
    if len(moved) <= EXACT_MAX:
        return float(np.mean(_as_far(_every_flip(len(moved)) @ moved, moved)))
    flips = rng.integers(2, size=(draws, len(moved)), dtype=np.int8) * 2.0 - 1.0
    # What was found is one of the ways itself, so p is never 0.
    return float((1 + np.count_nonzero(_as_far(flips @ moved, moved))) / (1 + draws))


def _as_far(sums: NDArray[np.float64], moved: NDArray[np.float64]) -> NDArray[np.bool_]:
    return np.asarray(np.abs(sums) >= abs(moved.sum()) * (1 - _SAME) - _SAME * 1e-3)


def _every_flip(count: int) -> NDArray[np.float64]:
    ways = np.arange(1 << count)[:, None] >> np.arange(count)
    return np.asarray((ways & 1) * 2.0 - 1.0)


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
