"""One subscriber's queue in this process: bounded, in order, with deliveries that stay until they are acknowledged."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from hive_mind.bus.base import DeadLetter, Envelope, Subscription

Room = asyncio.Future[bool]
"""Becomes true when an envelope that found a full queue needs to wait no longer, false when the bus is closed instead."""


class Owner(Protocol):
    """What a queue tells its bus."""

    def put_aside(self, letter: DeadLetter) -> None:
        """Keep a dead letter."""
        ...

    def forget(self, queue: "Queue") -> None:
        """The queue was closed."""
        ...

    def look_whether_drained(self) -> None:
        """Something left the queue for good."""
        ...


class Queue:
    """See `base.Inbox`."""

    def __init__(self, owner: Owner, subscription: Subscription, on_ready: Callable[[], None]) -> None:
        self.subscription = subscription
        self.is_closed = False
        self._owner, self._on_ready = owner, on_ready
        self._waiting: deque[_Delivery] = deque()
        # What found no room, in order, by what wakes its publisher.
        self._outside: dict[Room, _Delivery] = {}
        self._delayed: dict[_Delivery, asyncio.TimerHandle] = {}
        self._inflight = 0

    @property
    def is_drained(self) -> bool:
        """Whether nothing waits and nothing is unacknowledged."""
        return not (self._waiting or self._outside or self._delayed or self._inflight)

    def offer(self, envelope: Envelope) -> Room | None:
        """Queue an envelope; where there is no room, behind those that wait for it: then a future tells when it is in."""
        # Whoever waits outside is let in as soon as there is room, so room here means that nobody does.
        delivery = _Delivery(self, envelope)
        if len(self._waiting) < self.subscription.waiting_max:
            self._waiting.append(delivery)
            self._on_ready()
            return None
        room: Room = asyncio.get_running_loop().create_future()
        self._outside[room] = delivery
        return room

    def withdraw(self, room: Room) -> None:
        """A publisher waits no longer: what is not in the queue by now is not sent."""
        self._outside.pop(room, None)

    def take(self, deliveries_max: int) -> "Sequence[_Delivery]":
        """Those in front."""
        waiting = self._waiting
        count = min(deliveries_max, len(waiting), self.subscription.inflight_max - self._inflight)
        taken = [waiting.popleft() for _ in range(count)]
        self._inflight += len(taken)
        if self._outside:
            self._let_in()
        return taken

    async def close(self) -> None:
        """Give the name free; what is held is gone."""
        self.end(is_accepted=True)

    def end(self, *, is_accepted: bool) -> None:
        """Drop everything. Publishers that wait for room are told whether their envelopes count as accepted."""
        if self.is_closed:
            return
        self.is_closed = True
        for timer in self._delayed.values():
            timer.cancel()
        for room in self._outside:
            _tell(room, is_accepted)
        self._waiting.clear()
        self._delayed.clear()
        self._outside.clear()
        self._inflight = 0
        self._owner.forget(self)

    def settle(self) -> None:
        """A delivery is out of the subscriber's hands."""
        self._inflight -= 1
        if self._waiting:
            self._on_ready()
        self._owner.look_whether_drained()

    def put_back(self, delivery: "_Delivery", delay_s: float, reason: str) -> None:
        """Deliver again what was refused, as a new delivery, unless that was its last chance."""
        if delivery.attempt >= self.subscription.attempts_max:
            self.put_aside(delivery, reason)
            return
        again = _Delivery(self, delivery.envelope, delivery.attempt + 1)
        if delay_s > 0:
            self._delayed[again] = asyncio.get_running_loop().call_later(delay_s, self._return, again)
        else:
            self._return(again)

    def put_aside(self, delivery: "_Delivery", reason: str) -> None:
        """Make it a dead letter."""
        self._owner.put_aside(DeadLetter(self.subscription.name, delivery.envelope, delivery.attempt, reason))

    def _return(self, delivery: "_Delivery") -> None:
        self._delayed.pop(delivery, None)
        self._waiting.appendleft(delivery)
        self._on_ready()

    def _let_in(self) -> None:
        while self._outside and len(self._waiting) < self.subscription.waiting_max:
            room = next(iter(self._outside))
            self._waiting.append(self._outside.pop(room))
            _tell(room, True)
        self._on_ready()


class _Delivery:
    """See `base.Delivery`."""

    __slots__ = ("_is_settled", "_queue", "attempt", "envelope")

    def __init__(self, queue: Queue, envelope: Envelope, attempt: int = 1) -> None:
        self._queue, self.envelope, self.attempt = queue, envelope, attempt
        self._is_settled = False

    async def ack(self) -> None:
        """Forget it."""
        if self._settles():
            self._queue.settle()

    async def nack(self, *, delay_s: float = 0.0, reason: str = "") -> None:
        """Put it back."""
        if self._settles():
            self._queue.put_back(self, delay_s, reason)
            self._queue.settle()

    async def dead_letter(self, reason: str) -> None:
        """Put it aside."""
        if self._settles():
            self._queue.put_aside(self, reason)
            self._queue.settle()

    def _settles(self) -> bool:
        if self._is_settled or self._queue.is_closed:
            return False
        self._is_settled = True
        return True


def _tell(room: Room, is_accepted: bool) -> None:
    if not room.done():
        room.set_result(is_accepted)
