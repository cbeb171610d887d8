"""Readers: the inbox of a name, and a watch over a hive.

State kept between two lives: positions, written now and then.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol

from hive_mind.bus.base import OTHER_PROGRAM, Delivery, Envelope, Key, Subscription, key_of
from hive_mind.bus.eventhubs.reading import SequencedEvent, Unreadable
from hive_mind.bus.eventhubs.state import ConsumerName, Keeper, Position, Stop, Watermark
from hive_mind.bus.mailbox import Mailbox
from hive_mind.errors import BackendError

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

    def has_room(self, box: "Box") -> None:
        """It was left behind, and can take more."""
        ...

    async def leave(self, box: "Box") -> None: ...


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

    def take_event(self, event: SequencedEvent) -> None:
        """Keep it, if it is new and for this name."""
        number, content = event.number, event.what
        if self.is_behind or number < self._mark.next:
            return
        if isinstance(content, Envelope) and self.mailbox.wants(content):
            if self.mailbox.is_heavy or self.mailbox.waiting >= self.mailbox.subscription.waiting_max + _OVERFLOW:
                self.is_behind = True
            elif self._mark.begin(number):
                self.mailbox.offer(number, content, size=event.size)
        elif isinstance(content, Unreadable) and content.hive == self.hive and self._mark.begin(number):
            self.mailbox.refuse(number, content.data, 1, content.reason)
        else:
            if isinstance(content, Unreadable) and not content.hive:
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
        await self.mailbox.finish()
        if not self.mailbox.is_closed:
            self.mailbox.end()
            await self._owner.leave(self)

    def settled(self, native: int) -> None:
        self.finish(native)


class Watching:
    """A watch over the events of a hive, on one of the partitions. `known` is shared by those of all partitions."""

    is_behind = False

    def __init__(
        self, hive: str, start: int, shown_keys: OrderedDict[Key, None], on_envelope: Callable[[Envelope], None]
    ) -> None:
        self.hive, self.next, self._known, self._on_envelope = hive, start, shown_keys, on_envelope

    def take_event(self, event: SequencedEvent) -> None:
        """Show it, unless another partition did."""
        if event.number < self.next:
            return
        self.next = event.number + 1
        if not isinstance(event.what, Envelope) or event.what.hive != self.hive or (key := key_of(event.what)) in self._known:
            return
        self._known[key] = None
        if len(self._known) > _SEEN_MAX:
            self._known.popitem(last=False)
        self._on_envelope(event.what)

    def jump(self, number: int) -> None:
        self.next = number


_EVERY_S, _EVERY = 1.0, 100


class Chores:
    """Work to do behind a caller that can't wait."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(self._do(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def finish(self) -> None:
        """Return when what is to be done by now is done."""
        if tasks := set(self._tasks):
            await asyncio.wait(tasks)

    async def _do(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except BackendError as error:
            _log.warning("this was not saved, so some messages will be delivered again: %s", error)


class Positions:
    """How far each name is. The file is asked each time: another process may have read under a name before this one does."""

    def __init__(self, keeper: Keeper, chores: Chores) -> None:
        self._keeper, self._chores = keeper, chores
        self._moved: dict[ConsumerName, tuple[int, Box]] = {}
        self._settled, self._is_writing = 0, False
        self._timer: asyncio.TimerHandle | None = None

    async def of(self, place: ConsumerName, partition: int) -> Position | None:
        """Where a name stopped; None if it never read, or if it read another partition, when the hub had fewer."""
        stop = (await self.all(place.hive)).get(place.name)
        return stop.at if stop is not None and stop.partition == partition else None

    async def all(self, hive: str) -> dict[str, Stop]:
        """The last positions of all names that ever read in a hive."""
        return await self._keeper.do(lambda state: state.positions(hive))

    def moved(self, box: Box, partition: int, *, settled: int = 0) -> None:
        """It has another position, to be written within a second or after a hundred that were settled."""
        self._moved[box.place] = partition, box
        self._settled += settled
        if self._settled >= _EVERY and not self._is_writing:
            self.write()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_EVERY_S, self.write)

    def write(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._settled = None, 0
        stops = {place: Stop(partition, box.position) for place, (partition, box) in self._moved.items()}
        self._moved.clear()
        if stops:
            self._is_writing = True
            self._chores.add(self._save(stops))

    async def _save(self, stops: dict[ConsumerName, Stop]) -> None:
        try:
            await self._keeper.write(list(stops.items()))
        finally:
            self._is_writing = False
