"""What a bus costs beside the client it is made of: publishing in batches, publish + consume + acknowledge, request and reply.

`python -m benchmarks.bus` prints a table; `--output json` the same as JSON. Messages have 1 KB; everything runs in one process
beside its broker on the loopback interface, and what is raw is measured in the same run as what is ours. `--only redis` measures
one back end. The median of the rounds counts.
"""

import argparse
import asyncio
import importlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import count
from statistics import median
from time import perf_counter
from typing import NamedTuple, cast

from hive_mind import backends
from hive_mind.bus.address import address_of
from hive_mind.bus.base import BusSettings, Delivery, Envelope, EventBus, Inbox, Subscription, type_of
from hive_mind.errors import BackendNotInstalled
from hive_mind.model.messages import Receipt

# A module each, with `opened()`, beside this one.
BACK_ENDS = ("memory", "redis", "servicebus", "eventhubs")
BATCH, ROUNDS = 200, 5
HIVE = "bench"
PARCEL = "x" * 900
Row = dict[str, str | float]

_numbers = count(1)


class Broker(NamedTuple):
    """A bus to measure; `messages` is how many of them a round takes, so that it lasts about a second.

    `raw_publish` sends so many bodies of 1 KB in batches of `BATCH` with the client alone.
    """

    bus: EventBus
    messages: int
    raw_publish: Callable[[int], Awaitable[None]] | None = None
    raw_name: str = ""


Opened = Callable[[], AbstractAsyncContextManager[Broker]]


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


async def listener(bus: EventBus, name: str) -> Listener:
    made = Listener()
    made.inbox = await bus.subscribe(Subscription(HIVE, name), made.ring)
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


async def seconds(work: Awaitable[object]) -> float:
    start = perf_counter()
    await work
    return perf_counter() - start


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
    times = []
    for _ in range(number):
        start = perf_counter()
        await bus.publish([envelope("server", "client")])
        for delivery in await client.take():
            await delivery.ack()
        times.append((perf_counter() - start) * 1e3)
    return times


async def answer(bus: EventBus, server: Listener) -> None:
    while True:
        for delivery in await server.take():
            await bus.publish([envelope(delivery.envelope.sender, "server")])
            await delivery.ack()


async def measured(back_end: str, opened: Opened) -> list[Row]:
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
        rows.append(
            row(
                back_end,
                "publish + consume + acknowledge",
                median([await whole_rate(broker, worker) for _ in range(ROUNDS)]),
                "/s",
            )
        )
        client = await listener(broker.bus, "client")
        answering = asyncio.create_task(answer(broker.bus, await listener(broker.bus, "server")))
        await replies(broker.bus, client, 20)
        times = sorted(await replies(broker.bus, client, 500))
        answering.cancel()
        rows.append(row(back_end, "request and reply, p50", times[250], "ms"))
        rows.append(row(back_end, "request and reply, p99", times[495], "ms"))
    return rows


def row(back_end: str, what: str, value: float, unit: str) -> Row:
    return {"bus": back_end, "what": what, "value": value, "unit": unit}


@asynccontextmanager
async def over_memory() -> AsyncIterator[Broker]:
    bus = cast(EventBus, await backends.load("bus", "memory").open(address_of("memory"), BusSettings()))
    try:
        yield Broker(bus, 50_000)
    finally:
        await bus.close(drain_s=0)


def how_to_open(back_end: str) -> Opened | None:
    """None where it is not installed."""
    if back_end == "memory":
        return over_memory
    try:
        return cast(Opened, importlib.import_module(f"benchmarks.bus_{back_end}").opened)
    except (BackendNotInstalled, ModuleNotFoundError) as error:
        print(f"{back_end}: left out ({error})")
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", choices=["table", "json"], default="table")
    parser.add_argument("--only", choices=BACK_ENDS, help="one back end")
    options = parser.parse_args()
    rows: list[Row] = []
    for back_end in [options.only] if options.only else BACK_ENDS:
        opened = how_to_open(back_end)
        if opened is not None:
            rows += asyncio.run(measured(back_end, opened))
    if options.output == "json":
        print(json.dumps(rows))
        return
    for one in rows:
        print(f"{one['bus']:<12} {one['what']:<50} {one['value']:>12,.2f} {one['unit']}")


if __name__ == "__main__":
    main()
