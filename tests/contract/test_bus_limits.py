"""Every bus: large envelopes, slow subscribers, publishers that give up, and many at a time."""

import asyncio

import pytest

from hive_mind.bus.codec import encode_message
from hive_mind.errors import MessageTooLarge
from tests.contract.bus_builders import World, only_where


async def test_an_envelope_that_is_too_large_is_refused_before_anything_is_sent(world: World) -> None:
    bus = await world.open(envelope_bytes_max=5000)
    only_where(bus.capabilities.envelope_bytes_max is not None, "a bound for envelopes")
    bob = await world.listener(bus=bus)
    with pytest.raises(MessageTooLarge, match="5000") as raised:
        await bus.publish([world.envelope("fits"), world.envelope("x" * 6000)])
    assert raised.value.size_bytes > 6000
    assert raised.value.bytes_max == 5000
    await bus.publish([world.envelope("x" * 4000)])

    assert await bob.take_and_ack() == ["x" * 4000]


async def test_a_large_envelope_arrives_where_it_is_allowed(world: World) -> None:
    size = min(world.bus.capabilities.envelope_bytes_max or (1 << 20), 4 << 20) - 4096
    bob = await world.listener()
    sent = world.envelope("ü" * (size // 2))
    await world.bus.publish([sent])

    (delivery,) = await bob.take()
    assert encode_message(delivery.envelope.message) == encode_message(sent.message)
    await delivery.ack()


async def test_a_slow_subscriber_loses_nothing_and_holds_up_nobody_else(world: World) -> None:
    slow = await world.listener("slow", waiting_max=5, inflight_max=2)
    cid = await world.listener("cid")
    said = [str(n) for n in range(300)]
    publishing = asyncio.create_task(world.publish(*said, to=("slow",)))
    await world.publish("quick", to=("cid",))

    assert await cid.take_and_ack() == ["quick"]
    assert await slow.take_and_ack(300) == said
    await publishing


async def test_a_publisher_that_is_cancelled_leaves_each_envelope_whole_or_unsent(world: World) -> None:
    bob = await world.listener()
    for turns in range(8):
        publishing = asyncio.create_task(world.publish(f"{turns} one", f"{turns} two"))
        for _ in range(turns):
            await asyncio.sleep(0)
        publishing.cancel()
        await asyncio.gather(publishing, return_exceptions=True)
    await world.publish("end")

    said: list[str] = []
    while "end" not in said:
        said += await bob.take_and_ack()
    assert said == [*sorted(set(said[:-1])), "end"]
