"""What every file of `hive_mind/bus/` must do. A new back end is judged here the moment it exists."""

import asyncio
import random
import threading
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hive_mind import backends
from hive_mind.bus.base import EventBus
from hive_mind.errors import BackendThrottled, BackendUnavailable, InvalidInput
from tests.contract.bus_builders import Listener, Scenario, envelope, listener, run, text, texts

Run = Callable[[Scenario], None]


@pytest.fixture(params=backends.known("bus"))
def with_bus(request: pytest.FixtureRequest) -> Run:
    return lambda scenario: run(scenario, request.param)


def test_what_is_published_arrives_once_as_it_was(with_bus: Run) -> None:
    sent = envelope("naïve 日本 \0 🐝")

    async def scenario(bus: EventBus) -> None:
        bob = await listener(bus)
        await bus.publish([sent])

        (delivery,) = await bob.take()
        assert delivery.envelope == sent
        assert delivery.attempt == 1
        await delivery.ack()
        assert await bob.has_nothing()

    with_bus(scenario)


def test_envelopes_of_one_sender_come_in_their_order(with_bus: Run) -> None:
    async def scenario(bus: EventBus) -> None:
        bob = await listener(bus)
        await bus.publish([envelope(str(n)) for n in range(50)])
        for n in range(50, 60):
            await bus.publish([envelope(str(n))])

        assert texts(await bob.take(60)) == [str(n) for n in range(60)]

    with_bus(scenario)


def test_each_target_gets_it_and_nobody_else(with_bus: Run) -> None:
    async def scenario(bus: EventBus) -> None:
        bob, cid, dan = [await listener(bus, name) for name in ("bob", "cid", "dan")]
        await bus.publish([envelope("both", "bob", "cid"), envelope("dan's", "dan")])

        assert texts(await bob.take()) == ["both"]
        assert texts(await cid.take()) == ["both"]
        assert texts(await dan.take()) == ["dan's"]
        assert await bob.has_nothing()

    with_bus(scenario)


def test_a_name_that_nobody_has_is_no_error(with_bus: Run) -> None:
    async def scenario(bus: EventBus) -> None:
        bob = await listener(bus)
        await bus.publish([envelope("x", "absent"), envelope("y", "absent", "bob")])

        assert texts(await bob.take()) == ["y"]

    with_bus(scenario)


def test_two_hives_on_one_bus_do_not_see_each_other(with_bus: Run) -> None:
    async def scenario(bus: EventBus) -> None:
        here, there = await listener(bus, hive="here"), await listener(bus, hive="there")
        await bus.publish([envelope("ours", hive="here"), envelope("theirs", hive="there")])

        assert texts(await here.take()) == ["ours"]
        assert texts(await there.take()) == ["theirs"]
        assert await here.has_nothing()

    with_bus(scenario)


def test_a_name_is_taken_until_its_inbox_is_closed(with_bus: Run) -> None:
    async def scenario(bus: EventBus) -> None:
        bob = await listener(bus)
        with pytest.raises(InvalidInput, match="'bob' is taken"):
            await listener(bus)
        await bob.inbox.close()
        await bob.inbox.close()

        again = await listener(bus)
        await bus.publish([envelope("to the second")])
        assert texts(await again.take()) == ["to the second"]
        assert list(bob.inbox.take(1)) == []

    with_bus(scenario)


def test_what_was_refused_comes_again_before_the_rest_and_says_how_often(with_bus: Run) -> None:
    async def scenario(bus: EventBus) -> None:
        bob = await listener(bus)
        await bus.publish([envelope("first"), envelope("second")])
        (first,) = await bob.take()
        await first.nack(reason="busy")

        again, second = await bob.take(2)
        assert [(text(again), again.attempt), (text(second), second.attempt)] == [("first", 2), ("second", 1)]
        assert again.envelope == first.envelope

    with_bus(scenario)


def test_what_was_refused_for_a_while_lets_the_rest_pass(with_bus: Run) -> None:
    async def scenario(bus: EventBus) -> None:
        bob = await listener(bus)
        await bus.publish([envelope("first"), envelope("second")])
        (first,) = await bob.take()
        await first.nack(delay_s=0.02)

        assert texts(await bob.take(2)) == ["second", "first"]

    with_bus(scenario)


def test_settling_a_delivery_again_changes_nothing(with_bus: Run) -> None:
    async def scenario(bus: EventBus) -> None:
        bob = await listener(bus, inflight_max=1)
        await bus.publish([envelope("first"), envelope("second"), envelope("third")])
        (first,) = await bob.take()
        await first.ack()
        await first.ack()
        await first.nack()
        await first.dead_letter("no")

        (second,) = await bob.take()
        assert text(second) == "second"
        # Had the first counted twice, there would be room for the third.
        assert await bob.has_nothing()

    with_bus(scenario)


def test_no_more_is_handed_out_than_may_be_unacknowledged(with_bus: Run) -> None:
    async def scenario(bus: EventBus) -> None:
        bob = await listener(bus, inflight_max=3)
        await bus.publish([envelope(str(n)) for n in range(5)])
        taken = await bob.take(3)
        assert await bob.has_nothing()

        waiting = asyncio.create_task(bob.take(2))
        await asyncio.sleep(0)
        await taken[1].ack()
        await taken[0].ack()
        assert texts(await waiting) == ["3", "4"]

    with_bus(scenario)


def test_a_full_queue_makes_its_publishers_wait_and_keeps_their_order(with_bus: Run) -> None:
    async def scenario(bus: EventBus) -> None:
        bob = await listener(bus, waiting_max=2)
        publishers = [asyncio.create_task(bus.publish([envelope(str(n))])) for n in range(6)]
        await asyncio.sleep(0.01)
        assert [task.done() for task in publishers] == [True, True, False, False, False, False]

        assert texts(await bob.take(6)) == [str(n) for n in range(6)]
        await asyncio.gather(*publishers)

    with_bus(scenario)


def test_a_queue_that_stays_full_is_an_error_and_holds_up_nobody_else(with_bus: Run) -> None:
    async def scenario(bus: EventBus) -> None:
        await listener(bus, waiting_max=1)
        cid = await listener(bus, "cid")
        await bus.publish([envelope("fills it")])

        with pytest.raises(BackendThrottled, match="bob"):
            await bus.publish([envelope("too much", "bob", "cid")], timeout_s=0.02)
        assert texts(await cid.take()) == ["too much"]
        await bus.publish([envelope("more", "cid")])
        assert texts(await cid.take()) == ["more"]

    with_bus(scenario)


def test_what_a_publisher_gave_up_is_not_sent(with_bus: Run) -> None:
    async def scenario(bus: EventBus) -> None:
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

    with_bus(scenario)


def test_closing_an_inbox_lets_its_publishers_go(with_bus: Run) -> None:
    async def scenario(bus: EventBus) -> None:
        bob = await listener(bus, waiting_max=1)
        publishing = asyncio.create_task(bus.publish([envelope("a"), envelope("b"), envelope("c")]))
        await asyncio.sleep(0)
        await bob.inbox.close()

        await publishing

    with_bus(scenario)


def test_requests_and_replies_find_each_other_among_two_hundred(with_bus: Run) -> None:
    async def answer_all(bus: EventBus, server: Listener) -> None:
        for _ in range(200):
            (request,) = await server.take()
            await bus.publish([envelope(text(request), request.envelope.sender, sender="server")])
            await request.ack()

    async def ask(bus: EventBus, number: int) -> str:
        client = await listener(bus, f"client{number}")
        await bus.publish([envelope(f"question {number}", "server", sender=f"client{number}")])
        return texts(await client.take())[0]

    async def scenario(bus: EventBus) -> None:
        answering = asyncio.create_task(answer_all(bus, await listener(bus, "server")))
        numbers = random.Random(1).sample(range(200), 200)

        assert await asyncio.gather(*(ask(bus, n) for n in numbers)) == [f"question {n}" for n in numbers]
        await answering

    with_bus(scenario)


def test_closing_waits_for_what_is_not_acknowledged_and_refuses_the_rest(with_bus: Run) -> None:
    async def scenario(bus: EventBus) -> None:
        bob = await listener(bus)
        await bus.publish([envelope("one"), envelope("two")])
        (one,) = await bob.take()

        closing = asyncio.create_task(bus.close())
        await asyncio.sleep(0)
        with pytest.raises(BackendUnavailable, match="closed"):
            await bus.publish([envelope("late")])
        with pytest.raises(BackendUnavailable, match="closed"):
            await listener(bus, "late")
        (two,) = await bob.take()
        await one.ack()
        assert not closing.done()
        await two.ack()
        await closing
        await bus.close()

    with_bus(scenario)


def test_closing_ends_after_its_drain_time_and_tells_publishers_that_wait(with_bus: Run) -> None:
    async def scenario(bus: EventBus) -> None:
        await listener(bus, waiting_max=1)
        publishing = asyncio.create_task(bus.publish([envelope("a"), envelope("b")]))
        await asyncio.sleep(0)
        await bus.close(drain_s=0.01)

        with pytest.raises(BackendUnavailable, match="closed"):
            await publishing

    with_bus(scenario)


@pytest.mark.parametrize("back_end", backends.known("bus"))
def test_fifty_lives_leave_no_thread_behind(back_end: str) -> None:
    before = threading.active_count()

    async def scenario(bus: EventBus) -> None:
        bob = await listener(bus)
        await bus.publish([envelope("hello")])
        await (await bob.take())[0].nack(delay_s=60)

    for _ in range(50):
        run(scenario, back_end)

    assert threading.active_count() == before


@pytest.mark.parametrize("back_end", backends.known("bus"))
@settings(max_examples=50, deadline=None)
@given(
    senders=st.lists(st.sampled_from("xyz"), max_size=30),
    waiting_max=st.integers(1, 5),
    inflight_max=st.integers(1, 5),
    seed=st.integers(0, 1000),
)
def test_whatever_is_refused_everything_is_delivered_and_first_deliveries_are_in_order(
    back_end: str, senders: list[str], waiting_max: int, inflight_max: int, seed: int
) -> None:
    rng = random.Random(seed)
    sent = {sender: [f"{sender}{n}" for n, s in enumerate(senders) if s == sender] for sender in "xyz"}

    async def publish(bus: EventBus, sender: str) -> None:
        for what in sent[sender]:
            await bus.publish([envelope(what, sender=sender)])

    async def scenario(bus: EventBus) -> None:
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

    run(scenario, back_end)
