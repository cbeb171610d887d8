"""Coverage gap (document 003): does the evidence look strong, or did the search only find something because it always does?"""

from collections.abc import Sequence
from math import isfinite

WEAK_BELOW = 0.5
"""A score below this is weak. Scores are in [0, 1]."""


def coverage_gap(scores: Sequence[float], threshold: float = WEAK_BELOW) -> float:
    """Share of the results whose score is below the threshold, in [0, 1]; 1.0 where nothing was found.

    Raises `ValueError` for a score outside [0, 1] or NaN: compared with a threshold that would count as strong or as weak by
    accident.
    """
    for score in scores:
        if not isfinite(score) or not 0.0 <= score <= 1.0:
            raise ValueError(f"a score must be in [0, 1], not {score}")
    if not scores:
        return 1.0
    return sum(score < threshold for score in scores) / len(scores)
