"""What the Redis bus does besides the contract, on a real server: logins, TLS, trimming, names that change hands."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hive_mind.bus import redis
from hive_mind.bus.address import address_of
from hive_mind.bus.base import EVERYONE, Traffic
from hive_mind.bus.redis import keys, outgoing, reader, wire
from hive_mind.errors import BackendRejected, BackendThrottled, BackendUnavailable, InvalidInput
from tests.contract.bus_builders import envelope, eventually
from tests.contract.redis_builders import (
    QUICK,
    Buses,
    has_letter,
    is_cut_off,
    length,
    nothing_is_settling,
    nothing_pending,
    over,
    subscribed,
)
from tests.servers.certificates import make_certificates
from tests.servers.redis_server import RedisOptions, RedisServer
from tests.servers.tcp_proxy import TcpProxy

# ── getting in ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("url", ["redis://127.0.0.1/x", "redis://", "redis://127.0.0.1/0?db=3", "redis://127.0.0.1/-1"])
def test_an_address_that_means_nothing_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="redis://host:6379/0"):
        asyncio.run(redis.open(address_of(url), QUICK))


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
            over(server, lambda buses: buses.bus())  # type: ignore[arg-type,return-value]
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
            await eventually(lambda: has_letter(bus, "mine"))
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
            bus = await buses.bus(credential="honey")
            assert bus.health.is_connected
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


# ── what is sent ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_for_everyone_is_sent_once(server: RedisServer) -> None:
    async def scenario(buses: Buses) -> None:
        bus = await buses.bus(measure=lambda _: 10)
        others = [await subscribed(bus, f"n{number}") for number in range(5)]
        await bus.publish([envelope("to all", *EVERYONE), envelope("to two", "n0", "n1")])

        assert [await other.take_and_ack() for other in others[2:]] == [["to all"]] * 3
        assert length(server, keys.everyone("hive")) == 1
        assert bus.traffic == {"receipt": Traffic(3, 30)}

    over(server, scenario)


def test_names_can_not_reach_into_other_hives(server: RedisServer) -> None:
    assert keys.inbox("a", "inbox:x") != keys.inbox("a:inbox", "x")
    assert len({keys.inbox("a", ":all"), keys.everyone("a:inbox:"), keys.letters("a"), keys.inbox("a:dlq", "")}) == 4

    async def scenario(buses: Buses) -> None:
        bus = await buses.bus()
        outer = await subscribed(bus, "x", hive="a")
        inner = await subscribed(bus, "inbox:x", hive="a")
        other = await subscribed(bus, "x", hive="a:inbox")
        star = await subscribed(bus, "*?[x]\n%3A", hive="a")
        await bus.publish([envelope("1", "x", hive="a"), envelope("2", "inbox:x", hive="a"), envelope("3", "x", hive="a:inbox")])
        await bus.publish([envelope("4", "*?[x]\n%3A", hive="a")])

        said = [await one.take_and_ack() for one in (outer, inner, other, star)]
        assert said == [["1"], ["2"], ["3"], ["4"]]
        assert [await one.has_nothing() for one in (outer, inner, other, star)] == [True] * 4

    over(server, scenario)


def test_many_publishers_share_round_trips(server: RedisServer) -> None:
    async def scenario(buses: Buses) -> None:
        bus = await buses.bus()
        calls: list[int] = []
        call = bus.outgoing._wire.call

        async def counted(*commands: wire.Command, **options: Any) -> list[Any]:
            calls.append(len(commands))
            return await call(*commands, **options)

        bus.outgoing._wire.call = counted  # type: ignore[method-assign]
        await asyncio.gather(*(bus.publish([envelope(str(n))]) for n in range(300)))
        assert len(calls) <= 3
        assert sum(calls) == 301

    over(server, scenario)


def test_a_large_publish_is_cut_into_several(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis, "COMMANDS_MAX", 10)

    async def scenario(buses: Buses) -> None:
        bus = await buses.bus()
        bob = await subscribed(bus)
        await bus.publish([envelope(str(n)) for n in range(95)])
        assert await bob.take_and_ack(95) == [str(n) for n in range(95)]

    over(server, scenario)


def test_acknowledgements_get_through_to_a_server_that_is_full(server: RedisServer) -> None:
    async def scenario(buses: Buses) -> None:
        bus = await buses.bus()
        bob = await subscribed(bus)
        await bus.publish([envelope("one")])
        (one,) = await bob.take()
        server.do("CONFIG", "SET", "maxmemory", "1")
        try:
            sending = asyncio.create_task(bus.publish([envelope("no room")], timeout_s=1.0))
            await asyncio.sleep(0.05)
            await one.ack()
            await eventually(lambda: nothing_pending(bus))
            with pytest.raises(BackendThrottled, match="maxmemory"):
                await sending
        finally:
            server.do("CONFIG", "SET", "maxmemory", "0")

    over(server, scenario)


# ── trouble ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_server_that_has_forgotten_everything_is_set_up_again(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_BLOCK_MS", 50)

    async def scenario(buses: Buses) -> None:
        bus = await buses.bus()
        bob = await subscribed(bus)
        seen: list[str] = []
        await bus.watch("hive", lambda one: seen.append(one.id))
        await bus.publish([envelope("before")])
        assert await bob.take_and_ack() == ["before"]
        server.do("FLUSHALL")
        await bus.publish([envelope("after"), envelope("to all", *EVERYONE)])

        assert sorted(await bob.take_and_ack(2)) == ["after", "to all"]

    over(server, scenario)


def test_a_connection_that_is_silent_for_too_long_is_given_up(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (reader, outgoing, wire):
        monkeypatch.setattr(module, "REPLY_WITHIN_S", 0.3, raising=False)
    monkeypatch.setattr(wire.Wire.call, "__kwdefaults__", {"within_s": 0.3})
    monkeypatch.setattr(reader, "_BLOCK_MS", 50)
    proxy = TcpProxy(server.port)
    proxy.start()

    async def scenario(buses: Buses) -> None:
        bus = await buses.bus(connect_timeout_s=0.3)
        bob = await subscribed(bus)
        proxy.cut()
        doubtful = envelope("in doubt")
        with pytest.raises(BackendUnavailable):
            await bus.publish([doubtful], timeout_s=0.5)
        await eventually(lambda: is_cut_off(bus))
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


def test_what_was_not_answered_is_sent_again_and_seen_once(server: RedisServer) -> None:
    proxy = TcpProxy(server.port)
    proxy.start()

    async def scenario(buses: Buses) -> None:
        bus = await buses.bus()
        bob = await subscribed(bus)
        proxy.lose_next_reply_to(b"XADD")
        await bus.publish([envelope("one"), envelope("two"), envelope("three")])

        assert await bob.take_and_ack(3) == ["one", "two", "three"]
        assert await bob.has_nothing()
        assert (length(server, keys.inbox("hive", "bob")), bus.health.duplicates) == (6, 3)

    try:
        over(server, scenario, f"redis://127.0.0.1:{proxy.port}")
    finally:
        proxy.stop()


def test_a_server_that_is_full_can_be_read_empty_by_who_comes_back(server: RedisServer) -> None:
    async def scenario(buses: Buses) -> None:
        first = await buses.bus()
        bob = await subscribed(first)
        await first.publish([envelope("one"), envelope("two")])
        await bob.take(2)
        await first.close(drain_s=0)
        server.do("CONFIG", "SET", "maxmemory", "1")
        try:
            again = await subscribed(await buses.bus())
            assert await again.take_and_ack(2) == ["one", "two"]
        finally:
            server.do("CONFIG", "SET", "maxmemory", "0")

    over(server, scenario)


def test_publishers_that_waited_for_a_full_server_keep_their_order(server: RedisServer) -> None:
    async def scenario(buses: Buses) -> None:
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

    over(server, scenario)


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

        await eventually(lambda: nothing_pending(bus))
        await eventually(lambda: nothing_is_settling(bus))
        assert bus.health.reconnects >= 1

    try:
        over(server, scenario, f"redis://127.0.0.1:{proxy.port}")
    finally:
        proxy.stop()


def test_a_slow_subscriber_holds_no_more_than_it_asked_for(server: RedisServer) -> None:
    async def scenario(buses: Buses) -> None:
        bus = await buses.bus()
        bob = await subscribed(bus, waiting_max=10, inflight_max=5)
        await bus.publish([envelope(str(n)) for n in range(1000)])
        taken = await bob.take(5)
        assert await bob.has_nothing()
        (state,) = await bus.queues("hive")

        assert len(bus._readers[0].mailbox.held) <= 15
        assert state.unacknowledged is not None
        assert state.unacknowledged <= 15
        assert state.waiting == 1000 - state.unacknowledged
        assert state.oldest_s is not None
        assert state.oldest_s < 30
        for delivery in taken:
            await delivery.ack()
        assert await bob.take_and_ack(995) == [str(n) for n in range(5, 1000)]

    over(server, scenario)


def test_a_dead_letter_waits_for_a_server_that_is_full_and_is_not_handed_out_again(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "_LOOK_EVERY_S", 0.02)
    monkeypatch.setattr(reader, "_BLOCK_MS", 20)

    async def scenario(buses: Buses) -> None:
        bus = await buses.bus()
        bob = await subscribed(bus)
        poison = envelope("poison")
        await bus.publish([poison])
        (delivery,) = await bob.take()
        server.do("CONFIG", "SET", "maxmemory", "1")
        try:
            await delivery.dead_letter("no good")
            assert await bob.has_nothing()
            assert not await nothing_pending(bus)
        finally:
            server.do("CONFIG", "SET", "maxmemory", "0")
        await eventually(lambda: nothing_pending(bus))
        (letter,) = await bus.dead_letters("hive")
        assert letter.envelope == poison

    over(server, scenario)


def test_closing_tells_publishers_that_wait(server: RedisServer) -> None:
    proxy = TcpProxy(server.port)
    proxy.start()

    async def scenario(buses: Buses) -> None:
        full, cut = await buses.bus(), await buses.bus()
        server.do("CONFIG", "SET", "maxmemory", "1")
        try:
            waiting = asyncio.create_task(full.publish([envelope("no room")], timeout_s=600))
            await asyncio.sleep(0.05)
            await full.close(drain_s=0)
        finally:
            server.do("CONFIG", "SET", "maxmemory", "0")
        proxy.cut()
        under_way = asyncio.create_task(cut.publish([envelope("on its way")], timeout_s=600))
        await asyncio.sleep(0.05)
        await cut.close(drain_s=0)

        for publishing in (waiting, under_way):
            with pytest.raises(BackendUnavailable, match="closed"):
                await publishing

    try:
        over(server, scenario, f"redis://127.0.0.1:{proxy.port}")
    finally:
        proxy.stop()


def test_closing_wakes_a_reader_that_waits(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_BLOCK_MS", 60_000)

    async def scenario(buses: Buses) -> None:
        bus = await buses.bus()
        bob = await subscribed(bus)
        await bus.publish([envelope("one")])
        assert await bob.take_and_ack() == ["one"]
        async with asyncio.timeout(20):
            await bus.close()

    over(server, scenario)


def test_a_user_who_may_not_unblock_its_reader_still_closes_in_time() -> None:
    rules = "~hive:* +@all -client|unblock"
    with RedisServer(RedisOptions(user="bee", password="honey", rules=rules)) as server:  # noqa: S106 - it is for this test

        async def scenario(buses: Buses) -> None:
            bus = await buses.bus()
            bob = await subscribed(bus)
            await bus.publish([envelope("one")])
            assert await bob.take_and_ack() == ["one"]
            async with asyncio.timeout(5):
                await bus.close()

        over(server, scenario)
