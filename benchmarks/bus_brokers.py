"""The brokers of `benchmarks.bus`, each with what its client does alone: a Redis server, and the development broker in a process.

Of the latter the figures are the costs of the SDKs and of ours, not of Azure, where the network and the tier decide.
"""

import asyncio
import multiprocessing
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from multiprocessing.connection import Connection
from typing import NamedTuple

from hive_mind import backends
from hive_mind.bus import BusSettings, EventBus
from hive_mind.bus.address import address_of
from hive_mind.devbroker import BrokerThread

BATCH, HIVE, BODY = 200, "bench", b"x" * 1024
NODES, PARTITIONS = ("reader", "worker", "client", "server"), 4


class Broker(NamedTuple):
    """A bus to measure; `messages` is how many of them a round takes, so that it lasts about a second.

    `raw_publish` sends as many bodies of 1 KB as it is asked for in batches of `BATCH` with the client alone.
    """

    bus: EventBus
    messages: int
    raw_publish: Callable[[int], Awaitable[None]] | None = None
    raw_name: str = ""


def batches(number: int) -> Iterator[range]:
    return (range(start, min(start + BATCH, number)) for start in range(0, number, BATCH))


async def bus_at(url: str, credential: str = "") -> EventBus:
    address = address_of(url)
    bus: EventBus = await backends.load("bus", url.partition(":")[0]).open(address, BusSettings(credential=credential))
    return bus


@asynccontextmanager
async def memory() -> AsyncIterator[Broker]:
    bus = await bus_at("memory")
    try:
        yield Broker(bus, 50_000)
    finally:
        await bus.close(drain_s=0)


@asynccontextmanager
async def redis() -> AsyncIterator[Broker]:
    """It writes to disk before it answers the next command, as one does that is to be relied on."""
    from redis.asyncio import Redis

    from tests.servers.redis_server import RedisServer

    with RedisServer() as server:
        bus, client = await bus_at(server.url), Redis(port=server.port)

        async def raw_publish(number: int) -> None:
            for batch in batches(number):
                pipeline = client.pipeline(transaction=False)
                for _ in batch:
                    pipeline.xadd("raw", {"e": BODY})
                await pipeline.execute()
            await client.delete("raw")

        try:
            yield Broker(bus, 20_000, raw_publish, "raw pipelined XADD of redis-py")
        finally:
            await client.aclose()
            await bus.close(drain_s=0)


@asynccontextmanager
async def servicebus() -> AsyncIterator[Broker]:
    """A topic with duplicate detection, and a subscription per node."""
    from azure.servicebus import ServiceBusMessage
    from azure.servicebus.aio import ServiceBusClient

    with broker_process() as (credential, port):
        bus = await bus_at(f"servicebus://127.0.0.1:{port}", credential)
        client = ServiceBusClient.from_connection_string(credential)
        sender = client.get_topic_sender("hive")

        async def raw_publish(number: int) -> None:
            for batch in batches(number):
                # Nobody is subscribed to it, so the broker has nothing to keep.
                await sender.send_messages([ServiceBusMessage(BODY, application_properties={"target": "raw"}) for _ in batch])

        try:
            yield Broker(bus, 3_000, raw_publish, "raw send_messages of azure-servicebus")
        finally:
            await sender.close()
            await client.close()
            await bus.close(drain_s=0)


@asynccontextmanager
async def eventhubs() -> AsyncIterator[Broker]:
    """A hub of four partitions. The synchronous client is the faster one, and what ours is made of."""
    from azure.eventhub import EventData, EventHubProducerClient

    with broker_process() as (credential, port):
        bus = await bus_at(f"eventhubs://127.0.0.1:{port}/hive", credential)
        client = EventHubProducerClient.from_connection_string(credential, eventhub_name="hive")

        def publish(number: int) -> None:
            for batch in batches(number):
                client.send_batch([EventData(BODY) for _ in batch], partition_id="3")

        async def raw_publish(number: int) -> None:
            await asyncio.to_thread(publish, number)

        await raw_publish(1)
        try:
            yield Broker(bus, 5_000, raw_publish, "raw send_batch of azure-eventhub")
        finally:
            client.close()
            await bus.close(drain_s=0)


@contextmanager
def broker_process() -> Iterator[tuple[str, str]]:
    """The connection string and the port of a broker that has a processor to itself."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=serve, args=(theirs,), daemon=True)
    process.start()
    try:
        credential = ours.recv()
        yield credential, credential.partition(";")[0].rpartition(":")[2].strip("/")
    finally:
        ours.send("stop")
        process.join()


def serve(told: Connection) -> None:
    with BrokerThread() as broker:
        broker.add_hub("hive", PARTITIONS)
        broker.add_topic("hive", RequiresDuplicateDetection=True)
        for node in NODES:
            broker.add_subscription("hive", f"{HIVE}.{node}", [rule(f"{HIVE}.{node}")], MaxDeliveryCount=100)
        told.send(broker.connection_string())
        told.recv()


def rule(target: str) -> dict[str, object]:
    condition = {"FilterType": "Correlation", "CorrelationFilter": {"Properties": {"target": target}}}
    return {"Name": "own", "Properties": condition}
