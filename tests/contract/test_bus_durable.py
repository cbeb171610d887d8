"""Every bus that outlives its members: who was away, or fell, finds what was sent meanwhile, and nothing twice."""

from hive_mind.bus import EVERYONE, BusCapabilities
from tests.contract.bus_builders import World, only_where, texts


def only_durable(capabilities: BusCapabilities) -> None:
    only_where(capabilities.is_durable, "is_durable")


async def test_who_was_away_gets_what_was_sent_meanwhile(world: World) -> None:
    only_durable(world.bus.capabilities)
    bob = await world.listener()
    await world.publish("before")
    assert await bob.take_and_ack() == ["before"]
    await bob.inbox.close()
    await world.publish("while away", "and more")
    await world.publish("for all", to=EVERYONE)

    again = await world.listener(bus=await world.open())
    assert sorted(await again.take_and_ack(3)) == ["and more", "for all", "while away"]
    assert await again.has_nothing()


async def test_what_was_taken_and_not_acknowledged_is_there_for_the_next_of_the_name(world: World) -> None:
    only_durable(world.bus.capabilities)
    first_bus = await world.open()
    bob = await world.listener(bus=first_bus)
    await world.publish("done", "in hand", "waiting")
    done, in_hand = await bob.take(2)
    await done.ack()
    await first_bus.close(drain_s=0)
    await in_hand.ack()

    again = await world.listener()
    taken = await again.take(2)
    assert texts(taken) == ["in hand", "waiting"]
    assert taken[1].attempt == 1
    for delivery in taken:
        await delivery.ack()
    assert await again.has_nothing()


async def test_what_was_acknowledged_just_before_the_end_does_not_come_again(world: World) -> None:
    only_durable(world.bus.capabilities)
    bob = await world.listener()
    await world.publish("one", "two", "three")
    one, two, three = await bob.take(3)
    await one.ack()
    await two.dead_letter("not ours")
    await three.ack()
    await bob.inbox.close()
    again = await world.listener()
    assert await again.has_nothing()

    await world.publish("four")
    assert await again.take_and_ack() == ["four"]
    await world.bus.close()
    assert await (await world.listener(bus=await world.open())).has_nothing()


async def test_who_begins_with_the_earliest_gets_what_is_kept(world: World) -> None:
    only_durable(world.bus.capabilities)
    world.harness.provide(world.hive, "late")
    await world.publish("early", to=("late",))
    late = await world.listener("late", start="earliest")
    await world.publish("later", to=("late",))

    assert await late.take_and_ack(2) == ["early", "later"]
