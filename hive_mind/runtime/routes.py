"""Two buses as one: what must not be lost goes over one, and what is worth something only while it is fresh over the other.

Questions, their replies and beats are live. Everything else waits for members that are away.

Either may be encrypted: then all that this process sends is, and nothing is heard that is not (`identity.epochs`). That stands
between a node and its bus, so no kind of message can be forgotten: questions, replies, facts, beats, and with them what the bus
keeps, lists and puts aside.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from hive_mind.bus import (
    DEAD_LETTERS_SHOWN,
    DRAIN_S,
    PUBLISH_TIMEOUT_S,
    BusCapabilities,
    BusHealth,
    DeadLetter,
    Delivery,
    Envelope,
    EventBus,
    Inbox,
    QueueState,
    Subscription,
    Watch,
    added,
    admin_of,
)
from hive_mind.errors import ConfigError
from hive_mind.identity.epochs import LOCKED, OVERHEAD_BYTES, Cipher
from hive_mind.model.messages import LIVE
from hive_mind.runtime.node.outgoing import OutgoingQueue, OutgoingSettings

_Second = TypeVar("_Second")

# Ids of dead letters say which bus has them.
_DURABLE, _LIVE = "durable:", "live:"


class Routed:
    """See `bus.EventBus`. It owns both, and closes them."""

    def __init__(self, durable: EventBus, live: EventBus) -> None:
        self._durable, self._live = durable, live

    @property
    def parts(self) -> tuple[EventBus, EventBus]:
        """The durable bus for messages that must not be lost, then the live one."""
        return self._durable, self._live

    @property
    def capabilities(self) -> BusCapabilities:
        """Those of the durable bus for messages that must not be lost; but any message must fit both."""
        durable, live = self._durable.capabilities, self._live.capabilities
        bounds = [bus.envelope_bytes_max for bus in (durable, live) if bus.envelope_bytes_max is not None]
        return replace(
            durable,
            can_watch=durable.can_watch and live.can_watch,
            envelope_bytes_max=min(bounds, default=None),
        )

    @property
    def health(self) -> BusHealth:
        bus_health, other_health = self._durable.health, self._live.health
        return BusHealth(
            bus_health.is_connected and other_health.is_connected,
            bus_health.reconnects + other_health.reconnects,
            bus_health.redelivered + other_health.redelivered,
            bus_health.duplicates + other_health.duplicates,
            bus_health.dead_letters + other_health.dead_letters,
            added(bus_health.unreadable, other_health.unreadable),
            bus_health.last_error or other_health.last_error,
            bus_health.vitals or other_health.vitals,
        )

    async def publish(self, envelopes: Sequence[Envelope], *, timeout_s: float = PUBLISH_TIMEOUT_S) -> None:
        """Each over its bus. The two go on side by side: a question does not wait for what must be kept."""
        live = [envelope for envelope in envelopes if type(envelope.message) in LIVE]
        durable = [envelope for envelope in envelopes if type(envelope.message) not in LIVE]
        parts = [(bus, part) for bus, part in ((self._durable, durable), (self._live, live)) if part]
        results = await asyncio.gather(*(bus.publish(part, timeout_s=timeout_s) for bus, part in parts), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result

    async def subscribe(self, subscription: Subscription, on_ready: Callable[[], None]) -> Inbox:
        durable = await self._durable.subscribe(subscription, on_ready)
        # Live messages sent before this node came are of no use to it.
        live = self._live.subscribe(replace(subscription, start="new"), on_ready)
        return _Both(durable, await _beside(durable, live))

    async def watch(self, hive: str, on_envelope: Callable[[Envelope], None]) -> Watch:
        durable = await self._durable.watch(hive, on_envelope)
        return _Watches(durable, await _beside(durable, self._live.watch(hive, on_envelope)))

    async def queues(self, hive: str) -> Sequence[QueueState]:
        """Those of the durable bus: on the other nothing is worth waiting for."""
        return await admin_of(self._durable).queues(hive)

    async def dead_letters(self, hive: str, *, limit: int = DEAD_LETTERS_SHOWN) -> Sequence[DeadLetter]:
        durable = [
            replace(letter, id=_DURABLE + letter.id) for letter in await admin_of(self._durable).dead_letters(hive, limit=limit)
        ]
        live = [replace(letter, id=_LIVE + letter.id) for letter in await admin_of(self._live).dead_letters(hive, limit=limit)]
        return sorted([*durable, *live], key=lambda letter: letter.at_ms)[:limit]

    async def drop(self, hive: str, ids: Sequence[str]) -> int:
        durable, live = _parted(ids)
        return await admin_of(self._durable).drop(hive, durable) + await admin_of(self._live).drop(hive, live)

    async def close(self, *, drain_s: float = DRAIN_S) -> None:
        await asyncio.gather(self._durable.close(drain_s=drain_s), self._live.close(drain_s=drain_s))


async def _beside(first: Inbox | Watch, opening: Coroutine[Any, Any, _Second]) -> _Second:
    """The second one, or none: where it can't be had, the first one is closed."""
    try:
        return await opening
    except BaseException:
        await first.close()
        raise


class Lines:
    """The lines of a node's messages, one for each bus: where one is gone, the other does not wait for it."""

    def __init__(self, node: str, bus: EventBus, settings: OutgoingSettings, on_back: Callable[[], None]) -> None:
        buses = bus.parts if isinstance(bus, Routed) else (bus,)
        self._lines = [OutgoingQueue(node, buse, settings, on_back) for buse in buses]

    def __len__(self) -> int:
        """How many were not accepted yet."""
        return sum(map(len, self._lines))

    @property
    def lost(self) -> int:
        """How many were never accepted."""
        return sum(line.lost for line in self._lines)

    @property
    def refusal(self) -> str:
        """Why a bus takes nothing now; "" while all of them do."""
        return next((line.refusal for line in self._lines if line.refusal), "")

    def add(self, envelope: Envelope) -> None:
        """Send it, behind those that wait for the same bus."""
        self._lines[-1 if type(envelope.message) in LIVE else 0].add(envelope)

    def stop(self) -> None:
        for line in self._lines:
            line.stop()

    async def until_empty(self) -> None:
        """Return when everything was accepted."""
        for line in self._lines:
            await line.until_empty()

    async def run(self) -> None:
        await asyncio.gather(*(line.run() for line in self._lines))


class _Both:
    """An inbox over two. Live messages go first: they can't wait."""

    def __init__(self, durable: Inbox, live: Inbox) -> None:
        self._durable, self._live = durable, live

    def take(self, deliveries_max: int) -> Sequence[Delivery]:
        deliveries = list(self._live.take(deliveries_max))
        return [*deliveries, *self._durable.take(deliveries_max - len(deliveries))]

    async def close(self) -> None:
        await asyncio.gather(self._durable.close(), self._live.close())


class _Watches:
    def __init__(self, *watches: Watch) -> None:
        self._watches = watches

    async def close(self) -> None:
        await asyncio.gather(*(watch.close() for watch in self._watches))


def _parted(ids: Sequence[str]) -> tuple[list[str], list[str]]:
    durable = [id.removeprefix(_DURABLE) for id in ids if id.startswith(_DURABLE)]
    live = [id.removeprefix(_LIVE) for id in ids if id.startswith(_LIVE)]
    if len(durable) + len(live) < len(ids):
        raise ConfigError(f"ids of dead letters begin with {_DURABLE} or {_LIVE}")
    return durable, live


# A new key comes within seconds. A message that waits longer is sent again by its sender, or of no use any more.
_LOCKED_MAX, _LOCKED_S = 64, 10.0


def encrypted(bus: EventBus, cipher: Cipher, refused: Counter[str]) -> EventBus:
    """The same, encrypted. In `refused` is counted what was not, by reason."""
    if isinstance(bus, Routed):
        durable, live = (EncryptedBus(part, cipher, refused) for part in bus.parts)
        return Routed(durable, live)
    return EncryptedBus(bus, cipher, refused)


class EncryptedBus:
    """See `bus.EventBus`. `inner`: the bus that carries what was encrypted."""

    def __init__(self, bus: EventBus, cipher: Cipher, refused: Counter[str]) -> None:
        self.inner, self._cipher, self._refused = bus, cipher, refused

    @property
    def capabilities(self) -> BusCapabilities:
        theirs = self.inner.capabilities
        most = theirs.envelope_bytes_max
        return theirs if most is None else replace(theirs, envelope_bytes_max=most - OVERHEAD_BYTES)

    @property
    def health(self) -> BusHealth:
        return self.inner.health

    async def publish(self, envelopes: Sequence[Envelope], *, timeout_s: float = PUBLISH_TIMEOUT_S) -> None:
        """Raises `BackendUnavailable` also where there is no key yet."""
        await self.inner.publish([self._cipher.encrypted(envelope) for envelope in envelopes], timeout_s=timeout_s)

    async def subscribe(self, subscription: Subscription, on_ready: Callable[[], None]) -> Inbox:
        """The inbox of messages that can be read. The rest is counted, and one of each sender put aside."""
        return _Opening(await self.inner.subscribe(subscription, on_ready), self._cipher, self._refused, on_ready)

    async def watch(self, hive: str, on_envelope: Callable[[Envelope], None]) -> Watch:
        return await self.inner.watch(hive, on_envelope)

    async def close(self, *, drain_s: float = DRAIN_S) -> None:
        await self.inner.close(drain_s=drain_s)


class _Opening:
    """An inbox of which only readable messages are taken. One of an epoch whose key is on its way waits a little."""

    def __init__(self, inbox: Inbox, cipher: Cipher, refused: Counter[str], on_ready: Callable[[], None]) -> None:
        self._inbox, self._cipher, self._refused, self._on_ready = inbox, cipher, refused, on_ready
        self._locked: dict[Delivery, float] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def take(self, deliveries_max: int) -> Sequence[Delivery]:
        deliveries = [
            self._opened(delivery) for delivery in [*self._locked, *self._inbox.take(max(deliveries_max - len(self._locked), 0))]
        ]
        return [delivery for delivery in deliveries if delivery is not None]

    async def close(self) -> None:
        await self._inbox.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _opened(self, delivery: Delivery) -> Delivery | None:
        envelope = self._cipher.opened(delivery.envelope)
        if isinstance(envelope, Envelope):
            self._locked.pop(delivery, None)
            return _Opened(delivery, envelope)
        loop = asyncio.get_running_loop()
        since_s = self._locked.get(delivery, loop.time())
        if envelope == LOCKED and loop.time() < since_s + _LOCKED_S and (delivery in self._locked or self._has_room):
            if delivery not in self._locked:
                self._locked[delivery] = since_s
                loop.call_later(_LOCKED_S, self._on_ready)
            return None
        self._locked.pop(delivery, None)
        self._refused[envelope] += 1
        self._begin(delivery.dead_letter(envelope, is_proven=False))
        return None

    @property
    def _has_room(self) -> bool:
        return len(self._locked) < _LOCKED_MAX

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


@dataclass(frozen=True, slots=True)
class _Opened:
    """A delivery, with what was encrypted in it."""

    delivery: Delivery
    envelope: Envelope

    @property
    def attempt(self) -> int:
        return self.delivery.attempt

    @property
    def waited_ms(self) -> int:
        return self.delivery.waited_ms

    async def ack(self) -> None:
        await self.delivery.ack()

    async def nack(self, *, delay_s: float = 0.0, reason: str = "") -> None:
        await self.delivery.nack(delay_s=delay_s, reason=reason)

    async def dead_letter(self, reason: str, *, is_proven: bool = True) -> None:
        await self.delivery.dead_letter(reason, is_proven=is_proven)

    def extend(self, seconds: float) -> None:
        self.delivery.extend(seconds)
