"""What the Redis bus keeps, for how long and for whom: trimming, and names that change hands."""

import asyncio
from typing import Any

import msgspec
import pytest

from hive_mind.bus import ATTEMPTS_MAX, EVERYONE
from hive_mind.bus.redis import RedisBus, admin, keys, reader, wire
from tests.contract.bus_builders import envelope, letter_text, text, texts
from tests.contract.redis_builders import Buses, has_given_way, kill, length, nothing_is_settling, nothing_pending, subscribed
from tests.servers.redis_server import RedisServer
from tests.waiting import until


@pytest.fixture
def _trims_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin, "_WATCHED_MS", 0)


async def trimmed(bus: RedisBus, kept_s: float = 3600.0, hive: str = "hive") -> None:
    """A round of the trimming, now."""

    async def once(to: wire.Wire) -> None:
        await to.call(("DEL", keys.keeper(hive)))
        await admin.trim(to, hive, kept_s)

    await asyncio.sleep(0.01)
    await bus._admin.ask(once)


@pytest.mark.usefixtures("_trims_at_once")
async def test_what_everybody_has_acknowledged_is_trimmed_and_nothing_else(server: RedisServer, buses: Buses) -> None:
    bus = await buses.bus()
    bob, cid = await subscribed(bus), await subscribed(bus, "cid", waiting_max=10, inflight_max=10)
    said = ["x" * 2000 + str(n) for n in range(100)]
    await bus.publish([envelope(one, *EVERYONE) for one in said])
    await bus.publish([envelope(one) for one in said])
    assert sorted(await bob.take_and_ack(200)) == sorted(said * 2)
    await until(lambda: nothing_pending(bus, "bob"))
    await trimmed(bus)
    # Redis trims whole nodes, of a few entries each.
    assert length(server, keys.inbox("hive", "bob")) < 5
    assert length(server, keys.everyone("hive")) == 100

    assert await cid.take_and_ack(60) == said[:60]
    taken = await cid.take(1)
    await until(lambda: nothing_pending(bus, "cid", but=2))
    await trimmed(bus)
    assert 40 <= length(server, keys.everyone("hive")) <= 60
    await taken[0].ack()
    assert await cid.take_and_ack(39) == said[61:]


@pytest.mark.usefixtures("_trims_at_once")
async def test_what_was_read_and_not_acknowledged_is_not_trimmed(buses: Buses) -> None:
    first = await buses.bus()
    bob = await subscribed(first)
    await first.publish([envelope("x" * 5000 + str(n)) for n in range(20)])
    for delivery in (await bob.take(20))[1:]:
        await delivery.ack()
    await first.close(drain_s=0)

    second = await buses.bus()
    await trimmed(second)
    (delivery,) = await (await subscribed(second)).take()
    assert (text(delivery)[-1], delivery.attempt) == ("0", 2)


@pytest.mark.usefixtures("_trims_at_once")
async def test_who_was_away_for_too_long_loses_what_is_old_and_its_name_in_the_end(server: RedisServer, buses: Buses) -> None:
    bus = await buses.bus()
    bob, _ = await subscribed(bus), await subscribed(bus, "cid")
    await bob.inbox.close()
    await bus.publish([envelope("x" * 5000, to) for to in ("bob", "cid", "never", "*") for _ in range(10)])
    await asyncio.sleep(0.1)
    await trimmed(bus, kept_s=3600)
    assert length(server, keys.inbox("hive", "bob")) == 10
    assert length(server, keys.inbox("hive", "never")) == 10
    # Now it counts as away for too long; cid does not, for it is here.
    server.do("HSET", keys.names("hive"), "bob", "1")
    await trimmed(bus, kept_s=0.05)
    assert length(server, keys.inbox("hive", "bob")) < 3
    assert length(server, keys.inbox("hive", "never")) < 3
    assert length(server, keys.inbox("hive", "cid")) == 10
    assert length(server, keys.everyone("hive")) == 10

    await trimmed(bus, kept_s=0.05)
    assert sorted(state.name for state in await bus.queues("hive")) == ["cid"]
    again = await subscribed(bus)
    await bus.publish([envelope("a new life")])
    assert await again.take_and_ack() == ["a new life"]


@pytest.mark.usefixtures("_trims_at_once")
async def test_who_was_away_for_too_long_keeps_what_is_young(server: RedisServer, buses: Buses) -> None:
    bus = await buses.bus()
    bob = keys.inbox("hive", "bob")
    for number in range(1, 11):
        server.do("XADD", bob, f"{number}-0", keys.BODY, b"x" * 5000)
    server.do("XGROUP", "CREATE", bob, "bob", "0")
    await bus.publish([envelope("young")])
    server.do("HSET", keys.names("hive"), "bob", "1")
    await trimmed(bus, kept_s=3600)

    assert length(server, bob) < 3
    assert await (await subscribed(bus)).take_and_ack() == ["young"]


async def every_second_is_brief(bus: RedisBus, *to: str) -> list[str]:
    """Publish twenty, one after another, the first of them brief."""
    said = ["x" * 2000 + str(n) for n in range(20)]
    for number, one in enumerate(said):
        await bus.publish([msgspec.structs.replace(envelope(one, *to), is_brief=number % 2 == 0)])
    return said


@pytest.mark.usefixtures("_trims_at_once")
async def test_what_is_brief_piles_up_for_nobody_who_is_away(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch, buses: Buses
) -> None:
    monkeypatch.setattr(admin, "BRIEF_S", 0.05)

    bus = await buses.bus()
    bob, cid = await subscribed(bus), await subscribed(bus, "cid")
    await bob.inbox.close()
    said = await every_second_is_brief(bus, *EVERYONE)
    assert sorted(await cid.take_and_ack(20)) == sorted(said)
    assert length(server, keys.brief("hive")) == length(server, keys.everyone("hive")) == 10
    await asyncio.sleep(0.1)
    await trimmed(bus)

    assert length(server, keys.brief("hive")) < 3
    assert length(server, keys.everyone("hive")) == 10
    again = await subscribed(bus)
    assert set(said[1::2]) <= set(await again.take_and_ack(10))


@pytest.mark.usefixtures("_trims_at_once")
async def test_what_is_brief_and_for_one_who_is_away_does_not_pile_up_either(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch, buses: Buses
) -> None:
    monkeypatch.setattr(admin, "BRIEF_S", 0.05)

    bus = await buses.bus()
    bob, cid = await subscribed(bus), await subscribed(bus, "cid")
    await bob.inbox.close()
    shown: list[str] = []
    watch = await bus.watch("hive", lambda one: shown.append(one.id))
    said = await every_second_is_brief(bus, "bob", "cid", "never")
    assert sorted(await cid.take_and_ack(20)) == sorted(said)
    await until(lambda: all_shown(shown, 20))
    await watch.close()
    await asyncio.sleep(0.1)
    await trimmed(bus)

    for name in ("bob", "cid", "never"):
        assert length(server, keys.brief_inbox("hive", name)) < 3
    assert length(server, keys.inbox("hive", "bob")) == length(server, keys.inbox("hive", "never")) == 10
    again = await subscribed(bus)
    assert set(said[1::2]) <= set(await again.take_and_ack(10))


async def all_shown(shown: list[str], count: int) -> bool:
    """Whether so many were seen by who watches, each once."""
    return len(shown) == len(set(shown)) == count


@pytest.mark.usefixtures("_trims_at_once")
async def test_a_forgotten_name_leaves_nothing_brief(server: RedisServer, monkeypatch: pytest.MonkeyPatch, buses: Buses) -> None:
    monkeypatch.setattr(admin, "BRIEF_S", 0.0)

    bus = await buses.bus()
    await bus.publish([msgspec.structs.replace(envelope("asked", "bob"), is_brief=True)])
    assert length(server, keys.brief_inbox("hive", "bob")) == 1
    server.do("HSET", keys.names("hive"), "bob", "1")
    await trimmed(bus, kept_s=0.0)
    assert server.do("EXISTS", keys.brief_inbox("hive", "bob")) == b":0\r\n"


@pytest.mark.usefixtures("_trims_at_once")
async def test_what_is_brief_and_dropped_while_somebody_had_it_in_hand_is_not_waited_for(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch, buses: Buses
) -> None:
    monkeypatch.setattr(admin, "BRIEF_S", 0.0)

    first = await buses.bus()
    bob = await subscribed(first)
    await first.publish([msgspec.structs.replace(envelope("x" * 5000, *EVERYONE), is_brief=True) for _ in range(5)])
    await bob.take(5)
    await first.close(drain_s=0)

    bus = await buses.bus()
    await trimmed(bus)
    assert length(server, keys.brief("hive")) == 0
    assert await (await subscribed(bus)).has_nothing()
    await until(lambda: nothing_read(server, keys.brief("hive")))


async def nothing_read(server: RedisServer, stream: bytes) -> bool:
    """Whether nobody has anything of a stream in hand."""
    return server.do("XPENDING", stream, "bob").startswith(b"*4\r\n:0\r\n")


async def test_what_somebody_else_deleted_waits_for_nobody(server: RedisServer, buses: Buses) -> None:
    first = await buses.bus()
    bob = await subscribed(first)
    await first.publish([envelope("one"), envelope("two")])
    await bob.take(2)
    await first.close(drain_s=0)
    server.do("XTRIM", keys.inbox("hive", "bob"), "MAXLEN", "0")

    bus = await buses.bus()
    again = await subscribed(bus)
    await until(lambda: nothing_pending(bus))
    assert await again.has_nothing()


async def test_only_one_of_many_members_trims_at_a_time(buses: Buses) -> None:
    bus = await buses.bus()
    commands: list[wire.Command] = []

    async def twice(to: wire.Wire) -> None:
        call = to.call

        async def counted(*some: wire.Command, **options: Any) -> list[Any]:
            commands.extend(some)
            return await call(*some, **options)

        to.call = counted  # type: ignore[method-assign]
        await admin.trim(to, "hive", 60)
        await admin.trim(to, "hive", 60)

    await subscribed(bus)
    await bus._admin.ask(twice)
    looked_at = [command[2] for command in commands if command[0] == "XINFO"]
    assert sorted(looked_at) == sorted(keys.read_by("hive", "bob"))


async def test_who_subscribes_later_under_a_name_has_it_and_the_former_gives_way(
    buses: Buses, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(reader, "_LOOK_EVERY_S", 0.1)
    monkeypatch.setattr(reader, "BLOCK_MS", 50)

    former, later = await buses.bus(), await buses.bus()
    old = await subscribed(former)
    await former.publish([envelope("in hand"), envelope("waiting")])
    (in_hand,) = await old.take()
    new = await subscribed(later)
    assert texts(await new.take(2)) == ["in hand", "waiting"]
    await until(lambda: has_given_way(former))
    await former.publish([envelope(str(n)) for n in range(20)])

    assert texts(await new.take(20)) == [str(n) for n in range(20)]
    assert list(old.inbox.take(10)) == []
    await in_hand.ack()
    assert "another process has subscribed as 'bob'" in caplog.text


async def test_how_often_something_was_refused_is_known_to_the_next_of_the_name(buses: Buses) -> None:
    first = await buses.bus()
    bob = await subscribed(first)
    await first.publish([envelope("twice refused"), envelope("in hand"), envelope("untouched")])
    for _ in range(2):
        await (await bob.take())[0].nack()
    await bob.take(2)
    await first.close(drain_s=0)

    again = await subscribed(await buses.bus())
    taken = {text(delivery): delivery.attempt for delivery in await again.take(3)}
    assert taken == {"twice refused": 4, "in hand": 2, "untouched": 1}


async def test_what_was_delivered_as_often_as_it_may_be_is_listed_while_nobody_subscribes_and_can_be_dropped(buses: Buses):
    looker = await buses.bus()
    for life in range(ATTEMPTS_MAX):
        assert await looker.dead_letters("hive") == []
        bus = await buses.bus()
        bob = await subscribed(bus)
        if life == 0:
            await bus.publish([envelope("poison"), envelope("for all", *EVERYONE)])
        await bob.take(2)
        kill(bus)
    letters = await looker.dead_letters("hive")
    assert sorted((letter.name, letter_text(letter)) for letter in letters) == [("bob", "for all"), ("bob", "poison")]
    assert {letter.reason for letter in letters} == {f"delivered {ATTEMPTS_MAX} times and never acknowledged"}
    assert len(await looker.dead_letters("hive", limit=1)) == 1
    assert await looker.drop("hive", [*(letter.id for letter in letters), "inbox|bob", "7-x"]) == 2
    assert await looker.dead_letters("hive") == []


def calls_of(server: RedisServer, *commands: str) -> int:
    """How often the server carried these out so far."""
    lines = server.do("INFO", "commandstats").decode().splitlines()
    counts = {line.partition(":")[0].removeprefix("cmdstat_"): line for line in lines if line.startswith("cmdstat_")}
    return sum(int(counts[name].partition("calls=")[2].partition(",")[0]) for name in commands if name in counts)


async def test_what_is_brief_costs_the_server_nothing_but_its_own_entry(server: RedisServer, buses: Buses) -> None:
    bus = await buses.bus()
    names = [await subscribed(bus, name) for name in ("bob", "cid", "dan")]
    before = calls_of(server, "xadd"), calls_of(server, "xack", "xclaim")
    said = [str(number) for number in range(30)]
    for one in said:
        await bus.publish([msgspec.structs.replace(envelope(one, *EVERYONE), is_brief=True)])
    for name in names:
        assert await name.take_and_ack(30) == said
    await bus.publish([envelope("lasting", *EVERYONE)])
    for name in names:
        assert await name.take_and_ack(1) == ["lasting"]
    await until(lambda: nothing_is_settling(bus))

    assert calls_of(server, "xadd") - before[0] == 31
    assert calls_of(server, "xack", "xclaim") - before[1] <= len(names), "only what lasts is acknowledged"
    for stream in (keys.brief("hive"), keys.brief_inbox("hive", "bob")):
        assert server.do("XPENDING", stream, "bob").startswith(b"*4\r\n:0\r\n")


async def test_the_next_of_a_name_goes_on_behind_what_was_read_of_the_brief(buses: Buses) -> None:
    bus = await buses.bus()
    bob = await subscribed(bus)
    await bus.publish([msgspec.structs.replace(envelope("read", to), is_brief=True) for to in ("bob", "*")])
    assert await bob.take_and_ack(2) == ["read"] * 2
    await bob.inbox.close()
    await bus.publish([msgspec.structs.replace(envelope("meanwhile"), is_brief=True)])

    again = await subscribed(bus)
    assert await again.take_and_ack() == ["meanwhile"]
    assert await again.has_nothing()


async def test_what_is_for_all_and_brief_waits_to_be_read_together_but_not_behind_what_is_its_own(
    buses: Buses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "_QUICK_S", 0.0)
    bus = await buses.bus()
    bob, cid = await subscribed(bus, gather_s=lambda: 5.0), await subscribed(bus, "cid", gather_s=lambda: 0.2)
    for number in range(100):
        await bus.publish([msgspec.structs.replace(envelope(str(number), *EVERYONE), is_brief=True)])
    await asyncio.sleep(0.1)
    assert await bob.has_nothing()
    await bus.publish([msgspec.structs.replace(envelope("own"), is_brief=True)])

    taken = await bob.take(65)
    assert [text(delivery) for delivery in taken] == [*map(str, range(64)), "own"]
    assert taken[-1].waited_ms == 0
    assert all(100 <= delivery.waited_ms <= 5000 for delivery in taken[:-1])
    assert await bob.take_and_ack(36) == [str(number) for number in range(64, 100)]
    assert all(delivery.waited_ms <= 200 for delivery in await cid.take(100))
