"""Settings of how a runner runs its node, and the figures it counts."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from hive_mind.bus.base import LetterBox, Subscription
from hive_mind.hive.effects import Now
from hive_mind.hive.query.latencies import ScatterSettings
from hive_mind.runtime.node.outgoing import OutgoingSettings

Clock = Callable[[], Now]


HIVE = "hive"
"""The name of a hive where nobody names it."""
_SUBSCRIPTION = Subscription(HIVE, "")


@dataclass(frozen=True, slots=True)
class RunnerSettings:
    """`ask_deadline_ms`: an answer comes by then, complete or not. Raise it for slow members; every silent one costs that long.

    The rest is what `bus.base.Subscription` says.
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

    def subscription(self, name: str, letters: LetterBox | None = None) -> Subscription:
        return Subscription(
            self.hive,
            name,
            self.waiting_max,
            self.inflight_max,
            attempts_max=self.attempts_max,
            ack_wait_s=self.ack_wait_s,
            start=self.start,
            letters=letters,
        )


@dataclass(frozen=True, slots=True)
class Figures:
    """Counts of a runner since it was started."""

    sends_lost: int
    """Messages the bus did not take."""
    waiting: int
    """Deliveries in hand, not acknowledged yet."""
    answers_late: int
    """Questions of others whose time was over before it was their turn."""
    foreign: int
    """Messages of another hive; put aside."""
    strangers: int
    """Messages from somebody who is no member, as far as the node knows: one who joins, perhaps, or has just left."""
    refused: Mapping[str, int]
    """Messages the node could not take, by type; put aside."""
    echoes: int = 0
    """Messages in the node's own name that it had not sent, or not lately; passed over."""
    unproven: Mapping[str, int] = field(default_factory=dict)
    """Messages not proven to be from whom they say, by reason."""


def system_clock() -> Now:
    return Now(time.time_ns() // 1_000_000, time.monotonic_ns() // 1_000_000)
