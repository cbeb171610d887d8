"""A subscriber for the tests of buses, and small envelopes."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import count

from hive_mind import backends
from hive_mind.bus.base import Delivery, Envelope, EventBus, Inbox, Subscription, type_of
from hive_mind.model.messages import Receipt

Scenario = Callable[[EventBus], Awaitable[None]]

_numbers = count(1)


def run(scenario: Scenario, back_end: str) -> None:
    async def whole() -> None:
        bus: EventBus = await backends.load("bus", back_end).open()
        try:
            # Nothing takes a second; what waits for ever should say so.
            async with asyncio.timeout(20):
                await scenario(bus)
        finally:
            await bus.close(drain_s=0)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(whole())


def envelope(text: str = "parcel", *target: str, sender: str = "ann", hive: str = "hive") -> Envelope:
    """A message that says `text`, to "bob" if nobody is named."""
    message = Receipt(text)
    return Envelope(f"{sender}-{next(_numbers)}", hive, sender, target or ("bob",), type_of(message), message, "query")


def texts(deliveries: Sequence[Delivery]) -> list[str]:
    return [text(delivery) for delivery in deliveries]


def text(delivery: Delivery) -> str:
    assert isinstance(delivery.envelope.message, Receipt)
    return delivery.envelope.message.parcel


class Listener:
    """Waits for deliveries as a runner does: asks only after it was called."""

    def __init__(self) -> None:
        self.inbox: Inbox
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

    async def has_nothing(self) -> bool:
        """Whether nothing is there to take after everybody had several turns."""
        for _ in range(5):
            await asyncio.sleep(0)
        return not self.inbox.take(1)

    def ring(self) -> None:
        self._bell.set()


async def listener(bus: EventBus, name: str = "bob", hive: str = "hive", **bounds: int) -> Listener:
    made = Listener()
    made.inbox = await bus.subscribe(Subscription(hive, name, **bounds), made.ring)
    return made
