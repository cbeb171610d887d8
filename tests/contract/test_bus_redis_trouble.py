"""What the Redis bus does about a server that is full, has forgotten everything, is silent, or gone for a while.

Getting in to a Redis server: addresses, TLS, users and passwords, and what is said of the server.
"""

import asyncio
import re
from pathlib import Path

import pytest

from hive_mind.bus import EVERYONE, redis
from hive_mind.bus.address import address_of
from hive_mind.bus.redis import admin, outgoing, reader, wire
from hive_mind.errors import BackendRejected, BackendThrottled, BackendUnavailable, InvalidInput
from tests.contract.bus_builders import envelope
from tests.contract.redis_builders import (
    QUICK,
    Buses,
    before,
    buses_of,
    follow,
    full,
    is_cut_off,
    nothing_is_settling,
    nothing_pending,
    subscribed,
)
from tests.servers.certificates import make_certificates
from tests.servers.redis_server import RedisOptions, RedisServer
from tests.waiting import until


async def test_acknowledgements_get_through_to_a_server_that_is_full(server: RedisServer, buses: Buses) -> None:
    bus = await buses.bus()
    bob = await subscribed(bus)
    await bus.publish([envelope("one")])
    (one,) = await bob.take()
    with full(server):
        sending = asyncio.create_task(bus.publish([envelope("no room")], timeout_s=1.0))
        await asyncio.sleep(0.05)
        await one.ack()
        await until(lambda: nothing_pending(bus))
        with pytest.raises(BackendThrottled, match="maxmemory"):
            await sending


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


async def test_a_connection_that_is_silent_for_too_long_is_given_up(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (reader, outgoing, wire):
        monkeypatch.setattr(module, "REPLY_WITHIN_S", 0.3, raising=False)
    monkeypatch.setattr(wire.Wire.call, "__kwdefaults__", {"within_s": 0.3})
    monkeypatch.setattr(reader, "BLOCK_MS", 50)
    with before(server) as proxy:
        async with buses_of(f"redis://127.0.0.1:{proxy.port}") as buses:
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


async def test_a_server_that_is_full_can_be_read_empty_by_who_comes_back(server: RedisServer, buses: Buses) -> None:
    first = await buses.bus()
    bob = await subscribed(first)
    await first.publish([envelope("one"), envelope("two")])
    await bob.take(2)
    await first.close(drain_s=0)
    with full(server):
        assert await (await subscribed(await buses.bus())).take_and_ack(2) == ["one", "two"]


async def test_publishers_that_waited_for_a_full_server_keep_their_order(server: RedisServer, buses: Buses) -> None:
    bus = await buses.bus()
    bob = await subscribed(bus)
    with full(server):
        sending = [asyncio.create_task(bus.publish([envelope(f"{n}a"), envelope(f"{n}b")])) for n in range(5)]
        await asyncio.sleep(0.1)
    await asyncio.gather(*sending)

    assert await bob.take_and_ack(10) == [f"{n}{letter}" for n in range(5) for letter in "ab"]


async def test_names_are_known_again_to_a_server_that_forgot_them_and_acknowledgements_outlive_a_connection(
    server: RedisServer,
) -> None:
    with before(server) as proxy:
        async with buses_of(f"redis://127.0.0.1:{proxy.port}") as buses:
            bus = await buses.bus()
            await bus.publish([envelope("one", "never")])
            server.do("FLUSHALL")
            proxy.drop_connections()
            await asyncio.sleep(0.05)
            # The first may go where it is known that the connection has gone, or find out.
            await bus.publish([envelope("two", "other")])
            await bus.publish([envelope("three", "never")])
            assert [state.name for state in await bus.queues("hive")] == ["never", "other"]

            bus = await buses.bus()
            bob = await subscribed(bus)
            await bus.publish([envelope(str(n)) for n in range(10)])
            for delivery in await bob.take(10):
                await delivery.ack()
            proxy.drop_connections()

            await until(lambda: nothing_pending(bus))
            await until(lambda: nothing_is_settling(bus))
            assert bus.health.reconnects >= 1


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
    with full(server):
        await delivery.dead_letter("no good")
        assert await bob.has_nothing()
    await until(lambda: nothing_pending(bus))
    (letter,) = bob.letters.letters()
    assert (letter.envelope, letter.count) == (poison, 1)


async def test_a_server_that_was_demoted_is_left_for_the_one_that_leads_now() -> None:
    with RedisServer() as leader, RedisServer() as replica, before(leader) as proxy:
        async with buses_of(f"redis://127.0.0.1:{proxy.port}") as buses:
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


async def test_a_server_that_takes_only_reads_is_told() -> None:
    with RedisServer() as server:
        async with buses_of(server.url) as buses:
            bus = await buses.bus()
            await subscribed(bus)
            # Nobody is there to follow.
            server.do("REPLICAOF", "127.0.0.1", "1")

            await until(lambda: not bus.health.is_connected and "only reads" in bus.health.last_error)


@pytest.mark.parametrize("url", ["redis://127.0.0.1/x", "redis://", "redis://127.0.0.1/0?db=3", "redis://127.0.0.1/-1"])
def test_an_address_that_means_nothing_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="redis://host:6379/0"):
        asyncio.run(redis.open(address_of(url), QUICK))


async def test_a_certificate_is_checked_and_with_the_right_one_everything_is_encrypted(tmp_path: Path) -> None:
    made = make_certificates(tmp_path)
    with RedisServer(RedisOptions(certificates=made, password="honey")) as server:  # noqa: S106 - it is for this test
        assert server.url.startswith("rediss://")
        async with buses_of(server.url) as buses:
            bus = await buses.bus(certificate=made.certificate)
            bob = await subscribed(bus)
            await bus.publish([envelope("sealed")])
            assert await bob.take_and_ack() == ["sealed"]
            with pytest.raises(BackendUnavailable, match=r"(?i)certificate") as raised:
                await buses.bus()
        assert "honey" not in str(raised.value)


async def test_a_user_needs_no_right_but_those_to_its_hive_s_keys() -> None:
    rules = "~hive:mine:* -@all +@read +@write +@stream +@connection +@transaction +time"
    with RedisServer(RedisOptions(user="bee", password="honey", rules=rules)) as server:  # noqa: S106 - it is for this test
        async with buses_of(server.url) as buses:
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


async def test_what_is_said_of_a_server_when_a_bus_opens(caplog: pytest.LogCaptureFixture) -> None:
    """Its password may come with the settings; it drops keys when it is full; and it forgets."""
    with RedisServer(RedisOptions(password="honey", is_kept=False, maxmemory="100mb")) as server:  # noqa: S106 - it is for this test
        async with buses_of(f"redis://127.0.0.1:{server.port}") as buses:
            with pytest.raises(BackendRejected):
                await buses.bus()
            bus = await buses.bus(credential="honey")
            assert (bus.health.is_connected, bus.capabilities.survives_restart) == (True, False)
            assert "noeviction" not in caplog.text
            server.do("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
            await buses.bus(credential="honey")
    assert "noeviction" in caplog.text


async def test_a_server_of_a_cluster_is_refused_and_who_may_not_ask_what_it_is_hears_of_that_when_it_reads() -> None:
    rules = "~* &* +@all -info"
    with RedisServer(RedisOptions(is_cluster=True, user="bee", password="honey", rules=rules)) as server:  # noqa: S106 - it is for this test
        server.do("CLUSTER", "ADDSLOTS", *map(str, range(1 << 14)))
        await until(lambda: b"cluster_state:ok" in server.do("CLUSTER", "INFO"))
        async with buses_of(server.url) as buses:
            bus = await buses.bus()
            await subscribed(bus)
            await until(lambda: "NoCluster" in bus.health.last_error)
            server.do("ACL", "SETUSER", "bee", "+info")
            with pytest.raises(BackendRejected, match="NoCluster"):
                await buses.bus()


async def refusal(*missing: str) -> str:
    """Why a server that lacks these commands is not used."""
    with RedisServer(RedisOptions(missing=missing)) as server:
        async with buses_of(server.url) as buses:
            with pytest.raises(BackendRejected) as raised:
                await buses.bus()
    return str(raised.value)


@pytest.mark.parametrize("missing", [("XCLAIM",), ("XREADGROUP", "HSETNX"), ("TIME",), ("CLIENT",)])
async def test_a_server_without_a_command_is_refused_with_what_it_takes(missing: tuple[str, ...]) -> None:
    why = await refusal(*missing)
    assert all(name in why for name in missing)
    assert why.endswith("it takes Redis 6.2 or newer, or Valkey, with no command renamed or switched off")


def test_every_command_that_is_sent_is_asked_for_when_a_bus_opens() -> None:
    source = "".join(path.read_text() for path in Path(redis.__file__).parent.glob("*.py"))
    sent = set(re.findall(r'[(]b?"([A-Z]{3,})", ', source)) | set(re.findall(r'one[(]"([A-Z]{3,})"', source))
    # The first of these a server may keep to itself: what they tell is then not known. The others are parts of commands.
    assert sent - {"INFO", "CONFIG", "COMMAND", "BLOCK", "GROUP", "STREAMS", "LOADING"} <= {*admin.COMMANDS}


async def test_what_was_sent_is_in_no_message_about_a_command_that_is_not_known() -> None:
    with RedisServer(RedisOptions(missing=("XADD", "COMMAND"))) as server:
        async with buses_of(server.url) as buses:
            bus = await buses.bus()
            with pytest.raises(BackendRejected, match=r"Redis 6\.2 or newer") as raised:
                await bus.publish([envelope("a secret", *EVERYONE)])
    assert "secret" not in str(raised.value)
    assert "XADD" in str(raised.value)
