"""What a bus costs beside the client it is made of: publishing in batches, publish + consume + acknowledge, request and reply.

`python -m benchmarks.bus` prints a table; `--output json` the same as JSON. Messages have 1 KB; everything runs in one process
beside its broker on the loopback interface, and what is raw is measured in the same run as what is ours. `--only redis` measures
one back end. The median of the rounds counts.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from itertools import count
from statistics import median
from typing import Any

from benchmarks import bus_brokers
from benchmarks.bus_brokers import BATCH, HIVE, Broker
from benchmarks.harness import Row, figure, latency, parser_of, seconds, show, waits_ms
from hive_mind.bus import Delivery, Envelope, EventBus, Inbox, Subscription, type_of
from hive_mind.errors import BackendNotInstalled
from hive_mind.model.messages import Receipt

# A function each of `bus_brokers`.
BACK_ENDS = ("memory", "redis", "servicebus", "eventhubs")
ROUNDS = 5
PARCEL = "x" * 900

_numbers = count(1)


def envelope(target: str, sender: str = "ann") -> Envelope:
    message = Receipt(PARCEL)
    return Envelope(f"{sender}-{next(_numbers)}", HIVE, sender, (target,), type_of(message), message, "query")


class Listener:
    """Takes as a runner does."""

    def __init__(self) -> None:
        self.inbox: Inbox
        self._bell = asyncio.Event()

    def ring(self) -> None:
        self._bell.set()

    async def take(self) -> tuple[Delivery, ...]:
        while not (taken := tuple(self.inbox.take(256))):
            self._bell.clear()
            await self._bell.wait()
        return taken


async def listener(bus: EventBus, name: str, **more: Any) -> Listener:
    made = Listener()
    made.inbox = await bus.subscribe(Subscription(HIVE, name, **more), made.ring)
    return made


async def publish(bus: EventBus, envelopes: list[Envelope]) -> None:
    for start in range(0, len(envelopes), BATCH):
        await bus.publish(envelopes[start : start + BATCH])


async def drain(one: Listener, number: int) -> None:
    left = number
    while left > 0:
        for delivery in await one.take():
            await delivery.ack()
            left -= 1


async def publish_rate(broker: Broker) -> float:
    """Envelopes a second; those who read them do it before the next round."""
    one, number = await listener(broker.bus, "reader"), broker.messages
    await one.inbox.close()
    return number / await seconds(publish(broker.bus, [envelope("reader") for _ in range(number)]))


async def whole_rate(broker: Broker, one: Listener) -> float:
    """Published, taken and acknowledged a second, all in one event loop."""
    sent = [envelope("worker") for _ in range(broker.messages)]
    both = asyncio.gather(publish(broker.bus, sent), drain(one, len(sent)))
    return len(sent) / await seconds(both)


async def replies(bus: EventBus, client: Listener, number: int) -> list[float]:
    """Milliseconds from a request to its reply, one after another."""

    async def request(_: int) -> None:
        await bus.publish([envelope("server", "client")])
        for delivery in await client.take():
            await delivery.ack()

    return await waits_ms(request, range(number))


async def answer(bus: EventBus, server: Listener) -> None:
    while True:
        for delivery in await server.take():
            await bus.publish([envelope(delivery.envelope.sender, "server")])
            await delivery.ack()


async def measured(back_end: str, opened: Callable[[], AbstractAsyncContextManager[Broker]]) -> list[Row]:
    rows: list[Row] = []
    async with opened() as broker:
        raw, ours = [], []
        for _ in range(ROUNDS):
            if broker.raw_publish is not None:
                raw.append(broker.messages / await seconds(broker.raw_publish(broker.messages)))
            ours.append(await publish_rate(broker))
        if raw:
            rows.append(row(back_end, f"{broker.raw_name}, batches of {BATCH}", median(raw), "/s"))
        rows.append(row(back_end, f"publish, batches of {BATCH}", median(ours), "/s"))
        if raw:
            rows.append(row(back_end, "publish, of raw", 100 * median(ours) / median(raw), "%"))
        worker = await listener(broker.bus, "worker")
        rates = [await whole_rate(broker, worker) for _ in range(ROUNDS)]
        rows.append(row(back_end, "publish + consume + acknowledge", median(rates), "/s"))
        client = await listener(broker.bus, "client")
        answering = asyncio.create_task(answer(broker.bus, await listener(broker.bus, "server")))
        await replies(broker.bus, client, 20)
        rows += latency(f"{back_end}: request and reply", await replies(broker.bus, client, 500))
        answering.cancel()
    return rows


def row(back_end: str, what: str, value: float, unit: str) -> Row:
    return figure(f"{back_end}: {what}", value, unit)


def main() -> None:
    parser = parser_of(__doc__, "output")
    parser.add_argument("--only", choices=BACK_ENDS, help="one back end")
    options = parser.parse_args()
    rows: list[Row] = []
    for back_end in [options.only] if options.only else BACK_ENDS:
        try:
            rows += asyncio.run(measured(back_end, getattr(bus_brokers, back_end)))
        except (BackendNotInstalled, ModuleNotFoundError) as error:
            print(f"{back_end}: left out ({error})")
    show(rows, options.output)


if __name__ == "__main__":
    main()
