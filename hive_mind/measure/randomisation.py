"""Could two systems that are equally good differ this much by chance? Fisher's randomisation test on paired differences.

If they are equal, each question might as well have been won by the other one. So the signs of the differences are flipped in
every way, and it is counted how often the mean is at least as far from zero as it was found to be. It assumes nothing about how
differences are distributed; few questions only make it cautious. Chance comes in as `rng`.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# Up to this many differences every way of flipping is looked at: 2^16 sums are a few milliseconds.
EXACT_MAX = 16
# The standard error of a p of 0.05 is then 0.002.
DRAWS = 10_000
# Sums of the same numbers in another order differ in their last bits.
_SAME = 1e-9


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
