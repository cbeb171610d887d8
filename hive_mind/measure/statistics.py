"""How sure is a mean over questions, and is one system really better than another?

Percentile bootstrap over questions (Efron 1979): draw as many questions as there are, with replacement, and look how much
the mean moves. Undefined values (None) are left out and counted, never taken for 0. Chance comes in as `rng`.
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

    @property
    def excludes_zero(self) -> bool:
        """Of a difference: whether it is more than noise."""
        return self.low > 0 or self.high < 0


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
    """Interval of mean(new - old) over the questions for which both are defined; None when there are none.

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
        raise ValueError(f"{found} of {asked} is no share")
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
        raise ValueError(f"{found} of {asked} is no share")
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
