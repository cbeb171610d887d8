"""Where a ranking should end: before the cliff, where the next result is dramatically worse than the trend so far (document 000).

Gaps are compared with gaps and never scores with scores, so it works for scores squeezed into a narrow band, as those of
reciprocal rank fusion are. Scores of one arm alone have cliffs of the same kind.
"""

from collections.abc import Sequence
from dataclasses import dataclass

# Below this part of the best score a difference is the last bits of a sum: neither a cliff nor a trend.
_NOTHING = 1e-12


@dataclass(frozen=True, slots=True)
class Cut:
    """How many results are kept. `gap` and `mean_gap`, the trend before it, are those of the cliff; both 0 without one."""

    kept: int
    gap: float = 0.0
    mean_gap: float = 0.0

    @property
    def is_cliff(self) -> bool:
        """Whether it ends at a cliff rather than at the most that was wanted, or at the end."""
        return self.gap > 0.0

    @property
    def times(self) -> float:
        """The gap as a multiple of the mean before it; 0 without a cliff."""
        return self.gap / self.mean_gap if self.is_cliff else 0.0


def cut(scores: Sequence[float], factor: float = 3.0, min_results: int = 1, max_results: int = 10) -> Cut:
    """Where to end a ranking with these scores, best first.

    It ends before the first result, after at least `min_results`, with a gap to the one before it above `factor` times the mean
    of the gaps before that one. Equal scores leave no gap: they neither begin a trend nor weaken it, and the first gap that there
    is has nothing to be compared with.
    """
    gaps: list[float] = []
    for count in range(1, min(len(scores), max_results)):
        gap = scores[count - 1] - scores[count]
        if gap <= _NOTHING * abs(scores[0]):
            continue
        if gaps and count >= min_results and gap > factor * (mean := sum(gaps) / len(gaps)):
            return Cut(count, gap, mean)
        gaps.append(gap)
    return Cut(min(len(scores), max_results))
