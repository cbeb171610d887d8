"""One partition's reader, shared by all subscribers of it in this process: it starts, watches and repairs the reading thread.

Each subscriber keeps its own position. One with an older position than the thread's makes it start again from there, and the
others pass over events they saw already; a subscriber without room is left behind, and fetched later in the same way. So none
holds up another.
"""

import asyncio
import logging
import random
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from hive_mind.bus.eventhubs.clients import BACKEND, Clients, Event, off_loop, translated, translating
from hive_mind.bus.eventhubs.partition_sender import PartitionSender
from hive_mind.bus.eventhubs.reading import Reading, SequencedEvent
from hive_mind.errors import BackendError, BackendRejected, BackendUnavailable
from hive_mind.retry import RetrySettings, delay_s

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
        ...

    @property
    def next(self) -> int:
        """The first sequence number it did not see."""
        ...

    @property
    def is_behind(self) -> bool:
        """Whether it has no room, and will ask for a `rewind` when it has."""
        ...

    def take_event(self, event: SequencedEvent) -> None:
        """An event, perhaps one that it saw already."""
        ...

    def jump(self, number: int) -> None:
        """The hub does not have what would come next; here it goes on."""
        ...


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
        """Whether it reads, or nobody wants it to."""
        return self._has_heard or not self._is_needed

    def add(self, listener: Listener) -> None:
        """Read for one more, from its `next` on."""
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

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _is_needed(self) -> bool:
        return any(not listener.is_behind for listener in self._listeners)

    def _look(self) -> Bounds:
        client = self._clients.consumer()
        try:
            with translating():
                properties = client.get_partition_properties(str(self._partition))
        finally:
            client.close()
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
