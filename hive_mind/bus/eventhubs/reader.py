"""One partition's reader, shared by all subscribers of it in this process: it starts, watches and repairs the reading thread.

Each subscriber keeps its own position. One with an older position than the thread's makes it start again from there, and the
others pass over events they saw already; a subscriber without room is left behind, and fetched later in the same way. So none
holds up another.

The SDK's public `receive` fetches as many events at once as it allows the broker to send ahead, and returns only when that many
have come or none came for a while: either every event waits (seconds, where few come), or each one costs a round trip. Its
consumer below that fetches as they come while many are sent ahead, and says at once when the broker refuses it.
"""

import asyncio
import logging
import random
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from azure.eventhub import EventData, EventHubConsumerClient

from hive_mind.awaiting import call_on
from hive_mind.bus import UNREADABLE_BYTES_MAX, Envelope, codec
from hive_mind.bus._azure import bytes_of
from hive_mind.bus.eventhubs.clients import (
    BACKEND,
    Clients,
    Event,
    PartitionSender,
    Socket,
    asking,
    off_loop,
    translated,
    unpack,
)
from hive_mind.errors import BackendError, BackendRejected, BackendUnavailable, WireError
from hive_mind.retry import RetrySettings, delay_s

# Events on their way to us: as many as a round trip of some milliseconds can carry, and a loop digests at once.
_AHEAD = 300
# Events that wait for the event loop; then the thread waits.
_UNSEEN_MAX = 2000


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An event that is no envelope. `hive` is the one it claims to be of; "" where it is of another program."""

    hive: str
    data: bytes
    """The first of it."""
    reason: str


@dataclass(frozen=True, slots=True)
class Token:
    """A ping that a reader sent to itself, to test that it still receives."""

    text: bytes


@dataclass(frozen=True, slots=True)
class SequencedEvent:
    """An event and its sequence number; None for what is nobody's here."""

    number: int
    what: Envelope | Unreadable | Token | None
    size: int
    """Bytes."""


class Reading:
    """A thread that reads from `start` on and hands over what it sees, in order, on the event loop."""

    def __init__(
        self,
        clients: Clients,
        partition: int,
        start: int,
        hives: Callable[[], frozenset[str]],
        on_seen: Callable[[Sequence[SequencedEvent]], None],
    ) -> None:
        self._clients, self._partition, self._start, self._hives, self._on_seen = clients, partition, start, hives, on_seen
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[BackendError | None] = self._loop.create_future()
        """Becomes the error that ended it; None when it was stopped."""
        self._unseen: list[SequencedEvent] = []
        self._lock = threading.Lock()
        self._has_room = threading.Event()
        self._has_room.set()
        self._is_stopping = False
        self.thread = threading.Thread(target=self._run, name=f"eventhubs read {partition}", daemon=True)
        self.thread.start()

    def stop(self) -> None:
        """Read nothing more; `ended` follows soon."""
        self._is_stopping = True
        self._has_room.set()

    def abandon(self) -> None:
        """Wait no longer for a thread that hangs in the SDK."""
        self.stop()
        self._end(None)

    def _show(self) -> None:
        with self._lock:
            events, self._unseen = self._unseen, []
        self._has_room.set()
        if not self.ended.done() and not self._is_stopping:
            self._on_seen(events)

    def _end(self, error: BackendError | None) -> None:
        if not self.ended.done():
            self.ended.set_result(error)

    def _run(self) -> None:
        error: BackendError | None = None
        client = self._clients.consumer()
        try:
            self._read(client)
        except Exception as failure:  # noqa: BLE001 - any error belongs to the supervisor
            error = translated(failure)
            error.__cause__ = failure
        finally:
            client.close()
        call_on(self._loop, self._end, error)

    def _read(self, client: EventHubConsumerClient) -> None:
        # After a number rather than from it on: the number that will come next is refused as unknown. "-1" is the very beginning.
        after: int | str = self._start - 1 if self._start > 0 else "-1"
        # Any: it is typed for `receive`, which wraps the function it hands on.
        create: Any = client._create_consumer  # noqa: SLF001 - see the top
        consumer: Any = create(self._clients.group, str(self._partition), after, self._take, prefetch=_AHEAD)
        # Reading all the time is enough to keep a connection alive.
        consumer._keep_alive = None  # noqa: SLF001
        socket = Socket()
        try:
            while not self._is_stopping and not _is_open(consumer, socket):
                pass
            # Fetch one by one what is sent ahead.
            consumer._prefetch = 1  # noqa: SLF001 - see the top
            while not self._is_stopping:
                consumer.receive(batch=True, max_batch_size=_AHEAD)
                if not consumer.running:
                    raise BackendUnavailable(BACKEND, "the connection was lost")
        finally:
            consumer.close()
            socket.close()

    def _take(self, events: Sequence[EventData]) -> None:
        hives = self._hives()
        sequenced_events = [_seen(event, hives) for event in events]
        with self._lock:
            is_first, is_full = not self._unseen, len(self._unseen) + len(sequenced_events) > _UNSEEN_MAX
            self._unseen += sequenced_events
            if is_full:
                self._has_room.clear()
        if is_first:
            call_on(self._loop, self._show)
        self._has_room.wait()


def _is_open(consumer: Any, socket: Socket) -> bool:
    try:
        is_open = bool(consumer._open())  # noqa: SLF001 - see the top
        socket.look(consumer)
        return is_open
    except Exception as error:
        socket.look(consumer)
        raise consumer._handle_exception(error, is_consumer=True) from error  # noqa: SLF001


def _seen(event: EventData, hives: frozenset[str]) -> SequencedEvent:
    body = bytes_of(event.body)
    return SequencedEvent(event.sequence_number or 0, _what(body, hives), len(body))


def _what(body: bytes, hives: frozenset[str]) -> Envelope | Unreadable | Token | None:
    sent = unpack(body)
    if sent is None:
        return Unreadable("", b"", "no hive sent it")
    if not sent.hive:
        return Token(sent.data) if sent.data else None
    if sent.hive not in hives:
        return None
    try:
        return codec.decode(sent.data)
    except WireError as error:
        return Unreadable(sent.hive, sent.data[:UNREADABLE_BYTES_MAX], str(error))


_log = logging.getLogger(__name__)

# A stopping thread checks every 0.2 s; one that takes longer hangs in the SDK.
_STOP_S = 3.0
# Pings that were accepted and did not arrive, before a reader counts as deaf.
_MISSES = 2


@dataclass(frozen=True, slots=True)
class Bounds:
    """Sequence numbers of a partition: the first that is still kept, and the one that will be given out next."""

    first: int
    end: int


class Listener(Protocol):
    """A subscriber."""

    @property
    def hive(self) -> str:
        """Of which hive."""

    @property
    def next(self) -> int:
        """The first sequence number it did not see."""

    @property
    def is_behind(self) -> bool:
        """Whether it has no room, and will ask for a `rewind` when it has."""

    def take_event(self, event: SequencedEvent) -> None:
        """An event, perhaps one that it saw already."""

    def jump(self, number: int) -> None:
        """The hub does not have what would come next; here it goes on."""


@dataclass(slots=True)
class Care:
    """How a reader is looked after."""

    watch_every_s: float
    reconnect_s_max: float


class PartitionReader:
    """Reads one partition as long as there is somebody to read for."""

    def __init__(self, clients: Clients, partition: int, sender: PartitionSender, care: Care) -> None:
        self.next = 0
        """The first sequence number that no thread has handed over yet."""
        self.reconnects, self.last_error = 0, ""
        self._clients, self._partition, self._sender, self._care = clients, partition, sender, care
        self._listeners: list[Listener] = []
        self._hives: frozenset[str] = frozenset()
        self._reading: Reading | None = None
        self._threads: list[Reading] = []
        self._has_heard = self._has_heard_lately = False
        self._waiters: list[asyncio.Future[None]] = []
        self._wanted = asyncio.Event()
        self._looking, self._looks, self._bounds = asyncio.Lock(), 0, Bounds(0, 0)
        self._rng = random.Random()  # noqa: S311 - keeps a fleet from coming back in step, hides nothing
        self._task = asyncio.create_task(self._supervise())

    @property
    def is_hearing(self) -> bool:
        return self._has_heard or not self._is_needed

    def add(self, listener: Listener) -> None:
        self._listeners.append(listener)
        self._hives = frozenset(each.hive for each in self._listeners)
        self.rewind(listener)

    def remove(self, listener: Listener) -> None:
        if listener in self._listeners:
            self._listeners.remove(listener)
            self._hives = frozenset(each.hive for each in self._listeners)
        if not self._is_needed:
            self._halt()

    def rewind(self, listener: Listener) -> None:
        """See that it gets what it did not see."""
        if self._reading is not None and listener.next < self.next:
            self._halt()
        self._wanted.set()

    async def bounds(self) -> Bounds:
        """The content of the partition at some moment after this was called. Callers that wait together share the answer."""
        looks = self._looks
        async with self._looking:
            if self._looks == looks:
                self._looks += 1
                async with asyncio.timeout(self._clients.timeout_s):
                    self._bounds = await off_loop(self._look, f"look {self._partition}")
        return self._bounds

    async def prove(self, timeout_s: float) -> None:
        """Return when something came. Raises what the broker answered instead, and waits for ever where it is silent."""
        if self._has_heard:
            return
        self._waiters.append(arrival := asyncio.get_running_loop().create_future())
        try:
            await self._ping(timeout_s)
            await arrival
        finally:
            self._waiters.remove(arrival)

    async def close(self, timeout_s: float) -> None:
        self._task.cancel()
        self._halt()
        await asyncio.wait([self._task])
        for reading in self._threads:
            await off_loop(partial(reading.thread.join, timeout_s), "join")

    @property
    def _is_needed(self) -> bool:
        return any(not listener.is_behind for listener in self._listeners)

    def _look(self) -> Bounds:
        with asking(self._clients.consumer()) as client:
            properties = client.get_partition_properties(str(self._partition))
        return Bounds(int(properties["beginning_sequence_number"]), int(properties["last_enqueued_sequence_number"]) + 1)

    def _halt(self) -> None:
        self._has_heard = False
        if (reading := self._reading) is not None:
            self._reading = None
            reading.stop()
            asyncio.get_running_loop().call_later(_STOP_S, reading.abandon)

    def _ping(self, timeout_s: float) -> asyncio.Future[None]:
        return self._sender.send([Event("", secrets.token_bytes(8))], timeout_s)

    async def _supervise(self) -> None:
        failures, error = 0, None
        while True:
            await self._wanted.wait()
            if not self._is_needed:
                self._wanted.clear()
                continue
            try:
                if error is not None:
                    self._fit(await self.bounds())
                error = await self._read()
            except (BackendError, TimeoutError) as failure:
                error = translated(failure)
            if error is not None:
                failures = 1 if self._has_heard else failures + 1
                self._note(error)
                ceiling = RetrySettings(delay_first_s=0.1, delay_max_s=self._care.reconnect_s_max)
                await asyncio.sleep(delay_s(failures, ceiling, rng=self._rng))

    async def _read(self) -> BackendError | None:
        """One life of a thread. The error that ended it; None when it was stopped here."""
        self.next = min(listener.next for listener in self._listeners if not listener.is_behind)
        reading = Reading(self._clients, self._partition, self.next, lambda: self._hives, self._take_in)
        self._reading, self._has_heard = reading, False
        self._threads = [thread for thread in self._threads if thread.thread.is_alive()] + [reading]
        try:
            return await self._watch(reading)
        finally:
            reading.stop()
            if self._reading is reading:
                self._reading = None

    async def _watch(self, reading: Reading) -> BackendError | None:
        misses, self._has_heard_lately = 0, False
        while True:
            ping = None if self._has_heard_lately else self._ping(self._care.watch_every_s)
            self._has_heard_lately = False
            await asyncio.wait([reading.ended], timeout=self._care.watch_every_s)
            # That nothing can be sent says nothing about hearing.
            was_sent = ping is not None and not ping.cancel() and ping.exception() is None
            if reading.ended.done():
                return reading.ended.result()
            misses = 0 if self._has_heard_lately else misses + was_sent
            if misses >= _MISSES:
                return BackendUnavailable(BACKEND, f"partition {self._partition} hears nothing: two heartbeats did not arrive")

    def _take_in(self, events: Sequence[SequencedEvent]) -> None:
        self._has_heard = self._has_heard_lately = True
        for event in events:
            self.next = event.number + 1
            for listener in self._listeners:
                listener.take_event(event)
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        if not self._is_needed:
            self._halt()

    def _note(self, error: BackendError) -> None:
        self._has_heard = False
        self.reconnects += 1
        self.last_error = str(error)
        _log.log(logging.INFO if self._waiters else logging.WARNING, "partition %d is read anew: %s", self._partition, error)
        if isinstance(error, BackendRejected):
            for waiter in self._waiters:
                if not waiter.done():
                    waiter.set_exception(error)

    def _fit(self, bounds: Bounds) -> None:
        """Leave places that the hub does not have: it was made anew, and all that is in it is news."""
        for listener in self._listeners:
            if listener.next > bounds.end:
                listener.jump(bounds.first)
