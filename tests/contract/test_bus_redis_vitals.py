"""What a Redis bus says of its server: memory, clock, and keys that are not a hive's."""

import asyncio
import time
from typing import cast

import pytest
from redis import Redis

from hive_mind import backends
from hive_mind.bus import BrokerVitals, BusSettings, Subscription
from hive_mind.bus.address import address_of
from hive_mind.bus.redis import RedisBus, admin
from hive_mind.bus.redis.wire import ServerAddress, Wire
from tests.servers.redis_server import RedisOptions, RedisServer
from tests.waiting import until

HOUR_NS = 3_600 * 10**9


@pytest.fixture(scope="module")
def server():
    with RedisServer() as started:
        yield started


def seen(server: RedisServer, *places: tuple[str, str]) -> BrokerVitals:
    async def look() -> BrokerVitals:
        wire = Wire(ServerAddress(address_of(server.url), BusSettings()))
        await wire.connect()
        try:
            return await admin.look(wire, places)
        finally:
            await wire.close()

    return asyncio.run(look())


def test_memory_is_told_against_the_limit_or_what_the_machine_has(server: RedisServer) -> None:
    with Redis.from_url(server.url) as client:
        client.config_set("maxmemory", "64mb")
        limited = seen(server)
        client.config_set("maxmemory", "0")

    assert limited.limit_bytes == 64 << 20
    assert 0 < limited.used_bytes < limited.limit_bytes < seen(server).limit_bytes


def test_a_clock_of_this_machine_that_is_an_hour_ahead_is_told(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert abs(seen(server).ahead_ms) < 5_000
    now = time.time_ns
    monkeypatch.setattr(admin.time, "time_ns", lambda: now() + HOUR_NS)
    assert abs(seen(server).ahead_ms - 3_600_000) < 5_000


@pytest.mark.parametrize(
    "key", ["hive:town:names", "hive:town:all", "hive:town:inbox:ada", "hive:town:brief:bob", "hive:town:dlq"]
)
def test_a_key_of_another_type_is_named_whatever_it_is_for(server: RedisServer, key: str) -> None:
    with Redis.from_url(server.url) as client:
        client.hset("hive:town:names", "bob", 0)
        assert seen(server, ("town", "ada")).trouble == ""
        client.delete(key)
        client.set(key, "somebody else's")
        found = seen(server, ("town", "ada")).trouble
        client.flushdb()

    assert f"{key} is a string and should be a " in found
    assert "give the hive a database of its own" in found


def test_a_user_who_may_not_ask_is_told_nothing_and_keeps_its_bus() -> None:
    options = RedisOptions(user="ada", password="-".join(("of", "no", "use")), rules="~* &* +@all -info -type")

    async def vitals_of(url: str) -> BrokerVitals | None:
        bus = cast(RedisBus, await backends.load("bus", "redis").open(address_of(url), BusSettings()))
        try:
            await bus.subscribe(Subscription("town", "ada"), lambda: None)
            await until(lambda: bus.health.vitals is not None)
            assert bus.health.is_connected
            return bus.health.vitals
        finally:
            await bus.close()

    with RedisServer(options) as limited:
        told = asyncio.run(vitals_of(limited.url))

    assert told is not None
    assert (told.used_bytes, told.limit_bytes, told.trouble) == (0, 0, "")
