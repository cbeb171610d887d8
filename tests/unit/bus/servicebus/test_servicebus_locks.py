"""Locks of Service Bus: kept while something is in hand, given back when it is not, and lost without harm."""

import asyncio
import time
from collections.abc import Iterator

import pytest

from hive_mind.bus.servicebus.inbox import ServiceBusInbox
from tests.contract.bus_builders import Listener, World, opened, run, text
from tests.contract.buses.servicebus import Harness
from tests.loops import InLoop
from tests.sampled import thorough
from tests.waiting import until

LOCK_S = 3.0


class ShortLocks(Harness):
    """Locks last three seconds, so that a test can outlast them."""

    lock = f"PT{LOCK_S:g}S"


@pytest.fixture(scope="module")
def broker() -> Iterator[ShortLocks]:
    harness = ShortLocks()
    harness.start()
    yield harness
    harness.stop()


@pytest.fixture
def world(broker: ShortLocks) -> Iterator[InLoop]:
    yield InLoop(lambda: opened(broker))
    broker.reset()


def inbox_of(listener: Listener) -> ServiceBusInbox:
    assert isinstance(listener.inbox, ServiceBusInbox)
    return listener.inbox


def deliveries(broker: Harness) -> int:
    return broker.figures().get("messages_out", 0)


@pytest.mark.slow
async def test_what_was_read_over_a_broken_connection_is_renewed_and_settled_elsewhere(broker: ShortLocks, world: World) -> None:
    bob = await world.listener()
    await world.publish("in hand", "bad")
    held, bad = await bob.take(2)
    broker.drop_connections()
    await asyncio.sleep(LOCK_S * 1.75)
    before = deliveries(broker)

    await held.ack()
    await bad.dead_letter("no good")
    assert await bob.has_nothing()
    assert [letter.reason for letter in bob.letters.letters()] == ["no good"]
    await asyncio.sleep(LOCK_S * 1.5)
    assert deliveries(broker) == before


async def test_a_lock_that_was_lost_takes_nothing_out_of_anybodys_hand(broker: ShortLocks, world: World) -> None:
    bob = await world.listener()
    await world.publish("in hand")
    (delivery,) = await bob.take()
    before = deliveries(broker)
    renewing = inbox_of(bob)._renewing
    assert renewing is not None
    renewing.cancel()
    await until(lambda: deliveries(broker) > before)

    # It is the same message under another lock: nobody else sees it, and it is not taken off before it is acknowledged.
    assert await bob.has_nothing()
    assert world.bus.health.duplicates == 0
    await delivery.nack()
    assert await bob.take_and_ack() == ["in hand"]


async def test_closing_gives_back_at_once_and_counts_only_what_was_in_hand(world: World) -> None:
    bob = await world.listener()
    await world.publish("in hand", "unseen", "unseen too")
    await bob.take()
    await until(lambda: held_at_least(bob, 3))
    await bob.inbox.close()

    again = await (await world.listener()).take(3)
    assert [(text(delivery), delivery.attempt) for delivery in again] == [("in hand", 2), ("unseen", 1), ("unseen too", 1)]


async def test_a_full_mailbox_stops_the_reader_and_keeps_the_order(world: World) -> None:
    bob = await world.listener(waiting_max=5, inflight_max=4)
    await world.publish(*(str(n) for n in range(100)))
    await until(lambda: held_at_least(bob, 5))
    await asyncio.sleep(LOCK_S * 1.75)

    # Five, and what the reader had asked for before it knew.
    assert len(inbox_of(bob).mailbox.held) <= 5 + 4
    assert await bob.take_and_ack(100) == [str(n) for n in range(100)]
    assert world.bus.health.duplicates == 0


@pytest.mark.slow
@pytest.mark.parametrize("minutes", [thorough(-30), 30])
def test_a_broker_whose_clock_is_wrong_does_no_harm(minutes: int) -> None:
    harness = ShortLocks(clock=lambda: time.time() + minutes * 60)

    async def scenario(world: World) -> None:
        bob = await world.listener(inflight_max=1)
        await world.publish("in hand", "waiting")
        (first,) = await bob.take()
        before = deliveries(harness)
        await asyncio.sleep(LOCK_S * 1.25)

        await first.ack()
        assert await bob.take_and_ack() == ["waiting"]
        assert await bob.has_nothing()
        await asyncio.sleep(LOCK_S * 1.25)
        assert deliveries(harness) == before

    harness.start()
    run(scenario, harness)
    harness.stop()


def held_at_least(bob: Listener, number: int) -> bool:
    return len(inbox_of(bob).mailbox.held) >= number
