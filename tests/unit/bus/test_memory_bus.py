"""What the memory bus has besides the contract: publishers that wait for room, and its traffic counted."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hive_mind.bus import BusSettings, correlation_of, memory, type_of
from hive_mind.bus.address import address_of
from hive_mind.bus.memory import MemoryBus
from hive_mind.errors import BackendThrottled, BackendUnavailable
from hive_mind.model.messages import FactsRequest, Receipt
from tests.contract.bus_builders import envelope, listener, text, texts
from tests.loops import InLoop


@pytest.fixture
def bus() -> InLoop:
    return InLoop(opened)


@asynccontextmanager
async def opened(**options: Any) -> AsyncIterator[MemoryBus]:
    bus = await memory.open(address_of("memory"), BusSettings(**options))
    yield bus
    await bus.close(drain_s=0)


async def test_what_finds_room_is_taken_at_once_and_what_does_not_is_left_to_who_can_wait(bus: MemoryBus) -> None:
    bob = await listener(bus, waiting_max=1)
    assert bus.offer(envelope("1"))
    assert not bus.offer(envelope("2"))
    assert texts(await bob.take(1)) == ["1"]
    assert bus.offer(envelope("3"))
    await bus.close(drain_s=0)
    assert not bus.offer(envelope("4"))


async def test_a_full_queue_makes_its_publishers_wait_and_keeps_their_order(bus: MemoryBus) -> None:
    bob = await listener(bus, waiting_max=2)
    publishers = [asyncio.create_task(bus.publish([envelope(str(n))])) for n in range(6)]
    await asyncio.sleep(0.01)
    assert [task.done() for task in publishers] == [True, True, False, False, False, False]

    assert texts(await bob.take(6)) == [str(n) for n in range(6)]
    await asyncio.gather(*publishers)


async def test_a_queue_that_stays_full_is_an_error_and_holds_up_nobody_else(bus: MemoryBus) -> None:
    await listener(bus, waiting_max=1)
    cid = await listener(bus, "cid")
    await bus.publish([envelope("fills it")])

    with pytest.raises(BackendThrottled, match="bob"):
        await bus.publish([envelope("too much", "bob", "cid")], timeout_s=0.02)
    assert texts(await cid.take()) == ["too much"]
    await bus.publish([envelope("more", "cid")])
    assert texts(await cid.take()) == ["more"]


async def test_what_a_publisher_gave_up_is_not_sent(bus: MemoryBus) -> None:
    bob = await listener(bus, waiting_max=1)
    await bus.publish([envelope("kept")])
    with pytest.raises(BackendThrottled):
        await bus.publish([envelope("too late")], timeout_s=0.01)
    cancelled = asyncio.create_task(bus.publish([envelope("cancelled")]))
    await asyncio.sleep(0)
    cancelled.cancel()
    await asyncio.gather(cancelled, return_exceptions=True)

    assert texts(await bob.take()) == ["kept"]
    assert await bob.has_nothing()


async def test_closing_an_inbox_lets_its_publishers_go_and_closing_the_bus_tells_them(bus: MemoryBus) -> None:
    bob = await listener(bus, waiting_max=1)
    publishing = asyncio.create_task(bus.publish([envelope("a"), envelope("b"), envelope("c")]))
    await asyncio.sleep(0)
    await bob.inbox.close()
    await publishing

    await listener(bus, waiting_max=1)
    publishing = asyncio.create_task(bus.publish([envelope("a"), envelope("b")]))
    await asyncio.sleep(0)
    await bus.close(drain_s=0.01)
    with pytest.raises(BackendUnavailable, match="closed"):
        await publishing


@settings(max_examples=50, deadline=None)
@given(
    senders=st.lists(st.sampled_from("xyz"), max_size=30),
    waiting_max=st.integers(1, 5),
    inflight_max=st.integers(1, 5),
    seed=st.integers(0, 1000),
)
def test_whatever_is_refused_everything_is_delivered_and_first_deliveries_are_in_order(
    senders: list[str], waiting_max: int, inflight_max: int, seed: int
) -> None:
    rng = random.Random(seed)
    sent = {sender: [f"{sender}{n}" for n, s in enumerate(senders) if s == sender] for sender in "xyz"}

    async def publish(bus: MemoryBus, sender: str) -> None:
        for what in sent[sender]:
            await bus.publish([envelope(what, sender=sender)])

    async def scenario() -> None:
        async with opened() as bus:
            bob = await listener(bus, waiting_max=waiting_max, inflight_max=inflight_max, attempts_max=1000)
            publishing = [asyncio.create_task(publish(bus, sender)) for sender in "xyz"]
            first, done = [], []
            while len(done) < len(senders):
                (delivery,) = await bob.take()
                if delivery.attempt == 1:
                    first.append(text(delivery))
                if rng.random() < 0.4:
                    await delivery.nack(delay_s=rng.choice([0, 0.0001]))
                else:
                    done.append(text(delivery))
                    await delivery.ack()
            await asyncio.gather(*publishing)
            assert sorted(done) == sorted(what for some in sent.values() for what in some)
            for sender, some in sent.items():
                assert [what for what in first if what[0] == sender] == some

    asyncio.run(asyncio.wait_for(scenario(), 60))


def test_an_envelope_names_what_its_message_is_and_belongs_to() -> None:
    question = FactsRequest("q7", (), 1000)
    assert (type_of(question), correlation_of(question)) == ("facts?", "q7")
    assert (type_of(Receipt("p")), correlation_of(Receipt("p"))) == ("receipt", "")
