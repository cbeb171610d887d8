"""What the Redis bus does besides the contract, on a real server: what it sends and holds, and how it closes."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from hive_mind.bus import EVERYONE, redis
from hive_mind.bus.redis import keys, reader, wire
from hive_mind.errors import BackendUnavailable
from tests.contract.bus_builders import envelope, texts
from tests.contract.redis_builders import Buses, before, buses_of, full, length, subscribed
from tests.servers.redis_server import RedisOptions, RedisServer


async def test_what_is_for_everyone_is_sent_once(server: RedisServer, buses: Buses) -> None:
    bus = await buses.bus()
    others = [await subscribed(bus, f"n{number}") for number in range(5)]
    await bus.publish([envelope("to all", *EVERYONE), envelope("to two", "n0", "n1")])

    assert [await other.take_and_ack() for other in others[2:]] == [["to all"]] * 3
    assert length(server, keys.everyone("hive")) == 1


async def test_names_can_not_reach_into_other_hives(buses: Buses) -> None:
    assert keys.inbox("a", "inbox:x") != keys.inbox("a:inbox", "x")
    assert len({keys.inbox("a", ":all"), keys.everyone("a:inbox:"), keys.letters("a"), keys.inbox("a:dlq", "")}) == 4

    bus = await buses.bus()
    outer = await subscribed(bus, "x", hive="a")
    inner = await subscribed(bus, "inbox:x", hive="a")
    other = await subscribed(bus, "x", hive="a:inbox")
    star = await subscribed(bus, "*?[x]\n%3A", hive="a")
    await bus.publish([envelope("1", "x", hive="a"), envelope("2", "inbox:x", hive="a"), envelope("3", "x", hive="a:inbox")])
    await bus.publish([envelope("4", "*?[x]\n%3A", hive="a")])

    assert [await one.take_and_ack() for one in (outer, inner, other, star)] == [["1"], ["2"], ["3"], ["4"]]
    assert [await one.has_nothing() for one in (outer, inner, other, star)] == [True] * 4


async def test_many_publishers_share_round_trips(buses: Buses) -> None:
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


async def test_a_large_publish_is_cut_into_several(monkeypatch: pytest.MonkeyPatch, buses: Buses) -> None:
    monkeypatch.setattr(redis, "COMMANDS_MAX", 10)

    bus = await buses.bus()
    bob = await subscribed(bus)
    sent, send = list[int](), bus.outgoing.send

    async def counted(commands: Sequence[Any], *limits: Any) -> None:
        sent.append(len(commands))
        await send(commands, *limits)

    monkeypatch.setattr(bus.outgoing, "send", counted)
    await bus.publish([envelope(str(n)) for n in range(95)])
    assert await bob.take_and_ack(95) == [str(n) for n in range(95)]
    assert (len(sent), max(sent)) == (10, 10)


async def test_a_slow_subscriber_holds_no_more_than_it_asked_for(buses: Buses) -> None:
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


async def test_closing_tells_publishers_that_wait(server: RedisServer) -> None:
    with before(server) as proxy:
        async with buses_of(f"redis://127.0.0.1:{proxy.port}") as buses:
            fills, cut = await buses.bus(), await buses.bus()
            with full(server):
                waiting = asyncio.create_task(fills.publish([envelope("no room")], timeout_s=600))
                await asyncio.sleep(0.05)
                await fills.close(drain_s=0)
            proxy.cut()
            under_way = asyncio.create_task(cut.publish([envelope("on its way")], timeout_s=600))
            await asyncio.sleep(0.05)
            await cut.close(drain_s=0)

            for publishing in (waiting, under_way):
                with pytest.raises(BackendUnavailable, match="closed"):
                    await publishing


async def test_who_sends_the_largest_messages_fills_no_memory_and_holds_up_nobody_for_good(buses: Buses) -> None:
    bus, bytes_max = await buses.bus(), 64 << 20
    flood = ["x" * 16_000_000 + str(number) for number in range(12)]
    sent = [*(f"before {number}" for number in range(10)), *flood, *(f"behind {number}" for number in range(50))]
    for text in sent:
        await bus.publish([envelope(text)])
    bob = await subscribed(bus, held_bytes_max=bytes_max, start="earliest")

    taken, held_most = list[str](), 0
    while len(taken) < len(sent):
        for delivery in await bob.take(1):
            held_most = max(held_most, sum(one.size for one in bus._readers[0].mailbox.held))
            taken += texts([delivery])
            await delivery.ack()

    assert taken == sent
    # The first call brings ten small ones and six large ones; of twelve large ones it would hold three times the bound.
    assert bytes_max < held_most < 1.6 * bytes_max


def test_a_reader_asks_for_fewer_while_they_are_large_and_for_more_step_by_step() -> None:
    pace, large = reader.Pace(), 16 << 20
    counts = [pace.count]
    few = ([100, large], [large] * 2, [64 << 20], [100], [100, 200], [2 << 20])
    for sizes in ([], *([100] * count for count in (16, 32, 64)), *few):
        pace.note(sizes)
        counts.append(pace.count)

    assert counts == [16, 16, 32, 64, 64, 2, 2, 1, 2, 4, 8]


async def test_closing_wakes_a_reader_that_waits_also_one_whose_user_may_not_unblock_it(
    monkeypatch: pytest.MonkeyPatch, server: RedisServer
) -> None:
    rules = "~hive:* +@all -client|unblock"
    with RedisServer(RedisOptions(user="bee", password="honey", rules=rules)) as limited:  # noqa: S106 - it is for this test
        for place, block_ms in ((limited, reader.BLOCK_MS), (server, 60_000)):
            monkeypatch.setattr(reader, "BLOCK_MS", block_ms)
            async with buses_of(place.url) as buses:
                bus = await buses.bus()
                bob = await subscribed(bus)
                await bus.publish([envelope("one")])
                assert await bob.take_and_ack() == ["one"]
                async with asyncio.timeout(60 if place is limited else 20):
                    await bus.close()
