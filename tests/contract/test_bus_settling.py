"""Every bus: what is acknowledged, refused, forgotten or set aside, and what comes of it."""

import asyncio
import time
from pathlib import Path

from hive_mind.bus.base import EVERYONE
from hive_mind.bus.codec import encode
from hive_mind.runtime.secrets.keys import KeyFolder
from tests.contract.bus_builders import World, needs, text, texts
from tests.contract.buses.base import BaseHarness
from tests.waiting import until


async def test_what_was_refused_comes_again_before_the_rest_and_says_how_often(world: World) -> None:
    bob = await world.listener()
    await world.publish("first", "second")
    (first,) = await bob.take()
    await first.nack(reason="busy")

    again, second = await bob.take(2)
    assert [(text(again), again.attempt), (text(second), second.attempt)] == [("first", 2), ("second", 1)]
    assert again.envelope == first.envelope


async def test_what_was_refused_for_a_while_lets_the_rest_pass(world: World) -> None:
    bob = await world.listener()
    await world.publish("first", "second")
    (first,) = await bob.take()
    await first.nack(delay_s=0.3)
    assert texts(await bob.take(2)) == ["second", "first"]


async def test_what_is_not_acknowledged_in_time_comes_again(world: World) -> None:
    bob = await world.listener(ack_wait_s=0.3)
    await world.publish("forgotten")
    (first,) = await bob.take()

    (again,) = await bob.take()
    assert (text(again), again.attempt) == ("forgotten", 2)
    await first.ack()
    await again.ack()
    assert await bob.has_nothing()


async def test_who_says_that_it_takes_longer_is_given_the_time(world: World) -> None:
    bob = await world.listener(ack_wait_s=0.2)
    await world.publish("slow")
    (slow,) = await bob.take()
    slow.extend(30)
    await asyncio.sleep(0.5)

    assert list(bob.inbox.take(1)) == []
    await slow.ack()


async def test_settling_a_delivery_again_changes_nothing(world: World) -> None:
    bob = await world.listener(inflight_max=1)
    await world.publish("first", "second", "third")
    (first,) = await bob.take()
    await first.ack()
    await first.ack()
    await first.nack()
    await first.dead_letter("no")

    (second,) = await bob.take()
    assert text(second) == "second"
    # Had the first counted twice, there would be room for the third.
    assert await bob.has_nothing()


async def test_no_more_is_handed_out_than_may_be_unacknowledged(world: World) -> None:
    bob = await world.listener(inflight_max=3)
    await world.publish(*map(str, range(5)))
    taken = await bob.take(3)
    assert await bob.has_nothing()

    waiting = asyncio.create_task(bob.take(2))
    await asyncio.sleep(0)
    await taken[1].ack()
    await taken[0].ack()
    assert texts(await waiting) == ["3", "4"]


async def test_after_its_last_attempt_an_envelope_is_a_dead_letter_and_can_be_sent_again(world: World) -> None:
    bob = await world.listener(attempts_max=3)
    poison = world.envelope("poison 🐝")
    await world.bus.publish([poison])
    for _ in range(3):
        (delivery,) = await bob.take()
        await delivery.nack(reason=f"attempt {delivery.attempt} failed")
    await until(lambda: one_letter(world))

    (letter,) = await world.bus.dead_letters(world.hive)
    assert (letter.name, letter.attempts, letter.reason) == ("bob", 3, "attempt 3 failed")
    assert letter.envelope == poison
    assert await bob.has_nothing()
    assert await world.bus.replay(world.hive, [letter.id, "no such letter"]) == 1
    (again,) = await bob.take()
    assert (again.envelope.message, again.attempt) == (poison.message, 1)
    await again.ack()
    assert await world.bus.dead_letters(world.hive) == []


async def test_a_dead_letter_that_is_sent_again_is_what_its_sender_signed_and_comes_to_its_name_alone(
    tmp_path: Path, world: World
) -> None:
    keys = KeyFolder(tmp_path, "hive")
    keys.found()
    keys.issue("ann")
    signing = keys.signing("ann", "require")

    bob, cleo = await world.listener(), await world.listener("cleo")
    sent = [signing.signed(world.envelope(text, *to)) for text, to in (("both", ("bob", "cleo")), ("all", EVERYONE))]
    await world.bus.publish(sent)
    for delivery in await bob.take(2):
        await delivery.dead_letter("not now")
    assert await cleo.take_and_ack(2) == ["both", "all"]
    await until(lambda: letters(world, 2))

    kept = await world.bus.dead_letters(world.hive)
    assert await world.bus.replay(world.hive, [letter.id for letter in kept]) == 2
    again = await bob.take(2)
    assert {text(one): one.envelope.target for one in again} == {"both": ("bob", "cleo"), "all": EVERYONE}
    now_ms = time.time_ns() // 1_000_000
    assert [signing.refusal(one.envelope, now_ms) for one in again] == ["", ""]
    for one in again:
        await one.ack()
    assert await cleo.has_nothing()


async def test_what_can_not_be_handled_is_put_aside_at_once_and_can_be_forgotten(world: World) -> None:
    bob = await world.listener()
    await world.publish("not ours", "fine")
    refused, fine = await bob.take(2)
    await refused.dead_letter("not for us")
    await fine.ack()
    await until(lambda: one_letter(world))

    (letter,) = await world.bus.dead_letters(world.hive)
    assert (letter.attempts, letter.reason) == (1, "not for us")
    assert world.bus.health.dead_letters == 1
    assert await world.bus.drop(world.hive, [letter.id]) == 1
    assert await world.bus.drop(world.hive, [letter.id]) == 0
    assert await world.bus.replay(world.hive, [letter.id]) == 0
    assert await world.bus.dead_letters(world.hive) == []
    assert await bob.has_nothing()


async def test_bytes_that_are_no_envelope_are_put_aside_and_the_rest_goes_on(broker: BaseHarness, world: World) -> None:
    needs(broker, "bytes")

    bob = await world.listener()
    for data in (b"", b"\x00", b"\x63 from the future", b"\x01\xc1", encode(world.envelope("cut"))[:-3]):
        world.harness.publish_bytes(world.hive, "bob", data)
    await world.publish("whole")

    assert await bob.take_and_ack() == ["whole"]
    await until(lambda: letters(world, 5))
    kept = await world.bus.dead_letters(world.hive)
    assert [letter.envelope for letter in kept] == [None] * 5
    assert all(letter.reason for letter in kept)
    assert [letter.data for letter in kept][1:3] == [b"\x00", b"\x63 from the future"]
    assert "version 99" in kept[2].reason
    assert await world.bus.replay(world.hive, [letter.id for letter in kept]) == 0
    assert await world.bus.drop(world.hive, [letter.id for letter in kept]) == 5


async def letters(world: World, number: int) -> bool:
    return len(await world.bus.dead_letters(world.hive)) == number


async def one_letter(world: World) -> bool:
    return await letters(world, 1)
