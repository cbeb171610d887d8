"""A bus within one event loop: nodes of one process, and tests.

It keeps the whole contract of `base.EventBus`, but nothing is durable: what is addressed to a name that nobody has is gone, and
so is what an inbox still held when it was closed. Messages are handed over as objects, which are immutable. It starts no task
and looks at nothing twice: a subscriber is called when there is something to take.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from hive_mind.bus._queue import Queue, Room
from hive_mind.bus.base import BusCapabilities, DeadLetter, Envelope, Inbox, Measure, Subscription, Traffic
from hive_mind.errors import BackendThrottled, BackendUnavailable, InvalidInput

# Enough to see what goes wrong; the oldest are dropped first.
DEAD_LETTERS_MAX = 1000

__all__ = ["Measure", "MemoryBus", "Traffic", "open"]


async def open(*, measure: Measure | None = None) -> "MemoryBus":
    """An empty bus. With `measure` (bytes of a message) it counts its traffic."""
    return MemoryBus(measure)


class MemoryBus:
    """See `base.EventBus`."""

    def __init__(self, measure: Measure | None = None) -> None:
        self._measure = measure
        self._traffic: dict[str, Traffic] = {}
        self._queues: dict[tuple[str, str], Queue] = {}
        self._dead: deque[DeadLetter] = deque(maxlen=DEAD_LETTERS_MAX)
        self._is_closed = False
        self._drained: asyncio.Future[None] | None = None

    @property
    def capabilities(self) -> BusCapabilities:
        """Nothing lasts, nothing is too large."""
        return BusCapabilities(is_durable=False, survives_restart=False)

    @property
    def traffic(self) -> Mapping[str, Traffic]:
        """What was published so far, by type; empty without a `measure`. A copy."""
        return dict(self._traffic)

    @property
    def dead_letters(self) -> Sequence[DeadLetter]:
        """What was put aside, oldest first; the last `DEAD_LETTERS_MAX` of them."""
        return tuple(self._dead)

    async def publish(self, envelopes: Sequence[Envelope], *, timeout_s: float = 10.0) -> None:
        """Put each envelope into the queues of its targets. Suspends only where one is full."""
        self._refuse_if_closed()
        full: list[tuple[Queue, Room]] = []
        for envelope in envelopes:
            if self._measure is not None:
                self._count(envelope, self._measure)
            for name in envelope.target:
                queue = self._queues.get((envelope.hive, name))
                if queue is not None and (room := queue.offer(envelope)) is not None:
                    full.append((queue, room))
        if full:
            await _wait_for_room(full, timeout_s)

    async def subscribe(self, subscription: Subscription, on_ready: Callable[[], None]) -> Inbox:
        """Give a name its queue."""
        self._refuse_if_closed()
        place = subscription.hive, subscription.name
        if place in self._queues:
            raise InvalidInput(f"{subscription.name!r} is taken in hive {subscription.hive!r}; give this node another name")
        self._queues[place] = queue = Queue(self, subscription, on_ready)
        return queue

    async def close(self, *, drain_s: float = 5.0) -> None:
        """Wait until every queue is empty and acknowledged, or the time is up."""
        self._is_closed = True
        if any(not queue.is_drained for queue in self._queues.values()):
            self._drained = self._drained or asyncio.get_running_loop().create_future()
            await asyncio.wait([self._drained], timeout=drain_s)
        for queue in tuple(self._queues.values()):
            queue.end(is_accepted=False)

    def put_aside(self, letter: DeadLetter) -> None:
        """For queues: keep a dead letter."""
        self._dead.append(letter)

    def forget(self, queue: Queue) -> None:
        """For queues: one was closed."""
        self._queues.pop((queue.subscription.hive, queue.subscription.name), None)
        self.look_whether_drained()

    def look_whether_drained(self) -> None:
        """For queues: something left one for good."""
        if self._drained is None or self._drained.done():
            return
        if all(queue.is_drained for queue in self._queues.values()):
            self._drained.set_result(None)

    def _count(self, envelope: Envelope, measure: Measure) -> None:
        copies = len(envelope.target)
        messages, size = self._traffic.get(envelope.type, (0, 0))
        self._traffic[envelope.type] = Traffic(messages + copies, size + copies * measure(envelope.message))

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise BackendUnavailable("memory", "the bus is closed; open another one")


async def _wait_for_room(full: Sequence[tuple[Queue, Room]], timeout_s: float) -> None:
    try:
        await asyncio.wait([room for _, room in full], timeout=timeout_s)
    finally:
        for queue, room in full:
            queue.withdraw(room)
    names = sorted({queue.subscription.name for queue, room in full if not room.done()})
    if names:
        raise BackendThrottled("memory", f"no room for {timeout_s:g} s in the queue of {', '.join(names)}; send less, or later")
    if not all(room.result() for _, room in full):
        raise BackendUnavailable("memory", "the bus was closed before there was room")
