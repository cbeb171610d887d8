"""Every bus: what is acknowledged, refused, forgotten or set aside, and what comes of it."""

import asyncio
import time
from pathlib import Path

from hive_mind.bus import EVERYONE, BusAdmin, Delivery
from hive_mind.bus.codec import encode
from hive_mind.bus.dead_letters import DeadLetterFile
from hive_mind.runtime.keys import KeyFolder
from tests.contract.bus_builders import World, letter_text, needs, only_where, text, texts
from tests.contract.buses.base import BaseHarness
from tests.waiting import until


async def test_what_was_refused_comes_again_before_the_rest_and_says_how_often_or_lets_it_pass_for_a_while(world: World) -> None:
    bob = await world.listener()
    await world.publish("first", "second")
    (first,) = await bob.take()
    await first.nack(reason="busy")

    again, second = await bob.take(2)
    assert [(text(again), again.attempt), (text(second), second.attempt)] == [("first", 2), ("second", 1)]
    assert again.envelope == first.envelope
    await second.ack()
    await world.publish("third")
    await again.nack(delay_s=0.3)
    assert texts(await bob.take(2)) == ["third", "first"]


async def test_what_is_not_acknowledged_in_time_comes_again_but_from_who_says_that_it_takes_longer(world: World) -> None:
    bob = await world.listener(ack_wait_s=0.3)
    await world.publish("forgotten")
    (first,) = await bob.take()

    (again,) = await bob.take()
    assert (text(again), again.attempt) == ("forgotten", 2)
    await first.ack()
    await again.ack()
    assert await bob.has_nothing()

    await world.publish("slow")
    (slow,) = await bob.take()
    slow.extend(30)
    await asyncio.sleep(0.6)
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


async def test_after_its_last_attempt_an_envelope_is_a_dead_letter_and_can_be_handled_again(world: World) -> None:
    bob = await world.listener(attempts_max=3)
    poison = world.envelope("poison 🐝")
    await world.bus.publish([poison])
    for _ in range(3):
        (delivery,) = await bob.take()
        await delivery.nack(reason=f"attempt {delivery.attempt} failed")
    await until(bob.letters.letters)

    (letter,) = bob.letters.letters()
    assert (letter.name, letter.attempts, letter.reason) == ("bob", 3, "attempt 3 failed")
    assert letter.envelope == poison
    assert await bob.has_nothing()
    assert bob.letters.send_again([int(letter.id)]) == 1
    again = await until(lambda: bob.inbox.take(1))
    assert (again[0].envelope.message, again[0].attempt) == (poison.message, 1)
    await again[0].ack()
    assert bob.letters.letters() == []


async def test_a_dead_letter_handled_again_is_what_its_sender_signed_and_comes_to_its_name(tmp_path: Path, world: World) -> None:
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
    kept = await until(lambda: bob.letters.letters() if len(bob.letters.letters()) == 2 else [])

    assert bob.letters.send_again([int(letter.id) for letter in kept]) == 2
    again: list[Delivery] = []
    await until(lambda: again.extend(bob.inbox.take(2)) or len(again) == 2)
    assert {text(one): one.envelope.target for one in again} == {"both": ("bob", "cleo"), "all": EVERYONE}
    now_ms = time.time_ns() // 1_000_000
    assert [signing.refusal(one.envelope, now_ms) for one in again] == ["", ""]
    for one in again:
        await one.ack()
    assert await cleo.has_nothing()


async def test_what_can_not_be_handled_is_put_aside_at_once_and_its_broker_has_it_no_more(world: World) -> None:
    bob = await world.listener()
    await world.publish("not ours", "fine")
    refused, fine = await bob.take(2)
    await refused.dead_letter("not for us")
    await fine.ack()
    await until(bob.letters.letters)

    (letter,) = bob.letters.letters()
    assert (letter.attempts, letter.reason) == (1, "not for us")
    assert world.bus.health.dead_letters == 1
    assert bob.letters.drop([int(letter.id)]) == 1
    await bob.inbox.close()
    assert await (await world.listener()).has_nothing()
    assert not isinstance(world.bus, BusAdmin) or not await world.bus.dead_letters(world.hive)


async def test_of_a_sender_that_is_not_proven_one_message_is_kept_and_all_are_taken_off(world: World) -> None:
    bob = await world.listener()
    await world.publish("first", "second", "third", sender="eve")
    for delivery in await bob.take(3):
        await delivery.dead_letter("unsigned", is_proven=False)
    (letter,) = await until(lambda: [letter for letter in bob.letters.letters() if letter.count == 3])
    assert (letter_text(letter), world.bus.health.dead_letters) == ("first", 0)


async def test_what_is_written_nowhere_is_not_acknowledged(world: World, tmp_path: Path) -> None:
    """As on a full disk. Whoever is next of this name gets it."""
    only_where(world.bus.capabilities.is_durable, "keep what a subscriber leaves")
    (tmp_path / "no folder").write_text("")
    unwritable = DeadLetterFile(tmp_path / "no folder" / "bob.dlq")
    bob = await world.listener(letters=unwritable)
    await world.publish("refused")
    await (await bob.take())[0].dead_letter("no")
    await until(lambda: unwritable.trouble)
    await bob.inbox.close()

    assert await (await world.listener()).take_and_ack() == ["refused"]


async def test_bytes_that_are_no_envelope_are_put_aside_and_the_rest_goes_on(broker: BaseHarness, world: World) -> None:
    needs(broker, "bytes")

    bob = await world.listener()
    for data in (b"", b"\x00", b"\x63 from the future", b"\x01\xc1", encode(world.envelope("cut"))[:-3]):
        world.harness.publish_bytes(world.hive, "bob", data)
    await world.publish("whole")

    assert await bob.take_and_ack() == ["whole"]
    kept = await until(lambda: bob.letters.letters() if len(bob.letters.letters()) == 5 else [])
    assert [letter.envelope for letter in kept] == [None] * 5
    assert all(letter.reason for letter in kept)
    assert [letter.data for letter in kept][1:3] == [b"\x00", b"\x63 from the future"]
    assert "version 99" in kept[2].reason
    numbers = [int(letter.id) for letter in kept]
    assert (bob.letters.send_again(numbers), bob.letters.drop(numbers)) == (0, 5)
