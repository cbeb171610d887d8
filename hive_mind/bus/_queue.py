"""One subscriber's queue in this process: a mailbox, and a line of publishers before it when it is full."""

import asyncio
from collections.abc import Callable, Sequence
from itertools import count
from typing import Protocol

from hive_mind.bus.base import Delivery, Envelope, Subscription
from hive_mind.bus.mailbox import Mailbox, MailboxDelivery

Room = asyncio.Future[bool]
"""Becomes true when an envelope that found a full queue needs to wait no longer, false when the bus is closed instead."""


class QueueListener(Protocol):
    """Calls of a queue to its bus."""

    def keep_dead(self, name: str, delivery: MailboxDelivery[int], reason: str) -> None:
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

    def __init__(self, owner: QueueListener, subscription: Subscription, on_ready: Callable[[], None]) -> None:
        self.subscription = subscription
        self.mailbox: Mailbox[int] = Mailbox(subscription, on_ready, self)
        self._owner = owner
        self._numbers = count(1)
        # Envelopes without room, in order, by their publisher's event.
        self._outside: dict[Room, Envelope] = {}

    @property
    def is_closed(self) -> bool:
        """Whether nobody takes from it any more."""
        return self.mailbox.is_closed

    @property
    def waiting(self) -> int:
        """How many were not handed out yet."""
        return self.mailbox.waiting + len(self._outside)

    @property
    def is_drained(self) -> bool:
        """Whether nothing waits and nothing is unacknowledged."""
        return self.mailbox.is_drained and not self._outside

    @property
    def has_room(self) -> bool:
        """Whether an envelope would have to wait for none."""
        return self.mailbox.has_room

    def offer(self, envelope: Envelope) -> Room | None:
        """Queue an envelope; where there is no room, behind those that wait for it: then a future tells when it is in."""
        # Waiting publishers are admitted as soon as there is room, so room here means that none waits.
        if self.mailbox.has_room:
            self.mailbox.offer(next(self._numbers), envelope)
            return None
        room: Room = asyncio.get_running_loop().create_future()
        self._outside[room] = envelope
        return room

    def withdraw(self, room: Room) -> None:
        """A publisher waits no longer: an envelope that is not in the queue by now is not sent."""
        self._outside.pop(room, None)

    def take(self, deliveries_max: int) -> Sequence[Delivery]:
        taken = self.mailbox.take(deliveries_max)
        while self._outside and self.mailbox.room:
            room = next(iter(self._outside))
            self.mailbox.offer(next(self._numbers), self._outside.pop(room))
            _resolve(room, True)
        return taken

    async def close(self) -> None:
        """Give the name free; held messages are lost."""
        self.end(is_accepted=True)

    def end(self, *, is_accepted: bool) -> None:
        """Drop everything. `is_accepted` is the result for publishers that wait for room."""
        if self.is_closed:
            return
        self.mailbox.end()
        for room in self._outside:
            _resolve(room, is_accepted)
        self._outside.clear()
        self._owner.forget(self)

    def settled(self, mailbox: Mailbox[int], delivery: MailboxDelivery[int]) -> None:
        """For the mailbox: nothing of it is kept anywhere else."""
        del mailbox, delivery
        self._owner.look_whether_drained()

    def put_aside(self, mailbox: Mailbox[int], delivery: MailboxDelivery[int], reason: str) -> None:
        """For the mailbox: make it a dead letter."""
        self._owner.keep_dead(mailbox.subscription.name, delivery, reason)
        self._owner.look_whether_drained()


def _resolve(room: Room, is_accepted: bool) -> None:
    if not room.done():
        room.set_result(is_accepted)
