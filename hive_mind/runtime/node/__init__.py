"""One node of a hive over its journal and a bus.

Here are the settings of how a runner runs its node, and the figures it counts, also of how long things took.
"""

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from hive_mind.bus import LetterBox, Subscription
from hive_mind.clocks import wall_clock_ms
from hive_mind.hive.effects import Now
from hive_mind.hive.query import ScatterSettings
from hive_mind.runtime.node.outgoing import OutgoingSettings

Clock = Callable[[], Now]


HIVE = "hive"
"""The name of a hive where nobody names it."""
_SUBSCRIPTION = Subscription(HIVE, "")


@dataclass(frozen=True, slots=True)
class RunnerSettings:
    """`ask_deadline_ms`: an answer comes by then, complete or not. Raise it for slow members; every silent one costs that long.

    The rest is what `bus.Subscription` says.
    """

    hive: str = HIVE
    ask_deadline_ms: int = ScatterSettings().deadline_ms
    fetch_deadline_ms: int = ScatterSettings().deadline_ms
    outgoing: OutgoingSettings = field(default_factory=OutgoingSettings)
    waiting_max: int = _SUBSCRIPTION.waiting_max
    inflight_max: int = _SUBSCRIPTION.inflight_max
    attempts_max: int = _SUBSCRIPTION.attempts_max
    ack_wait_s: float = _SUBSCRIPTION.ack_wait_s
    start: Literal["new", "earliest"] = _SUBSCRIPTION.start
    gather_s: Callable[[], float] = _SUBSCRIPTION.gather_s

    def subscription(self, name: str, letters: LetterBox | None = None) -> Subscription:
        return Subscription(
            self.hive,
            name,
            self.waiting_max,
            self.inflight_max,
            attempts_max=self.attempts_max,
            ack_wait_s=self.ack_wait_s,
            start=self.start,
            gather_s=self.gather_s,
            letters=letters,
        )


@dataclass(slots=True)
class Figures:
    """Counts of a runner since it was started; those from `foreign` on, of messages that were not as they should be."""

    sends_lost: int = 0
    """Messages the bus did not take."""
    waiting: int = 0
    """Deliveries in hand, not acknowledged yet."""
    answers_late: int = 0
    """Questions of others whose time was over before it was their turn."""
    foreign: int = 0
    """Of another hive; put aside."""
    strangers: int = 0
    """From somebody who is no member, as far as the node knows: one who joins, perhaps, or has just left."""
    refused: Counter[str] = field(default_factory=Counter)
    """That the node could not take, by type; put aside."""
    echoes: int = 0
    """In the node's own name, which it had not sent, or not lately; passed over."""
    unproven: Counter[str] = field(default_factory=Counter)
    """Not proven to be from whom they say, by reason; where that is required, one of each sender is put aside."""


def system_clock() -> Now:
    return Now(wall_clock_ms(), time.monotonic_ns() // 1_000_000)


# Seconds. From a question within one process to one that waits out its deadline.
BOUNDS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Histogram:
    """Durations in seconds. `counts[i]` are those up to `BOUNDS_S[i]` and above the bound before; the last are the rest."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_S) + 1)
        self.sum_s = 0.0

    def observe(self, seconds: float) -> None:
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
        began_s = time.perf_counter()
        try:
            yield
        finally:
            self.observe(work, time.perf_counter() - began_s)
