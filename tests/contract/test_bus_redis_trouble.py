"""What the Redis bus does about a server that is full, has forgotten everything, is silent, or gone for a while.

Getting in to a Redis server: addresses, TLS, users and passwords, and what is said of the server.
"""

import asyncio
from pathlib import Path

import pytest

from hive_mind.bus import EVERYONE, redis
from hive_mind.bus.address import address_of
from hive_mind.bus.redis import outgoing, reader, wire
from hive_mind.errors import BackendRejected, BackendThrottled, BackendUnavailable, InvalidInput
from tests.contract.bus_builders import envelope
from tests.contract.redis_builders import (
    QUICK,
    Buses,
    follow,
    is_cut_off,
    nothing_is_settling,
    nothing_pending,
    over,
    subscribed,
)
from tests.servers.certificates import make_certificates
from tests.servers.redis_server import RedisOptions, RedisServer
from tests.servers.tcp_proxy import TcpProxy
from tests.waiting import until


async def test_acknowledgements_get_through_to_a_server_that_is_full(server: RedisServer, buses: Buses) -> None:
    bus = await buses.bus()
    bob = await subscribed(bus)
    await bus.publish([envelope("one")])
    (one,) = await bob.take()
    server.do("CONFIG", "SET", "maxmemory", "1")
    try:
        sending = asyncio.create_task(bus.publish([envelope("no room")], timeout_s=1.0))
        await asyncio.sleep(0.05)
        await one.ack()
        await until(lambda: nothing_pending(bus))
        with pytest.raises(BackendThrottled, match="maxmemory"):
            await sending
    finally:
        server.do("CONFIG", "SET", "maxmemory", "0")


async def test_a_server_that_forgot_is_set_up_again(server: RedisServer, monkeypatch: pytest.MonkeyPatch, buses: Buses) -> None:
    monkeypatch.setattr(reader, "BLOCK_MS", 50)

    bus = await buses.bus()
    bob = await subscribed(bus)
    seen: list[str] = []
    await bus.watch("hive", lambda one: seen.append(one.id))
    await bus.publish([envelope("before")])
    assert await bob.take_and_ack() == ["before"]
    server.do("FLUSHALL")
    await bus.publish([envelope("after"), envelope("to all", *EVERYONE)])

    assert sorted(await bob.take_and_ack(2)) == ["after", "to all"]

    # Who only watches sees what comes from now on, and may have been away for a moment.
    async def is_watched() -> bool:
        published = envelope("again")
        await bus.publish([published])
        await bob.take_and_ack()
        return published.id in seen

    await until(is_watched)


def test_a_connection_that_is_silent_for_too_long_is_given_up(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (reader, outgoing, wire):
        monkeypatch.setattr(module, "REPLY_WITHIN_S", 0.3, raising=False)
    monkeypatch.setattr(wire.Wire.call, "__kwdefaults__", {"within_s": 0.3})
    monkeypatch.setattr(reader, "BLOCK_MS", 50)
    proxy = TcpProxy(server.port)
    proxy.start()

    async def scenario(buses: Buses) -> None:
        bus = await buses.bus(connect_timeout_s=0.3)
        bob = await subscribed(bus)
        proxy.cut()
        doubtful = envelope("in doubt")
        with pytest.raises(BackendUnavailable):
            await bus.publish([doubtful], timeout_s=0.5)
        await until(lambda: is_cut_off(bus))
        proxy.cut(is_cut=False)
        proxy.drop_connections()

        await bus.publish([doubtful, envelope("after")])
        assert await bob.take_and_ack(2) == ["in doubt", "after"]
        assert await bob.has_nothing()
        assert bus.health.reconnects >= 2

    try:
        over(server, scenario, f"redis://127.0.0.1:{proxy.port}")
    finally:
        proxy.stop()


async def test_a_server_that_is_full_can_be_read_empty_by_who_comes_back(server: RedisServer, buses: Buses) -> None:
    first = await buses.bus()
    bob = await subscribed(first)
    await first.publish([envelope("one"), envelope("two")])
    await bob.take(2)
    await first.close(drain_s=0)
    server.do("CONFIG", "SET", "maxmemory", "1")
    try:
        assert await (await subscribed(await buses.bus())).take_and_ack(2) == ["one", "two"]
    finally:
        server.do("CONFIG", "SET", "maxmemory", "0")


async def test_publishers_that_waited_for_a_full_server_keep_their_order(server: RedisServer, buses: Buses) -> None:
    bus = await buses.bus()
    bob = await subscribed(bus)
    server.do("CONFIG", "SET", "maxmemory", "1")
    try:
        sending = [asyncio.create_task(bus.publish([envelope(f"{n}a"), envelope(f"{n}b")])) for n in range(5)]
        await asyncio.sleep(0.1)
    finally:
        server.do("CONFIG", "SET", "maxmemory", "0")
    await asyncio.gather(*sending)

    assert await bob.take_and_ack(10) == [f"{n}{letter}" for n in range(5) for letter in "ab"]


def test_names_are_known_again_to_a_server_that_forgot_them(server: RedisServer) -> None:
    proxy = TcpProxy(server.port)
    proxy.start()

    async def scenario(buses: Buses) -> None:
        bus = await buses.bus()
        await bus.publish([envelope("one", "never")])
        server.do("FLUSHALL")
        proxy.drop_connections()
        await asyncio.sleep(0.05)
        # The first may go where it is known that the connection has gone, or find out.
        await bus.publish([envelope("two", "other")])
        await bus.publish([envelope("three", "never")])

        assert [state.name for state in await bus.queues("hive")] == ["never", "other"]

    try:
        over(server, scenario, f"redis://127.0.0.1:{proxy.port}")
    finally:
        proxy.stop()


def test_acknowledgements_outlive_a_connection(server: RedisServer) -> None:
    proxy = TcpProxy(server.port)
    proxy.start()

    async def scenario(buses: Buses) -> None:
        bus = await buses.bus()
        bob = await subscribed(bus)
        await bus.publish([envelope(str(n)) for n in range(10)])
        for delivery in await bob.take(10):
            await delivery.ack()
        proxy.drop_connections()

        await until(lambda: nothing_pending(bus))
        await until(lambda: nothing_is_settling(bus))
        assert bus.health.reconnects >= 1

    try:
        over(server, scenario, f"redis://127.0.0.1:{proxy.port}")
    finally:
        proxy.stop()


async def test_a_dead_letter_that_a_full_server_can_not_forget_is_not_handed_out_again(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch, buses: Buses
) -> None:
    monkeypatch.setattr(reader, "_LOOK_EVERY_S", 0.02)
    monkeypatch.setattr(reader, "BLOCK_MS", 20)

    bus = await buses.bus()
    bob = await subscribed(bus)
    poison = envelope("poison")
    await bus.publish([poison])
    (delivery,) = await bob.take()
    server.do("CONFIG", "SET", "maxmemory", "1")
    try:
        await delivery.dead_letter("no good")
        assert await bob.has_nothing()
    finally:
        server.do("CONFIG", "SET", "maxmemory", "0")
    await until(lambda: nothing_pending(bus))
    (letter,) = bob.letters.letters()
    assert (letter.envelope, letter.count) == (poison, 1)


def test_a_server_that_was_demoted_is_left_for_the_one_that_leads_now() -> None:
    with RedisServer() as leader, RedisServer() as replica:
        proxy = TcpProxy(leader.port)
        proxy.start()

        async def scenario(buses: Buses) -> None:
            bus = await buses.bus()
            bob = await subscribed(bus)
            await bus.publish([envelope("one")])
            assert await bob.take_and_ack() == ["one"]
            await follow(replica, leader)

            # As where a name is led to another machine: nobody is told, and old connections stand.
            replica.do("REPLICAOF", "NO", "ONE")
            leader.do("REPLICAOF", "127.0.0.1", str(replica.port))
            proxy.lead_to(replica.port)

            await bus.publish([envelope("two")])
            assert await bob.take_and_ack() == ["two"]
            await until(lambda: nothing_pending(bus))

        try:
            over(leader, scenario, f"redis://127.0.0.1:{proxy.port}")
        finally:
            proxy.stop()


def test_a_server_that_takes_only_reads_is_told() -> None:
    with RedisServer() as server:

        async def scenario(buses: Buses) -> None:
            bus = await buses.bus()
            await subscribed(bus)
            # Nobody is there to follow.
            server.do("REPLICAOF", "127.0.0.1", "1")

            await until(lambda: not bus.health.is_connected and "only reads" in bus.health.last_error)

        over(server, scenario)


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
