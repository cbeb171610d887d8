"""The Redis bus in one process: how fast it publishes in batches, beside Redis' own benchmark, and who misses what.

Wall time, messages of 1 KB, a server of our own on the loopback interface that writes its log once a second. redis-benchmark
sends the same XADD from C, in pipelines as long as our batches, over one connection.
"""

import asyncio
import re
import shutil
import subprocess
from collections.abc import Iterator

from benchmarks.bus import Listener, envelope, listener, publish, publish_rate
from benchmarks.bus_brokers import BATCH, BODY, Broker, bus_at
from benchmarks.figure import Figure, Means, beside, once, side_by_side
from hive_mind.errors import ConfigError
from tests.servers.redis_server import RedisServer

SENT = 20_000
_RATE = re.compile(r"([\d.]+) requests per second")


def measured(means: Means) -> Iterator[Figure]:
    with RedisServer() as server:
        with asyncio.Runner() as runner:
            bus = runner.run(bus_at(server.url))
            yield publishing(runner, Broker(bus, SENT), server, means.rounds)
            runner.run(bus.close(drain_s=0))
        server.do("FLUSHALL")
        yield from asyncio.run(nobody_misses(server))


def publishing(runner: asyncio.Runner, broker: Broker, server: RedisServer, rounds: int) -> Figure:
    sides = side_by_side(lambda: runner.run(publish_rate(broker)), lambda: redis_benchmark(server), rounds)
    what = f"Redis bus, publish in batches of {BATCH}, one process"
    return beside("redis-publish", what, "/s", "redis-benchmark, XADD", sides, 20_000, better="higher")


def redis_benchmark(server: RedisServer) -> float:
    """Commands a second."""
    program = shutil.which("redis-benchmark")
    if program is None:
        raise ConfigError("there is no redis-benchmark here: apt-get install redis-tools")
    sizes = ["-p", str(server.port), "-c", "1", "-P", str(BATCH), "-n", str(SENT)]
    done = subprocess.run([program, *sizes, "XADD", "raw", "*", "e", BODY.decode()], capture_output=True, text=True, check=True)
    server.do("DEL", "raw")
    return float(_RATE.findall(done.stdout)[-1])


async def nobody_misses(server: RedisServer) -> list[Figure]:
    """Ten messages before a member first joins and a hundred after; and fifty while one that joined is away."""
    bus = await bus_at(server.url)
    await publish(bus, [envelope("late") for _ in range(10)])
    late = await listener(bus, "late", start="earliest")
    await publish(bus, [envelope("late") for _ in range(100)])
    joined = await taken(late, 110)
    await late.inbox.close()
    await publish(bus, [envelope("late") for _ in range(50)])
    returned = await taken(await listener(bus, "late", start="earliest"), 50)
    await bus.close(drain_s=0)
    return [counted("late", "a late joiner gets", joined, 110), counted("restarted", "a restarted subscriber gets", returned, 50)]


async def taken(one: Listener, wanted: int) -> int:
    """What came, all acknowledged; nothing more is waited for once five seconds bring nothing."""
    got = 0
    while got < wanted:
        try:
            deliveries = await asyncio.wait_for(one.take(), 5)
        except TimeoutError:
            break
        for delivery in deliveries:
            await delivery.ack()
        got += len(deliveries)
    return got


def counted(name: str, what: str, got: int, sent: int) -> Figure:
    what = f"Redis bus: {what}, of {sent}"
    return once(f"redis-{name}", what, got, "", "what was sent", sent, sent, better="higher", is_exact=True)
