"""A bus on which all that this process sends is encrypted, and nothing is heard that is not. See `identity.epochs`.

It stands between a node and its bus, so no kind of message can be forgotten: questions, replies, facts, beats, and with them what
the bus keeps, lists and puts aside.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hive_mind.bus.base import (
    DRAIN_S,
    PUBLISH_TIMEOUT_S,
    BusCapabilities,
    BusHealth,
    Delivery,
    Envelope,
    EventBus,
    Inbox,
    Subscription,
    Watch,
)
from hive_mind.identity.epochs import LOCKED, OVERHEAD_BYTES, Cipher
from hive_mind.runtime.routes import Routed

# A new key comes within seconds. A message that waits longer is sent again by its sender, or of no use any more.
_LOCKED_MAX, _LOCKED_S = 64, 10.0


def encrypted(bus: EventBus, cipher: Cipher, refused: Counter[str]) -> EventBus:
    """The same, encrypted. In `refused` is counted what was not, by reason."""
    if isinstance(bus, Routed):
        durable, live = (EncryptedBus(part, cipher, refused) for part in bus.parts)
        return Routed(durable, live)
    return EncryptedBus(bus, cipher, refused)


class EncryptedBus:
    """See `bus.base.EventBus`."""

    def __init__(self, bus: EventBus, cipher: Cipher, refused: Counter[str]) -> None:
        self._bus, self._cipher, self._refused = bus, cipher, refused

    @property
    def inner(self) -> EventBus:
        """The bus that carries what was encrypted."""
        return self._bus

    @property
    def capabilities(self) -> BusCapabilities:
        theirs = self._bus.capabilities
        most = theirs.envelope_bytes_max
        return theirs if most is None else replace(theirs, envelope_bytes_max=most - OVERHEAD_BYTES)

    @property
    def health(self) -> BusHealth:
        return self._bus.health

    async def publish(self, envelopes: Sequence[Envelope], *, timeout_s: float = PUBLISH_TIMEOUT_S) -> None:
        """Raises `BackendUnavailable` also where there is no key yet."""
        await self._bus.publish([self._cipher.encrypted(envelope) for envelope in envelopes], timeout_s=timeout_s)

    async def subscribe(self, subscription: Subscription, on_ready: Callable[[], None]) -> Inbox:
        """The inbox of messages that can be read. The rest is counted, and one of each sender put aside."""
        return _Opening(await self._bus.subscribe(subscription, on_ready), self._cipher, self._refused, on_ready)

    async def watch(self, hive: str, on_envelope: Callable[[Envelope], None]) -> Watch:
        return await self._bus.watch(hive, on_envelope)

    async def close(self, *, drain_s: float = DRAIN_S) -> None:
        await self._bus.close(drain_s=drain_s)


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

    async def ack(self) -> None:
        await self.delivery.ack()

    async def nack(self, *, delay_s: float = 0.0, reason: str = "") -> None:
        await self.delivery.nack(delay_s=delay_s, reason=reason)

    async def dead_letter(self, reason: str, *, is_proven: bool = True) -> None:
        await self.delivery.dead_letter(reason, is_proven=is_proven)

    def extend(self, seconds: float) -> None:
        self.delivery.extend(seconds)
