"""Readers: the inbox of a name, and a watch over a hive. And one hub as this process uses it, for all of them: for each partition
a sender, and a reader once somebody reads there.

State kept between two lives: positions, written now and then.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

from hive_mind.bus.base import EVERYONE, OTHER_PROGRAM, BusSettings, Delivery, Envelope, Key, Subscription, key_of
from hive_mind.bus.eventhubs.clients import BACKEND, Clients, Event, PartitionSender, off_loop, translating
from hive_mind.bus.eventhubs.reader import Bounds, Care, Listener, PartitionReader, SequencedEvent, Unreadable
from hive_mind.bus.eventhubs.state import ConsumerName, Keeper, Position, Stop, Watermark, partition_of
from hive_mind.bus.mailbox import Mailbox
from hive_mind.errors import BackendError, BackendUnavailable

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


L = TypeVar("L", bound=Listener)

# A sender looks at the clock itself; a thread that hangs in the SDK does not.
_GRACE_S = 1.0
_JOIN_S = 3.0


class Hub:
    """Belongs to an event loop. Opens its senders at once, in parallel and without being waited for."""

    def __init__(self, clients: Clients, settings: BusSettings, partitions: int, batch_bytes_max: int) -> None:
        self.partitions, self.batch_bytes_max = partitions, batch_bytes_max
        self._clients, self._timeout_s = clients, settings.connect_timeout_s
        self._care = Care(settings.watch_every_s, settings.reconnect_s_max)
        self._senders = [PartitionSender(clients, partition, batch_bytes_max) for partition in range(partitions)]
        self._readers: dict[int, PartitionReader] = {}

    @property
    def is_connected(self) -> bool:
        """Whether what is to be read is read, and what was sent last was accepted."""
        is_hearing = all(reader.is_hearing for reader in self._readers.values())
        return is_hearing and not any(sender.is_failing for sender in self._senders)

    @property
    def reconnects(self) -> int:
        """How often a partition was read anew after a failure."""
        return sum(reader.reconnects for reader in self._readers.values())

    @property
    def last_error(self) -> str:
        """ "" while nothing has failed."""
        errors = [reader.last_error for reader in self._readers.values()] + [sender.last_error for sender in self._senders]
        return next(filter(None, errors), "")

    def partition_of(self, name: str) -> int:
        return partition_of(name, self.partitions)

    def partitions_of(self, envelope: Envelope) -> Sequence[int]:
        """Where an envelope must go: once to each partition where one of its targets reads."""
        if envelope.target == EVERYONE:
            return range(self.partitions)
        return tuple(dict.fromkeys(map(self.partition_of, envelope.target)))

    def reader(self, partition: int) -> PartitionReader:
        if partition not in self._readers:
            self._readers[partition] = PartitionReader(self._clients, partition, self._senders[partition], self._care)
        return self._readers[partition]

    async def listen(self, partition: int, make: Callable[[Bounds], L]) -> L:
        """Read for a listener, made for the present content of the partition. Returns when something was heard."""
        reader, listener = self.reader(partition), None
        try:
            async with asyncio.timeout(self._timeout_s):
                listener = make(await reader.bounds())
                reader.add(listener)
                await reader.prove(self._timeout_s)
        except BaseException as error:
            if listener is not None:
                reader.remove(listener)
            if isinstance(error, TimeoutError):
                raise self._silent(partition) from error
            raise
        return listener

    async def send(self, events: Mapping[int, Sequence[Event]], timeout_s: float) -> None:
        """Send to some partitions at a time, and return when the broker has accepted all."""
        sends = [self._senders[partition].send(partition_events, timeout_s) for partition, partition_events in events.items()]
        try:
            if sends:
                await asyncio.wait(sends, timeout=timeout_s + _GRACE_S)
        finally:
            has_hung = [send.cancel() for send in sends]
        for error in [send.exception() for send in sends if not send.cancelled()]:
            if error is not None:
                raise error
        if any(has_hung):
            raise BackendUnavailable(BACKEND, f"the broker did not answer within {timeout_s:g} s; some may have been accepted")

    async def close(self) -> None:
        for sender in self._senders:
            sender.close()
        await asyncio.gather(*(reader.close(_JOIN_S) for reader in self._readers.values()))
        await asyncio.gather(*(off_loop(partial(sender.join, _JOIN_S), "join") for sender in self._senders))

    def _silent(self, partition: int) -> BackendUnavailable:
        reason = self._readers[partition].last_error or self._senders[partition].last_error or "the broker is silent"
        where = f"partition {partition} of {self._clients.place}"
        return BackendUnavailable(BACKEND, f"{where} could not be read within {self._timeout_s:g} s: {reason}")


async def opened(clients: Clients, settings: BusSettings) -> Hub:
    """Ask the hub what it is, with the right to read and the right to send."""
    # Both to their end, or a thread would outlive an error.
    partitions, batch_bytes = await asyncio.gather(
        off_loop(lambda: _partitions(clients), "properties"),
        off_loop(lambda: _batch_bytes(clients), "link"),
        return_exceptions=True,
    )
    if isinstance(partitions, BaseException):
        raise partitions
    if isinstance(batch_bytes, BaseException):
        raise batch_bytes
    return Hub(clients, settings, partitions, batch_bytes)


def _partitions(clients: Clients) -> int:
    client = clients.consumer()
    try:
        with translating():
            return len(client.get_eventhub_properties()["partition_ids"])
    finally:
        client.close()


def _batch_bytes(clients: Clients) -> int:
    client = clients.producer()
    try:
        with translating():
            return client.create_batch().max_size_in_bytes
    finally:
        client.close()
