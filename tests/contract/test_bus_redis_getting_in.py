"""Getting in to a Redis server: addresses, TLS, users and passwords, and what is said of the server."""

import asyncio
from pathlib import Path

import pytest

from hive_mind.bus import redis
from hive_mind.bus.address import address_of
from hive_mind.errors import BackendRejected, BackendUnavailable, InvalidInput
from tests.contract.bus_builders import envelope
from tests.contract.redis_builders import QUICK, Buses, over, subscribed
from tests.servers.certificates import make_certificates
from tests.servers.redis_server import RedisOptions, RedisServer
from tests.waiting import until


@pytest.mark.parametrize("url", ["redis://127.0.0.1/x", "redis://", "redis://127.0.0.1/0?db=3", "redis://127.0.0.1/-1"])
def test_an_address_that_means_nothing_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="redis://host:6379/0"):
        asyncio.run(redis.open(address_of(url), QUICK))


async def opened(buses: Buses) -> None:
    await buses.bus()


def test_a_certificate_is_checked_and_with_the_right_one_everything_is_encrypted(tmp_path: Path) -> None:
    made = make_certificates(tmp_path)
    with RedisServer(RedisOptions(certificates=made, password="honey")) as server:  # noqa: S106 - it is for this test

        async def scenario(buses: Buses) -> None:
            bus = await buses.bus(certificate=made.certificate)
            bob = await subscribed(bus)
            await bus.publish([envelope("sealed")])
            assert await bob.take_and_ack() == ["sealed"]

        assert server.url.startswith("rediss://")
        over(server, scenario)
        with pytest.raises(BackendUnavailable, match=r"(?i)certificate") as raised:
            over(server, opened)
        assert "honey" not in str(raised.value)


def test_a_user_needs_no_right_but_those_to_its_hive_s_keys() -> None:
    rules = "~hive:mine:* -@all +@read +@write +@stream +@connection +@transaction +time"
    with RedisServer(RedisOptions(user="bee", password="honey", rules=rules)) as server:  # noqa: S106 - it is for this test

        async def scenario(buses: Buses) -> None:
            bus = await buses.bus()
            bob = await subscribed(bus, hive="mine")
            await bus.publish([envelope("ours", hive="mine")])
            (delivery,) = await bob.take()
            await delivery.dead_letter("no")
            await until(bob.letters.letters)
            assert len(await bus.queues("mine")) == 1
            with pytest.raises(BackendRejected, match="ACL"):
                await bus.publish([envelope("theirs", hive="other")])
            for _ in range(2):
                with pytest.raises(BackendRejected, match="ACL"):
                    await subscribed(bus, hive="other")
            assert bus.health.is_connected
            # What was refused costs nobody else anything.
            await bus.publish([envelope("again ours", hive="mine")])
            assert await bob.take_and_ack() == ["again ours"]

        over(server, scenario)


def test_a_password_may_come_with_the_settings() -> None:
    with RedisServer(RedisOptions(password="honey")) as server:  # noqa: S106 - it is for this test
        bare = f"redis://127.0.0.1:{server.port}"

        async def scenario(buses: Buses) -> None:
            assert (await buses.bus(credential="honey")).health.is_connected
            with pytest.raises(BackendRejected):
                await buses.bus()

        over(server, scenario, bare)


def test_a_server_that_forgets_says_that_nothing_outlives_it() -> None:
    with RedisServer(RedisOptions(is_kept=False)) as server:

        async def scenario(buses: Buses) -> None:
            assert not (await buses.bus()).capabilities.survives_restart

        over(server, scenario)


def test_a_server_that_drops_keys_when_it_is_full_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with RedisServer(RedisOptions(maxmemory="100mb")) as server:
        server.do("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")

        async def scenario(buses: Buses) -> None:
            await buses.bus()

        over(server, scenario)
    assert "noeviction" in caplog.text


def test_a_server_of_a_cluster_is_refused() -> None:
    with RedisServer(RedisOptions(is_cluster=True)) as server, pytest.raises(BackendRejected, match="NoCluster"):
        over(server, opened)


def test_who_may_not_ask_what_a_server_is_hears_of_the_cluster_when_it_reads() -> None:
    rules = "~* &* +@all -info"
    with RedisServer(RedisOptions(is_cluster=True, user="bee", password="honey", rules=rules)) as server:  # noqa: S106 - it is for this test
        server.do("CLUSTER", "ADDSLOTS", *map(str, range(1 << 14)))

        async def scenario(buses: Buses) -> None:
            await until(lambda: b"cluster_state:ok" in server.do("CLUSTER", "INFO"))
            bus = await buses.bus()
            await subscribed(bus)

            await until(lambda: "NoCluster" in bus.health.last_error)

        over(server, scenario)
