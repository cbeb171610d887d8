"""A bus over Azure Event Hubs: one hub for any number of hives; their names are dealt out over its partitions.

Every process computes the partition of a name alike and sends there by number, so every message reaches its reader, whatever
other readers the hub has. A hub only keeps a log: the positions of each name are kept here, in SQLite under
`settings.state`. After a crash at most the last second, or the last hundred, of the acknowledged events are delivered again.
Positions are numbers of events: an event that was sent twice, in doubt, is recognised by its id within one life of a reader only.

Here are the bus, and the one hub as this process uses it: for each partition a sender, and a reader once somebody reads there.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial, reduce
from operator import itemgetter
from typing import TypeVar

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
    Key,
    QueueState,
    Subscription,
    Watch,
    codec,
)
from hive_mind.bus.address import BusAddress
from hive_mind.bus.eventhubs.clients import (
    AROUND_BYTES,
    BACKEND,
    Clients,
    Event,
    PartitionSender,
    asking,
    clients_for,
    off_loop,
)
from hive_mind.bus.eventhubs.inbox import Box, Chores, ConsumerName, Keeper, Position, Positions, Watching, keeper, partition_of
from hive_mind.bus.eventhubs.reader import Bounds, Care, Listener, PartitionReader
from hive_mind.bus.mailbox import drained
from hive_mind.errors import BackendUnavailable, InvalidInput, MessageTooLarge


async def open(address: BusAddress, settings: BusSettings) -> "EventHubsBus":
    """The bus of the hub that `address` names, `eventhubs://NAMESPACE.servicebus.windows.net/HUB?group=GROUP`.

    `settings.credential` is a connection string or a `SharedAccessSignature …`; without one, it is what `azure-identity` finds.
    """
    clients = clients_for(address, settings)
    state = keeper(settings.state, clients.place)
    try:
        async with asyncio.timeout(settings.connect_timeout_s):
            await state.start()
            hub = await opened(clients, settings)
    except BaseException as error:
        await state.close()
        if isinstance(error, TimeoutError):
            raise BackendUnavailable(BACKEND, f"{address} did not answer within {settings.connect_timeout_s:g} s") from error
        raise
    return EventHubsBus(hub, state, settings, is_cloud=not address.is_loopback)


async def scrub(
    address: BusAddress, settings: BusSettings, hives: Sequence[str], names: Collection[str], is_meant: Callable[[Envelope], bool]
) -> str:
    """A hub deletes nothing: why what is meant stays, and until when."""
    del address, settings, hives, names, is_meant
    return (
        f"a hub keeps each event until its retention time is over (an hour to 90 days, as it was made; the development broker: "
        f"while it runs). What was sent until {datetime.now(UTC):%Y-%m-%d %H:%M} UTC is gone that much later"
    )


class EventHubsBus:
    """See `bus.EventBus`."""

    def __init__(self, hub: "Hub", keeper: Keeper, settings: BusSettings, *, is_cloud: bool = True) -> None:
        self._is_cloud = is_cloud
        self._hub, self._keeper = hub, keeper
        bytes_max = hub.batch_bytes_max - AROUND_BYTES
        self._envelope_bytes_max = min(settings.envelope_bytes_max or bytes_max, bytes_max)
        self._chores = Chores()
        self._positions = Positions(keeper, self._chores)
        self._boxes: dict[ConsumerName, Box | None] = {}
        self._former = BusHealth(is_connected=True)
        self._is_closed = False
        self._settled, self._closed = asyncio.Event(), asyncio.Event()

    @property
    def capabilities(self) -> BusCapabilities:
        """A hub keeps everything for its retention time and gives each reader all of it; the development broker while it runs."""
        bytes_max = self._envelope_bytes_max
        return BusCapabilities(is_durable=True, survives_restart=self._is_cloud, can_watch=True, envelope_bytes_max=bytes_max)

    @property
    def health(self) -> BusHealth:
        hub = self._hub
        counted = reduce(lambda so_far, box: box.mailbox.added_to(so_far), self._open_boxes(), self._former)
        is_connected = not self._is_closed and hub.is_connected
        return replace(counted, is_connected=is_connected, reconnects=hub.reconnects, last_error=hub.last_error)

    async def publish(self, envelopes: Sequence[Envelope], *, timeout_s: float = PUBLISH_TIMEOUT_S) -> None:
        """Send what goes to one partition as one batch, all partitions at a time."""
        self._refuse_if_closed()
        events: dict[int, list[Event]] = {}
        for envelope in envelopes:
            data = codec.encode(envelope)
            if len(data) > self._envelope_bytes_max:
                raise MessageTooLarge(BACKEND, len(data), self._envelope_bytes_max)
            for partition in self._hub.partitions_of(envelope):
                events.setdefault(partition, []).append(Event(envelope.hive, data))
        await self._hub.send(events, timeout_s)

    async def subscribe(self, subscription: Subscription, on_ready: Callable[[], None]) -> Inbox:
        """Read for a name: from where it stopped, or from what its partition ends with now."""
        self._refuse_if_closed()
        place, partition = ConsumerName(subscription.hive, subscription.name), self._hub.partition_of(subscription.name)
        if place in self._boxes:
            raise InvalidInput(f"{place.name!r} is taken in hive {place.hive!r}; give this node another name")
        self._boxes[place] = None
        try:
            stored = await self._positions.of(place, partition)
            box = await self._hub.listen(
                partition, lambda bounds: Box(self, subscription, on_ready, _start(stored, subscription, bounds))
            )
        except BaseException:
            del self._boxes[place]
            raise
        self._boxes[place] = box
        # A subscriber that stops now must resume when it comes back.
        self.moved(box)
        self._positions.write()
        await self._chores.finish()
        return box

    async def watch(self, hive: str, on_envelope: Callable[[Envelope], None]) -> Watch:
        self._refuse_if_closed()
        shown_keys: OrderedDict[Key, None] = OrderedDict()
        watch = _Watch()

        async def look(partition: int) -> None:
            listener = await self._hub.listen(partition, lambda bounds: Watching(hive, bounds.end, shown_keys, on_envelope))
            watch.eyes.append((self._hub.reader(partition), listener))

        exceptions = await asyncio.gather(*map(look, range(self._hub.partitions)), return_exceptions=True)
        for error in exceptions:
            if error is not None:
                await watch.close()
                raise error
        return watch

    async def queues(self, hive: str) -> Sequence[QueueState]:
        """All names that ever subscribed. Of events not read here yet, all on a name's partition count as waiting for it."""
        self._positions.write()
        stops, dead = await self._positions.all(hive), await self._keeper.do(lambda state: state.dead_counts(hive))
        partitions = sorted({stop.partition for stop in stops.values() if stop.partition < self._hub.partitions})
        all_bounds = await asyncio.gather(*(self._hub.reader(partition).bounds() for partition in partitions))
        ends = {partition: bounds.end for partition, bounds in zip(partitions, all_bounds, strict=True)}
        states = []
        for name, stop in sorted(stops.items(), key=itemgetter(0)):
            waiting, open_count = self._waiting(ConsumerName(hive, name), stop.at, ends.get(stop.partition, stop.at.next))
            states.append(QueueState(name, waiting, open_count, dead.get(name, 0)))
        return states

    async def dead_letters(self, hive: str, *, limit: int = DEAD_LETTERS_SHOWN) -> Sequence[DeadLetter]:
        letters = await self._keeper.do(lambda state: state.dead(hive, limit))
        return [codec.dead_letter(dead.name, dead.data, dead.attempts, dead.reason, str(dead.id), dead.at_ms) for dead in letters]

    async def drop(self, hive: str, ids: Sequence[str]) -> int:
        numbers = [int(id) for id in dict.fromkeys(ids) if id.isdecimal()]
        return await self._keeper.do(lambda state: state.forget(hive, numbers))

    async def close(self, *, drain_s: float = DRAIN_S) -> None:
        """Wait for what was read and is not acknowledged, write the positions, end all threads."""
        if self._is_closed:
            await self._closed.wait()
            return
        self._is_closed = True
        await drained(lambda: all(box.mailbox.is_drained for box in self._open_boxes()), self._settled, drain_s)
        for box in self._open_boxes():
            box.mailbox.end()
        await self._hub.close()
        self._positions.write()
        await self._chores.finish()
        await self._keeper.close()
        self._closed.set()

    def moved(self, box: Box, settled: int = 0) -> None:
        self._positions.moved(box, self._hub.partition_of(box.place.name), settled=settled)
        self._settled.set()

    def has_room(self, box: Box) -> None:
        self._hub.reader(self._hub.partition_of(box.place.name)).rewind(box)

    async def leave(self, box: Box) -> None:
        self._former = box.mailbox.added_to(self._former)
        self._hub.reader(self._hub.partition_of(box.place.name)).remove(box)
        try:
            self.moved(box)
            self._positions.write()
            await self._chores.finish()
        finally:
            self._boxes.pop(box.place, None)

    def _open_boxes(self) -> list[Box]:
        return [box for box in self._boxes.values() if box is not None]

    def _waiting(self, place: ConsumerName, at: Position, end: int) -> tuple[int, int]:
        """How much waits for a name, and how much it holds."""
        box = self._boxes.get(place)
        if box is None:
            return max(end - at.next, 0) + len(at.open), 0
        return box.mailbox.waiting + max(end - box.next, 0), len(box.mailbox.held) - box.mailbox.waiting

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise BackendUnavailable(BACKEND, "the bus is closed; open another one")


class _Watch:
    """See `bus.Watch`."""

    def __init__(self) -> None:
        self.eyes: list[tuple[PartitionReader, Watching]] = []

    async def close(self) -> None:
        for reader, listener in self.eyes:
            reader.remove(listener)
        self.eyes.clear()


def _start(stored: Position | None, subscription: Subscription, bounds: Bounds) -> Position:
    if stored is None:
        return Position(bounds.first if subscription.start == "earliest" else bounds.end)
    # Beyond the end: the hub was recreated, and all that is in it is news.
    return stored if stored.next <= bounds.end else Position(bounds.first)


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
        is_hearing = all(reader.is_hearing for reader in self._readers.values())
        return is_hearing and not any(sender.is_failing for sender in self._senders)

    @property
    def reconnects(self) -> int:
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
    with asking(clients.consumer()) as client:
        return len(client.get_eventhub_properties()["partition_ids"])


def _batch_bytes(clients: Clients) -> int:
    with asking(clients.producer()) as client:
        return client.create_batch().max_size_in_bytes
