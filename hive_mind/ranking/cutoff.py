"""Where a ranking should end: before the cliff, where the next result is dramatically worse than the trend so far (document 000).

Gaps are compared with gaps and never scores with scores, so it works for scores squeezed into a narrow band, as those of
reciprocal rank fusion are. Scores of one arm alone have cliffs of the same kind.
"""

from collections.abc import Sequence
from dataclasses import dataclass

# Below this a difference is the last bits of a sum, and no trend.
_NOTHING = 1e-12


@dataclass(frozen=True, slots=True)
class Cut:
    """How many results are kept. `gap` and `mean_gap` are those of the cliff; both 0 without one."""

    kept: int
    gap: float = 0.0
    mean_gap: float = 0.0

    @property
    def is_cliff(self) -> bool:
        """Whether it ends at a cliff rather than at the most that was wanted, or at the end."""
        return self.gap > 0.0

    @property
    def times(self) -> float:
        """The gap as a multiple of the mean before it."""
        return self.gap / self.mean_gap if self.mean_gap > 0 else float("inf")


def cut(scores: Sequence[float], factor: float = 3.0, min_results: int = 1, max_results: int = 10) -> Cut:
    """Where to end a ranking with these scores, best first.

    It ends before the first result, after at least `min_results`, with a gap to the one before it above `factor` times the mean
    of all gaps before that one. The first gap has nothing to be compared with, so two results are never parted.
    """
    total = 0.0
    for kept in range(1, min(len(scores), max_results)):
        gap = max(scores[kept - 1] - scores[kept], 0.0)
        mean = total / (kept - 1) if kept > 1 else 0.0
        if kept > 1 and kept >= min_results and gap > factor * mean and gap > _NOTHING:
            return Cut(kept, gap, mean)
        total += gap
    return Cut(min(len(scores), max_results))
