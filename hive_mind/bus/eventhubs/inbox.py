"""Readers: the inbox of a name, and a watch over a hive."""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Protocol

from hive_mind.bus import codec
from hive_mind.bus.base import OTHER_PROGRAM, Delivery, Envelope, Key, Subscription, key_of
from hive_mind.bus.eventhubs.partitions import Position, Watermark
from hive_mind.bus.eventhubs.reading import SequencedEvent, Unreadable
from hive_mind.bus.eventhubs.state import ConsumerName, Dead
from hive_mind.bus.mailbox import Mailbox, MailboxDelivery

_log = logging.getLogger(__name__)

# Envelopes that an inbox takes beyond its bound before it is left behind: fetching what was left costs half a second.
_OVERFLOW = 64
# A watcher sees an envelope once for each partition it went to, one shortly after the other.
_SEEN_MAX = 10_000


class PartitionInboxListener(Protocol):
    """Calls of an inbox to its bus, on the event loop. Nothing of it waits."""

    def moved(self, box: "Box", settled: int = 0) -> None:
        """Its position is another, perhaps because something was settled."""
        ...

    def keep_dead(self, box: "Box", letter: Dead) -> None:
        """Keep a dead letter, then `finish` its number."""
        ...

    def has_room(self, box: "Box") -> None:
        """It was left behind, and can take more."""
        ...

    async def leave(self, box: "Box") -> None:
        """Its name is free."""
        ...


class Box:
    """See `base.Inbox`. It sees everything that is read on its partition and keeps what is addressed to it."""

    def __init__(
        self, owner: PartitionInboxListener, subscription: Subscription, on_ready: Callable[[], None], at: Position
    ) -> None:
        self.place, self.hive = ConsumerName(subscription.hive, subscription.name), subscription.hive
        self.mailbox: Mailbox[int] = Mailbox(subscription, on_ready, self)
        self.is_behind = False
        self._owner, self._mark = owner, Watermark(at)

    @property
    def next(self) -> int:
        return self._mark.next

    @property
    def position(self) -> Position:
        return self._mark.position()

    def take_event(self, seen: SequencedEvent) -> None:
        """Keep it, if it is new and for this name."""
        number, what = seen.number, seen.what
        if self.is_behind or number < self._mark.next:
            return
        if isinstance(what, Envelope) and self.mailbox.wants(what):
            if self.mailbox.is_heavy or self.mailbox.waiting >= self.mailbox.subscription.waiting_max + _OVERFLOW:
                self.is_behind = True
            elif self._mark.begin(number):
                self.mailbox.offer(number, what, size=seen.size)
        elif isinstance(what, Unreadable) and what.hive == self.hive and self._mark.begin(number):
            self.mailbox.unreadable[codec.misfit(what.data)] += 1
            self._owner.keep_dead(self, Dead(0, self.place.name, number, 1, what.reason, _now_ms(), what.data))
        else:
            if isinstance(what, Unreadable) and not what.hive:
                # Counted only: whose dead letter would it be?
                self.mailbox.unreadable[OTHER_PROGRAM] += 1
            self._mark.skip(number)
        self._owner.moved(self)

    def jump(self, number: int) -> None:
        """The hub does not have what would come next here."""
        _log.warning("%s goes on at %d instead of %d: the hub was recreated", self.place.name, number, self.next)
        self._mark = Watermark(Position(number))
        self._owner.moved(self)

    def finish(self, number: int) -> None:
        """It need not be read again."""
        self._mark.finish(number)
        self._owner.moved(self, 1)
        is_roomy = not self.mailbox.is_heavy and 2 * self.mailbox.waiting <= self.mailbox.subscription.waiting_max
        if self.is_behind and is_roomy:
            self.is_behind = False
            self._owner.has_room(self)

    def take(self, deliveries_max: int) -> Sequence[Delivery]:
        return self.mailbox.take(deliveries_max)

    async def close(self) -> None:
        """Give the name free; held events will be read again."""
        if not self.mailbox.is_closed:
            self.mailbox.end()
            await self._owner.leave(self)

    def settled(self, mailbox: Mailbox[int], delivery: MailboxDelivery[int]) -> None:
        del mailbox
        self.finish(delivery.native)

    def put_aside(self, mailbox: Mailbox[int], delivery: MailboxDelivery[int], reason: str) -> None:
        del mailbox
        data = codec.encode(delivery.envelope)
        self._owner.keep_dead(self, Dead(0, self.place.name, delivery.native, delivery.attempt, reason, _now_ms(), data))


class Watching:
    """A watch over the events of a hive, on one of the partitions. `known` is shared by those of all partitions."""

    is_behind = False

    def __init__(self, hive: str, start: int, known: OrderedDict[Key, None], on_envelope: Callable[[Envelope], None]) -> None:
        self.hive, self.next, self._known, self._on_envelope = hive, start, known, on_envelope

    def take_event(self, seen: SequencedEvent) -> None:
        """Show it, unless another partition did."""
        if seen.number < self.next:
            return
        self.next = seen.number + 1
        if not isinstance(seen.what, Envelope) or seen.what.hive != self.hive or (key := key_of(seen.what)) in self._known:
            return
        self._known[key] = None
        if len(self._known) > _SEEN_MAX:
            self._known.popitem(last=False)
        self._on_envelope(seen.what)

    def jump(self, number: int) -> None:
        self.next = number


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
