"""How long things took, as histograms: counts by bucket, cheap enough to be always on."""

import time
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager

# Seconds. From a question within one process to one that waits out its deadline.
BOUNDS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Histogram:
    """Durations in seconds. `counts[i]` are those up to `BOUNDS_S[i]` and above the bound before; the last are the rest."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_S) + 1)
        self.sum_s = 0.0

    def observe(self, seconds: float) -> None:
        """One more. A negative time, of a clock that stepped back, counts as 0."""
        seconds = max(seconds, 0.0)
        self.counts[bisect_left(BOUNDS_S, seconds)] += 1
        self.sum_s += seconds

    @property
    def count(self) -> int:
        return sum(self.counts)

    def cumulative(self) -> list[tuple[str, int]]:
        """(upper bound, how many up to it), as Prometheus wants them; the last bound is "+Inf"."""
        total, rows = 0, []
        for bound, count in zip([*map(str, BOUNDS_S), "+Inf"], self.counts, strict=True):
            total += count
            rows.append((bound, total))
        return rows


class Timings:
    """Histograms by what was done."""

    def __init__(self) -> None:
        self.of: dict[str, Histogram] = {}

    def observe(self, work: str, seconds: float) -> None:
        if (histogram := self.of.get(work)) is None:
            histogram = self.of[work] = Histogram()
        histogram.observe(seconds)

    @contextmanager
    def measured(self, work: str) -> Iterator[None]:
        """Measure a block, also one that fails."""
        began_s = time.perf_counter()
        try:
            yield
        finally:
            self.observe(work, time.perf_counter() - began_s)
