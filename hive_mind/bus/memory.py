"""A bus within one event loop: nodes of one process, and tests.

It keeps the whole contract of `bus.EventBus`, but nothing is durable: messages to a name without a subscriber are lost, and so
are those an inbox still held when it was closed. Messages are handed over as objects, which are immutable. It starts no task and
looks at nothing twice: a subscriber is called when there is something to take.

A subscriber has a queue: a mailbox with a line of publishers before it when it is full.
"""

import asyncio
from collections.abc import Callable, Sequence
from itertools import count

from hive_mind.bus import (
    DEAD_LETTERS_SHOWN,
    DRAIN_S,
    EVERYONE,
    PUBLISH_TIMEOUT_S,
    BusCapabilities,
    BusHealth,
    BusSettings,
    DeadLetter,
    Envelope,
    Inbox,
    QueueState,
    Subscription,
)
from hive_mind.bus.address import BusAddress
from hive_mind.bus.mailbox import Mailbox, MailboxDelivery, drained
from hive_mind.errors import BackendThrottled, BackendUnavailable, InvalidInput

Room = asyncio.Future[bool]
"""Becomes true when an envelope that found a full queue needs to wait no longer, false when the bus is closed instead."""


class Queue(Mailbox[int]):
    """See `bus.Inbox`."""

    def __init__(self, bus: "MemoryBus", subscription: Subscription, on_ready: Callable[[], None]) -> None:
        super().__init__(subscription, on_ready, bus)
        self._bus = bus
        self._numbers = count(1)
        # Envelopes without room, in order, by their publisher's event.
        self._outside: dict[Room, Envelope] = {}

    @property
    def backlog(self) -> int:
        """With those that have no room yet."""
        return self.waiting + len(self._outside)

    @property
    def is_drained(self) -> bool:
        return super().is_drained and not self._outside

    def put(self, envelope: Envelope) -> Room | None:
        """Queue an envelope; where there is no room, behind those that wait for it: then a future tells when it is in."""
        # Waiting publishers are admitted as soon as there is room, so room here means that none waits.
        if self.has_room:
            self.offer(next(self._numbers), envelope)
            return None
        room: Room = asyncio.get_running_loop().create_future()
        self._outside[room] = envelope
        return room

    def withdraw(self, room: Room) -> None:
        """A publisher waits no longer: an envelope that is not in the queue by now is not sent."""
        self._outside.pop(room, None)

    def take(self, deliveries_max: int) -> Sequence[MailboxDelivery[int]]:
        deliveries = super().take(deliveries_max)
        while self._outside and self.room:
            room = next(iter(self._outside))
            self.offer(next(self._numbers), self._outside.pop(room))
            _resolve(room, True)
        return deliveries

    async def close(self) -> None:
        """Give the name free; held messages are lost."""
        await self.finish()
        self.end()

    def end(self, *, is_accepted: bool = True) -> None:
        """Drop everything. `is_accepted` is the result for publishers that wait for room."""
        if self.is_closed:
            return
        super().end()
        for room in self._outside:
            _resolve(room, is_accepted)
        self._outside.clear()
        self._bus.forget(self)


def _resolve(room: Room, is_accepted: bool) -> None:
    if not room.done():
        room.set_result(is_accepted)


async def open(address: BusAddress, settings: BusSettings) -> "MemoryBus":
    """An empty bus."""
    del address, settings
    return MemoryBus()


class MemoryBus:
    """See `bus.EventBus`."""

    def __init__(self) -> None:
        self._queues: dict[tuple[str, str], Queue] = {}
        self._watchers: list[_Watcher] = []
        self._is_closed = False
        self._settled = asyncio.Event()

    @property
    def capabilities(self) -> BusCapabilities:
        return BusCapabilities(is_durable=False, survives_restart=False, can_watch=True)

    @property
    def health(self) -> BusHealth:
        # Without `added_to`: every runner looks often, and a hundred mailboxes would cost more than the questions they carry.
        queues = self._queues.values()
        redelivered, duplicates = sum(queue.redelivered for queue in queues), sum(queue.duplicates for queue in queues)
        return BusHealth(not self._is_closed, 0, redelivered, duplicates, sum(queue.put_aside for queue in queues))

    async def publish(self, envelopes: Sequence[Envelope], *, timeout_s: float = PUBLISH_TIMEOUT_S) -> None:
        """Put each envelope into the queues of its targets. Suspends only where one is full."""
        self._refuse_if_closed()
        full: list[tuple[Queue, Room]] = []
        for envelope in envelopes:
            full += self._put(envelope, self._targets(envelope))
        if full:
            try:
                await asyncio.wait([room for _, room in full], timeout=timeout_s)
            finally:
                for queue, room in full:
                    queue.withdraw(room)
            names = sorted({queue.subscription.name for queue, room in full if not room.done()})
            if names:
                raise BackendThrottled(
                    "memory", f"no room for {timeout_s:g} s in the queue of {', '.join(names)}; send less, or later"
                )
            if not all(room.result() for _, room in full):
                raise BackendUnavailable("memory", "the bus was closed before there was room")

    def offer(self, envelope: Envelope) -> bool:
        if self._is_closed:
            return False
        targets = self._targets(envelope)
        for queue in targets:
            if not queue.has_room:
                return False
        self._put(envelope, targets)
        return True

    async def subscribe(self, subscription: Subscription, on_ready: Callable[[], None]) -> Inbox:
        self._refuse_if_closed()
        if (place := (subscription.hive, subscription.name)) in self._queues:
            raise InvalidInput(f"{subscription.name!r} is taken in hive {subscription.hive!r}; give this node another name")
        queue = self._queues[place] = Queue(self, subscription, on_ready)
        return queue

    async def watch(self, hive: str, on_envelope: Callable[[Envelope], None]) -> "_Watcher":
        self._refuse_if_closed()
        self._watchers.append(watcher := _Watcher(self._watchers, hive, on_envelope))
        return watcher

    async def queues(self, hive: str) -> Sequence[QueueState]:
        queues = {name: queue for (its_hive, name), queue in sorted(self._queues.items()) if its_hive == hive}
        return [QueueState(name, queue.backlog, len(queue.held) - queue.waiting, 0) for name, queue in queues.items()]

    async def dead_letters(self, hive: str, *, limit: int = DEAD_LETTERS_SHOWN) -> Sequence[DeadLetter]:
        del hive, limit
        return ()

    async def drop(self, hive: str, ids: Sequence[str]) -> int:
        del hive, ids
        return 0

    async def close(self, *, drain_s: float = DRAIN_S) -> None:
        """Wait until every queue is empty and acknowledged, or the time is up."""
        self._is_closed = True
        await drained(lambda: all(queue.is_drained for queue in self._queues.values()), self._settled, drain_s)
        for queue in tuple(self._queues.values()):
            queue.end(is_accepted=False)

    def forget(self, queue: Queue) -> None:
        del self._queues[queue.subscription.hive, queue.subscription.name]
        self._settled.set()

    def settled(self, native: int) -> None:
        """For mailboxes: nothing of it is kept anywhere else."""
        del native
        self._settled.set()

    def _put(self, envelope: Envelope, targets: Sequence[Queue]) -> list[tuple[Queue, Room]]:
        """Into each queue; which of them were full."""
        full = [(queue, room) for queue in targets if (room := queue.put(envelope)) is not None]
        for watcher in self._watchers:
            watcher.see(envelope)
        return full

    def _targets(self, envelope: Envelope) -> Sequence[Queue]:
        names: Sequence[str] = envelope.target
        if names == EVERYONE:
            names = [name for hive, name in self._queues if hive == envelope.hive and name != envelope.sender]
        return [queue for name in names if (queue := self._queues.get((envelope.hive, name))) is not None]

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise BackendUnavailable("memory", "the bus is closed; open another one")


class _Watcher:
    """See `bus.Watch`."""

    def __init__(self, all_watchers: "list[_Watcher]", hive: str, on_envelope: Callable[[Envelope], None]) -> None:
        self._all, self._hive, self._on_envelope = all_watchers, hive, on_envelope

    def see(self, envelope: Envelope) -> None:
        if envelope.hive == self._hive:
            self._on_envelope(envelope)

    async def close(self) -> None:
        if self in self._all:
            self._all.remove(self)
