"""What every file of `hive_mind/bus/` must do. A new back end is judged here the moment it exists."""

import asyncio
import time
from collections.abc import Sequence
from itertools import groupby

import msgspec
import numpy as np
import pytest

from hive_mind.bus import EVERYONE, BusAdmin, Envelope
from hive_mind.bus.codec import encode
from hive_mind.errors import InvalidInput
from hive_mind.model.gathered import Anchors, EvidenceColumns, Pool, Probe
from hive_mind.model.messages import FactsReply, PoolReply, PoolRequest, Receipt, Replicate
from tests.contract.bus_builders import World, only_where, texts
from tests.waiting import until


async def test_what_is_published_arrives_once_as_it_was(world: World) -> None:
    numbers = np.linspace(-1, 1, 384, dtype=np.float32)
    messages = (
        Receipt("naïve 日本 \0 🐝 \U0010ffff"),
        Receipt(""),
        PoolRequest("q", "set", 1, Probe(("a",), Anchors(), numbers), 100),
        PoolReply("q", "set", Pool(("f",), numbers[:1], np.array([np.nan], np.float32), numbers[:1]), EvidenceColumns()),
        FactsReply("q", ()),
        Replicate("p", ()),
    )

    bob = await world.listener()
    sent = [world.envelope(message) for message in messages]
    sent[0] = msgspec.structs.replace(sent[0], trace="00-abc-def-01", sent_ms=1_700_000_000_123, correlation_id="c\n")
    await world.bus.publish(sent)

    taken = await bob.take(len(sent))
    assert [encode(delivery.envelope) for delivery in taken] == [encode(one) for one in sent]
    assert [delivery.attempt for delivery in taken] == [1] * len(sent)
    for delivery in taken:
        await delivery.ack()
    assert await bob.has_nothing()


async def test_each_target_gets_it_everyone_is_each_but_its_sender_and_a_name_that_nobody_has_is_no_error(world: World) -> None:
    ann, bob, cid = [await world.listener(name) for name in ("ann", "bob", "cid")]
    await world.bus.publish([world.envelope("both", "bob", "cid"), world.envelope("cid's", "cid")])
    await world.bus.publish([world.envelope("x", "absent"), world.envelope("y", "absent", "bob")])
    await world.publish("to all", to=EVERYONE)
    await world.publish("to ann", to=("ann",))

    assert sorted(await bob.take_and_ack(3)) == ["both", "to all", "y"]
    assert sorted(await cid.take_and_ack(3)) == ["both", "cid's", "to all"]
    assert await ann.take_and_ack() == ["to ann"]
    for listener in (ann, bob, cid):
        assert await listener.has_nothing()


async def test_two_hives_on_one_broker_do_not_see_each_other(world: World) -> None:
    elsewhere = world.harness.new_hive()
    only_where(elsewhere != world.hive, "another hive here")
    here, there = await world.listener(), await world.listener(hive=elsewhere)
    await world.publish("ours")
    await world.publish("theirs", hive=elsewhere)
    await world.publish("all of ours", to=EVERYONE)

    assert sorted(await here.take_and_ack(2)) == ["all of ours", "ours"]
    assert await there.take_and_ack() == ["theirs"]
    assert await there.has_nothing()


async def test_the_same_envelope_published_twice_is_seen_once(world: World) -> None:
    bob = await world.listener()
    twice, other = world.envelope("twice"), world.envelope("other")
    await world.bus.publish([twice])
    assert await bob.take_and_ack() == ["twice"]
    await world.bus.publish([twice, other])

    assert await bob.take_and_ack() == ["other"]
    assert await bob.has_nothing()


async def test_clocks_that_go_wrong_change_nothing(monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    bob = await world.listener()
    true = time.time
    for way in (-1, 1):
        with monkeypatch.context() as patched:
            # Where somebody signs with the time, minutes are tolerated and days are not: those are for the envelope alone.
            patched.setattr(time, "time", lambda way=way: true() + way * 30)
            sent = msgspec.structs.replace(world.envelope(f"{way}"), sent_ms=int((true() + way * 30 * 3600) * 1000))
            await world.bus.publish([sent])
            assert await bob.take_and_ack() == [f"{way}"]


async def test_a_name_is_taken_until_its_inbox_is_closed(world: World) -> None:
    bob = await world.listener()
    with pytest.raises(InvalidInput, match="'bob' is taken"):
        await world.listener()
    await bob.inbox.close()
    await bob.inbox.close()

    again = await world.listener()
    await world.publish("to the second")
    assert texts(await again.take()) == ["to the second"]
    assert list(bob.inbox.take(1)) == []


async def test_when_subscribing_returns_nothing_that_is_published_after_it_is_missed(world: World) -> None:
    await world.publish("too early")
    for number in range(5):
        listener = await world.listener(f"n{number}")
        await world.publish(f"hello {number}", to=(f"n{number}",))
        assert await listener.take_and_ack() == [f"hello {number}"]
        assert await listener.has_nothing()


async def test_who_watches_sees_everything_once_and_takes_nothing(world: World) -> None:
    only_where(world.bus.capabilities.can_watch, "watch")
    bob, cid = [await world.listener(name) for name in ("bob", "cid")]
    await world.publish("before")
    seen: list[Envelope] = []
    watch = await world.bus.watch(world.hive, seen.append)
    await world.bus.publish([world.envelope("both", "bob", "cid"), world.envelope("bob's"), world.envelope("all", *EVERYONE)])
    await world.publish("nobody's", to=("absent",))

    assert sorted(await bob.take_and_ack(4)) == ["all", "before", "bob's", "both"]
    assert sorted(await cid.take_and_ack(2)) == ["all", "both"]
    await until(lambda: has(seen, 4))
    assert sorted(one.message.batch for one in seen if isinstance(one.message, Receipt)) == [
        *("all", "bob's", "both", "nobody's")
    ]
    await watch.close()
    await watch.close()
    await world.publish("after")
    assert await bob.take_and_ack() == ["after"]
    assert len(seen) == 4


async def test_queues_tell_what_lies_on_the_bus(world: World) -> None:
    admin = world.bus
    only_where(isinstance(admin, BusAdmin), "tell what lies on it")
    bob = await world.listener(inflight_max=2, waiting_max=2)
    publishing = asyncio.create_task(world.publish(*map(str, range(3))))
    one, two = await bob.take(2)
    await one.ack()

    async def told() -> bool:
        (state,) = [state for state in await admin.queues(world.hive) if state.name == "bob"]
        numbers = (state.waiting, state.unacknowledged)
        return not state.dead and (None in numbers or sum(n for n in numbers if n is not None) == 2)

    await until(told)
    await two.ack()
    assert await bob.take_and_ack() == ["2"]
    await publishing


async def has(some: Sequence[Envelope], number: int) -> bool:
    assert len(some) <= number, [key for key, same in groupby(sorted(one.id for one in some)) if len(list(same)) > 1]
    return len(some) == number
