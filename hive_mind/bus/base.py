"""What every bus does: carry envelopes to named nodes, at least once where it can, and say what it can.

A bus publishes and delivers; requests, replies and deadlines are the business of `hive`. Names follow CloudEvents 1.0, so that an
envelope can be written as one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, Protocol

import msgspec

from hive_mind.model.messages import Message


class Envelope(msgspec.Struct, frozen=True):
    """One message on its way. Immutable like the message, so a bus within a process hands out the same object to everybody."""

    id: str
    """Unique among all envelopes of its sender, also after a restart; the same when it is sent or delivered again."""
    hive: str
    sender: str
    target: tuple[str, ...]
    """Names of nodes, at least one, each once."""
    type: str
    message: Message
    correlation_id: str = ""
    """Names what this belongs to, such as a query; "" for what stands alone."""


@dataclass(frozen=True, slots=True)
class BusCapabilities:
    """What a bus can, where buses differ."""

    is_durable: bool
    """Whether what was published while a subscriber was away reaches it later."""
    survives_restart: bool
    """Whether what was accepted outlives the bus itself."""
    envelope_bytes_max: int | None = None
    """None: no bound."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """Who wants to be sent what is addressed to `name` within `hive`, and how much of it at a time."""

    hive: str
    name: str
    waiting_max: int = 1024
    """Envelopes that may wait; then publishers wait. More costs memory and hides a slow subscriber longer."""
    inflight_max: int = 256
    """Deliveries taken and not yet acknowledged; then no more are handed out. More lets a journal commit larger groups."""
    attempts_max: int = 5
    """Deliveries of one envelope before it is a dead letter."""


class Delivery(Protocol):
    """An envelope in the hands of a subscriber, until one of the three is called; a second call changes nothing.

    They raise `BackendError` where the bus could not be told: then the envelope may be delivered again.
    """

    @property
    def envelope(self) -> Envelope:
        """What was delivered."""
        ...

    @property
    def attempt(self) -> int:
        """The how-manieth delivery of it this is, from 1."""
        ...

    async def ack(self) -> None:
        """It needs no repetition."""
        ...

    async def nack(self, *, delay_s: float = 0.0, reason: str = "") -> None:
        """Deliver it again, before all that waits or after `delay_s`; after the last attempt it is a dead letter for `reason`."""
        ...

    async def dead_letter(self, reason: str) -> None:
        """It can't be handled, now or later: put it aside."""
        ...


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An envelope put aside, for whom and why."""

    name: str
    envelope: Envelope
    attempts: int
    reason: str


class Inbox(Protocol):
    """Where deliveries of one subscription wait. Envelopes of one sender come in the order in which it published them.

    One that is delivered again comes out of order.
    """

    def take(self, deliveries_max: int) -> Sequence["Delivery"]:
        """Those that wait, at most so many, perhaps none; never more unacknowledged ones at a time than the subscription says."""
        ...

    async def close(self) -> None:
        """Give the name free. Where the bus is durable, what was not acknowledged is delivered again to the next of this name."""
        ...


class EventBus(Protocol):
    """Carries envelopes. Belongs to the event loop on which it was opened."""

    @property
    def capabilities(self) -> BusCapabilities:
        """What it can."""
        ...

    async def publish(self, envelopes: Sequence[Envelope], *, timeout_s: float = 10.0) -> None:
        """Hand envelopes over, in order; when this returns, the bus has accepted all.

        Nobody subscribed under a target's name is no error. Waits while a subscriber's queue is full and raises
        `BackendThrottled` when that takes longer than `timeout_s`, `BackendUnavailable` when the bus is closed or not reachable;
        then some targets may have been reached. A caller that is cancelled leaves each envelope whole or unsent.
        """
        ...

    async def subscribe(self, subscription: Subscription, on_ready: Callable[[], None]) -> Inbox:
        """From now on, keep what is addressed to a name. Raises `InvalidInput` when the name is taken.

        `on_ready` is called on the event loop whenever there may be something to take; it must not wait, nor publish or take.
        """
        ...

    async def close(self, *, drain_s: float = 5.0) -> None:
        """Accept nothing more, wait until everything was acknowledged or `drain_s` have passed, leave no task behind.

        Closing twice is fine.
        """
        ...


class Traffic(NamedTuple):
    """Messages of one type, each copy to a target counted, and their bytes."""

    messages: int
    bytes: int


Measure = Callable[[Message], int]
"""How many bytes a message would be on a wire."""


class MeteredBus(EventBus, Protocol):
    """A bus that was opened with a `Measure`."""

    @property
    def traffic(self) -> Mapping[str, Traffic]:
        """What was published so far, by type. A copy."""
        ...


def type_of(message: Message) -> str:
    """A message's type as it is written on its envelope."""
    return _tag_of(type(message))


@cache
def _tag_of(kind: type[Message]) -> str:
    return str(kind.__struct_config__.tag)


def correlation_of(message: Message) -> str:
    """What a message belongs to: its query or its request, "" where it has none."""
    return getattr(message, "query", "") or getattr(message, "request", "")
