"""The development broker in a process of its own for `benchmarks.bus`, and what azure-eventhub does with it alone.

These are the costs of the SDK and of ours, not of Azure, where the network and the throughput units decide.
"""

import asyncio
import multiprocessing
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from multiprocessing.connection import Connection

from azure.eventhub import EventData, EventHubProducerClient

from benchmarks.bus import BATCH, Broker
from hive_mind import backends
from hive_mind.bus.address import address_of
from hive_mind.bus.base import BusSettings
from hive_mind.devbroker.thread import BrokerThread

BODY = b"x" * 1024
PARTITIONS = 4


@asynccontextmanager
async def opened() -> AsyncIterator[Broker]:
    """A hub of four partitions. The synchronous client is the faster one, and what ours is made of."""
    with broker_process() as credential:
        port = credential.partition(";")[0].rpartition(":")[2].strip("/")
        bus = await backends.load("bus", "eventhubs").open(
            address_of(f"eventhubs://127.0.0.1:{port}/hive"), BusSettings(credential=credential)
        )
        client = EventHubProducerClient.from_connection_string(credential, eventhub_name="hive")

        def publish(number: int) -> None:
            for start in range(0, number, BATCH):
                events = range(start, min(start + BATCH, number))
                client.send_batch([EventData(BODY) for _ in events], partition_id="3")

        async def raw_publish(number: int) -> None:
            await asyncio.to_thread(publish, number)

        await raw_publish(1)
        try:
            yield Broker(bus, 5_000, raw_publish, "raw send_batch of azure-eventhub")
        finally:
            client.close()
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
        broker.add_hub("hive", PARTITIONS)
        told.send(broker.connection_string())
        told.recv()
