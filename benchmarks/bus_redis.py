"""A Redis server of our own for `benchmarks.bus`, and what redis-py does with it alone."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import redis.asyncio

from benchmarks.bus import BATCH, Broker
from hive_mind import backends
from hive_mind.bus.address import address_of
from hive_mind.bus.base import BusSettings
from tests.servers.redis_server import RedisServer

BODY = b"x" * 1024


@asynccontextmanager
async def opened() -> AsyncIterator[Broker]:
    """It writes to disk before it answers the next command, as one does that is to be relied on."""
    with RedisServer() as server:
        bus = await backends.load("bus", "redis").open(address_of(server.url), BusSettings())
        client = redis.asyncio.Redis(port=server.port)

        async def raw_publish(number: int) -> None:
            for start in range(0, number, BATCH):
                pipeline = client.pipeline(transaction=False)
                for _ in range(start, min(start + BATCH, number)):
                    pipeline.xadd("raw", {"e": BODY})
                await pipeline.execute()
            await client.delete("raw")

        try:
            yield Broker(bus, 20_000, raw_publish, "raw pipelined XADD of redis-py")
        finally:
            await client.aclose()
            await bus.close(drain_s=0)
