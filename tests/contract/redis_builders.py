"""Buses over one Redis server, and what tests look at."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any

from hive_mind.bus import BusSettings, Subscription, redis
from hive_mind.bus.address import address_of
from hive_mind.bus.redis import RedisBus
from tests.contract.bus_builders import Listener
from tests.servers.redis_server import RedisServer
from tests.servers.tcp_proxy import TcpProxy
from tests.waiting import until

QUICK = BusSettings(reconnect_s_max=0.2, connect_timeout_s=20)


class Buses:
    """Opens buses, and closes them all at the end."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._open: list[RedisBus] = []

    async def bus(self, **options: Any) -> RedisBus:
        bus = await redis.open(address_of(self._url), replace(QUICK, **options))
        self._open.append(bus)
        return bus

    async def close(self) -> None:
        for bus in self._open:
            await bus.close(drain_s=0)


@asynccontextmanager
async def buses_of(url: str) -> AsyncIterator[Buses]:
    buses = Buses(url)
    try:
        yield buses
    finally:
        await buses.close()


@contextmanager
def before(server: RedisServer) -> Iterator[TcpProxy]:
    """A proxy that somebody talks to in place of the server."""
    proxy = TcpProxy(server.port)
    proxy.start()
    try:
        yield proxy
    finally:
        proxy.stop()


@contextmanager
def full(server: RedisServer) -> Iterator[None]:
    server.do("CONFIG", "SET", "maxmemory", "1")
    try:
        yield
    finally:
        server.do("CONFIG", "SET", "maxmemory", "0")


async def subscribed(bus: RedisBus, name: str = "bob", hive: str = "hive", **bounds: Any) -> Listener:
    made = Listener(bus, hive, quiet_s=0.1)
    made.inbox = await bus.subscribe(Subscription(hive, name, letters=made.letters, **bounds), made.ring)
    return made


def length(server: RedisServer, key: bytes) -> int:
    return int(server.do("XLEN", key)[1:])


async def nothing_pending(bus: RedisBus, name: str = "bob", but: int = 0) -> bool:
    (state,) = [state for state in await bus.queues("hive") if state.name == name]
    return (state.unacknowledged or 0) <= but + (10 if but else 0)


def nothing_is_settling(bus: RedisBus) -> bool:
    return not any(one._settling for one in bus._readers)


def has_given_way(bus: RedisBus) -> bool:
    return "another process" in bus.health.last_error


def is_cut_off(bus: RedisBus) -> bool:
    return not bus.health.is_connected and bool(bus.health.last_error)


def kill(bus: RedisBus) -> None:
    """Nothing of it moves any more, as if its process were gone."""
    for one in bus._readers:
        if one._task is not None:
            one._task.cancel()


async def follow(replica: RedisServer, leader: RedisServer) -> None:
    """Make a server the copy of another, and return when it is."""
    leader.do("CONFIG", "SET", "repl-diskless-sync-delay", "0")
    replica.do("REPLICAOF", "127.0.0.1", str(leader.port))

    await until(lambda: b"master_link_status:up" in replica.do("INFO", "replication"))
