"""What a share of few may really be: bounds for a count of questions, exact or by score."""

from math import lgamma, log, log1p, sqrt
from statistics import NormalDist

import numpy as np


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
