"""The development broker in a process of its own for `benchmarks.bus`, and what azure-servicebus does with it alone.

These are the costs of the SDK and of ours, not of Azure, where the network and the tier decide.
"""

import multiprocessing
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from multiprocessing.connection import Connection

from azure.servicebus import ServiceBusMessage
from azure.servicebus.aio import ServiceBusClient

from benchmarks.bus import BATCH, HIVE, Broker
from hive_mind import backends
from hive_mind.bus.address import address_of
from hive_mind.bus.base import BusSettings
from hive_mind.devbroker.thread import BrokerThread

BODY = b"x" * 1024
NODES = ("reader", "worker", "client", "server")


@asynccontextmanager
async def opened() -> AsyncIterator[Broker]:
    """A topic with duplicate detection, and a subscription per node."""
    with broker_process() as credential:
        port = credential.partition(";")[0].rpartition(":")[2]
        bus = await backends.load("bus", "servicebus").open(
            address_of(f"servicebus://127.0.0.1:{port}"), BusSettings(credential=credential)
        )
        client = ServiceBusClient.from_connection_string(credential)
        sender = client.get_topic_sender("hive")

        async def raw_publish(number: int) -> None:
            for start in range(0, number, BATCH):
                messages = range(start, min(start + BATCH, number))
                # Nobody is subscribed to it, so the broker has nothing to keep.
                await sender.send_messages([ServiceBusMessage(BODY, application_properties={"target": "raw"}) for _ in messages])

        try:
            yield Broker(bus, 3_000, raw_publish, "raw send_messages of azure-servicebus")
        finally:
            await sender.close()
            await client.close()
            await bus.close(drain_s=0)


@contextmanager
def broker_process() -> Iterator[str]:
    """The connection string of a broker that has a processor to itself."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=serve, args=(theirs,), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        ours.send("stop")
        process.join()


def serve(told: Connection) -> None:
    with BrokerThread() as broker:
        broker.add_topic("hive", RequiresDuplicateDetection=True)
        for node in NODES:
            broker.add_subscription("hive", f"{HIVE}.{node}", [rule(f"{HIVE}.{node}")], MaxDeliveryCount=100)
        told.send(broker.connection_string())
        told.recv()


def rule(target: str) -> dict[str, object]:
    condition = {"FilterType": "Correlation", "CorrelationFilter": {"Properties": {"target": target}}}
    return {"Name": "own", "Properties": condition}
