"""What the tests of buses build: a world around one broker, subscribers, and small envelopes."""

import asyncio
import importlib
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from itertools import count
from typing import Any, cast

import pytest

from hive_mind import backends
from hive_mind.bus import DeadLetter, Delivery, Envelope, EventBus, Inbox, Subscription, type_of
from hive_mind.bus.dead_letters import DeadLetterFile
from hive_mind.errors import BackendError
from hive_mind.model.messages import Message, Receipt
from tests.contract.buses.base import BaseHarness, Fault

# Nothing takes that long; what waits for ever should say so.
_PATIENCE_S = 180

_numbers = count(1)


class World:
    """One test's view of a broker: a hive of its own, a bus, and more of them when it asks."""

    def __init__(self, harness: BaseHarness) -> None:
        self.harness, self.hive = harness, harness.new_hive()
        self.bus: EventBus
        self._buses: list[EventBus] = []

    async def open(self, **settings: Any) -> EventBus:
        """Another connection; closed when the test ends."""
        harness = self.harness
        back_end = backends.load("bus", harness.address().backend)
        bus = cast(EventBus, await back_end.open(harness.address(), replace(harness.settings(), **settings)))
        self._buses.append(bus)
        return bus

    async def listener(
        self,
        name: str = "bob",
        *,
        bus: EventBus | None = None,
        hive: str | None = None,
        is_provided: bool = True,
        letters: DeadLetterFile | None = None,
        **bounds: Any,
    ) -> "Listener":
        """A subscriber that is ready."""
        hive = hive or self.hive
        if is_provided:
            self.harness.provide(hive, name)
        made = Listener(bus or self.bus, hive, self.harness.quiet_s, letters or DeadLetterFile(name=name))
        made.inbox = await made.bus.subscribe(Subscription(hive, name, letters=made.letters, **bounds), made.ring)
        return made

    def envelope(self, text: str | Message = "parcel", *target: str, sender: str = "ann", hive: str | None = None) -> Envelope:
        """A message that says `text`, to "bob" if nobody is named."""
        return envelope(text, *target, sender=sender, hive=hive or self.hive)

    async def publish(self, *texts: str, to: Sequence[str] = (), bus: EventBus | None = None, **where: str) -> None:
        """Publish one envelope per text, in one call."""
        await (bus or self.bus).publish([self.envelope(text, *to, **where) for text in texts])

    async def close(self) -> None:
        for bus in self._buses:
            await bus.close(drain_s=0)


Scenario = Callable[[World], Awaitable[None]]
Run = Callable[[Scenario], None]


def threads_after(before: int) -> int:
    """How many there are. One that is about to end may take some seconds for it where the machine is busy."""
    until = time.monotonic() + 10.0
    while threading.active_count() > before and time.monotonic() < until:
        time.sleep(0.01)
    return threading.active_count()


def run(scenario: Scenario, harness: BaseHarness) -> None:
    """A scenario in a world of its own, which leaves no task and no thread behind."""

    async def whole() -> None:
        async with asyncio.timeout(_PATIENCE_S), opened(harness) as world:
            await scenario(world)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    with no_thread_left():
        asyncio.run(whole())


@asynccontextmanager
async def opened(harness: BaseHarness) -> AsyncIterator[World]:
    """A world of its own over a broker."""
    world = World(harness)
    try:
        world.bus = await world.open()
        yield world
    finally:
        await world.close()


@contextmanager
def no_thread_left() -> Iterator[None]:
    before = threading.active_count()
    yield
    assert threads_after(before) <= before


def harness_of(back_end: str) -> BaseHarness:
    """The harness of a back end; each has one, or it is not judged."""
    return cast(BaseHarness, importlib.import_module(f"tests.contract.buses.{back_end}").Harness())


def needs(harness: BaseHarness, fault: Fault) -> None:
    """Skip a test that harms the broker in a way which it can't be harmed in."""
    if fault not in harness.faults:
        pytest.skip(f"{harness.address().backend}: no fault {fault!r} here")


def only_where(can: bool, what: str) -> None:
    """Skip a test of what not every bus can."""
    if not can:
        pytest.skip(f"this bus can't: {what}")


def envelope(text: str | Message = "parcel", *target: str, sender: str = "ann", hive: str = "hive") -> Envelope:
    """A message that says `text`, to "bob" if nobody is named."""
    message = Receipt(text) if isinstance(text, str) else text
    return Envelope(f"{sender}-{next(_numbers)}", hive, sender, target or ("bob",), type_of(message), message, "query")


def texts(deliveries: Sequence[Delivery]) -> list[str]:
    return [text(delivery) for delivery in deliveries]


def text(delivery: Delivery) -> str:
    assert isinstance(delivery.envelope.message, Receipt)
    return delivery.envelope.message.batch


def letter_text(letter: DeadLetter) -> str:
    assert letter.envelope is not None
    assert isinstance(letter.envelope.message, Receipt)
    return letter.envelope.message.batch


class Listener:
    """Waits for deliveries as a runner does: asks only after it was called."""

    def __init__(self, bus: EventBus, hive: str, quiet_s: float = 0.0, letters: DeadLetterFile | None = None) -> None:
        self.bus, self.hive, self.letters = bus, hive, letters or DeadLetterFile(name="bob")
        self.inbox: Inbox
        self._quiet_s = quiet_s
        self._bell = asyncio.Event()

    async def take(self, number: int = 1) -> list[Delivery]:
        """So many deliveries, as they come."""
        taken: list[Delivery] = []
        while True:
            self._bell.clear()
            taken += self.inbox.take(number - len(taken))
            if len(taken) == number:
                return taken
            await self._bell.wait()

    async def take_and_ack(self, number: int = 1) -> list[str]:
        """What so many deliveries say; they are acknowledged."""
        said = []
        while len(said) < number:
            for delivery in await self.take():
                said.append(text(delivery))
                await delivery.ack()
        return said

    async def has_nothing(self) -> bool:
        """Whether nothing is there to take after everybody had several turns."""
        for _ in range(5):
            await asyncio.sleep(self._quiet_s / 5)
        return not self.inbox.take(1)

    def ring(self) -> None:
        self._bell.set()


async def listener(
    bus: EventBus, name: str = "bob", hive: str = "hive", *, letters: DeadLetterFile | None = None, **bounds: Any
) -> Listener:
    """A subscriber of a bus that needs no preparation."""
    made = Listener(bus, hive, letters=letters or DeadLetterFile(name=name))
    made.inbox = await bus.subscribe(Subscription(hive, name, letters=made.letters, **bounds), made.ring)
    return made


async def published(bus: EventBus, envelopes: Sequence[Envelope]) -> None:
    """Publish until it succeeds, as an outbox does."""
    while True:
        with suppress(BackendError):
            await bus.publish(envelopes)
            return
        await asyncio.sleep(0.02)
