"""What every file of `hive_mind/bus/` must do. A new back end is judged here the moment it exists."""

import asyncio
import time
from collections.abc import Callable, Sequence
from itertools import groupby

import msgspec
import numpy as np
import psutil
import pytest

from hive_mind.bus.base import EVERYONE, BusCapabilities, Envelope
from hive_mind.bus.codec import encode
from hive_mind.errors import BackendUnavailable, ConfigError, InvalidInput, MessageTooLarge
from hive_mind.model.messages import FactsReply, PoolReply, PoolRequest, Receipt, Replicate
from hive_mind.model.probe import Anchors, EvidenceColumns, Pool, Probe
from hive_mind.model.wire import encode as encode_message
from tests.contract.bus_builders import Scenario, World, eventually, needs, text, texts
from tests.contract.buses.base import BaseHarness

Run = Callable[[Scenario], None]


def only_where(can: bool, what: str) -> None:
    if not can:
        pytest.skip(f"this bus can't: {what}")


def only_durable(capabilities: BusCapabilities) -> None:
    only_where(capabilities.is_durable, "is_durable")


# ── what arrives ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_published_arrives_once_as_it_was(with_bus: Run) -> None:
    numbers = np.linspace(-1, 1, 384, dtype=np.float32)
    messages = (
        Receipt("naïve 日本 \0 🐝 \U0010ffff"),
        Receipt(""),
        PoolRequest("q", "set", 1, Probe(("a",), Anchors(), numbers), 100),
        PoolReply("q", "set", Pool(("f",), numbers[:1], np.array([np.nan], np.float32), numbers[:1]), EvidenceColumns()),
        FactsReply("q", ()),
        Replicate("p", ()),
    )

    async def scenario(world: World) -> None:
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

    with_bus(scenario)


def test_envelopes_of_one_sender_come_in_their_order(with_bus: Run) -> None:
    async def scenario(world: World) -> None:
        bob = await world.listener()
        await world.publish(*map(str, range(50)))
        for n in range(50, 60):
            await world.publish(str(n))

        assert texts(await bob.take(60)) == [str(n) for n in range(60)]

    with_bus(scenario)


def test_each_target_gets_it_and_nobody_else(with_bus: Run) -> None:
    async def scenario(world: World) -> None:
        bob, cid, dan = [await world.listener(name) for name in ("bob", "cid", "dan")]
        await world.bus.publish([world.envelope("both", "bob", "cid"), world.envelope("dan's", "dan")])

        assert await bob.take_and_ack() == ["both"]
        assert await cid.take_and_ack() == ["both"]
        assert await dan.take_and_ack() == ["dan's"]
        assert await bob.has_nothing()

    with_bus(scenario)


def test_what_is_for_everyone_reaches_each_but_its_sender(with_bus: Run) -> None:
    async def scenario(world: World) -> None:
        ann, bob, cid = [await world.listener(name) for name in ("ann", "bob", "cid")]
        await world.publish("to all", to=EVERYONE)
        await world.publish("to ann", to=("ann",))

        assert await bob.take_and_ack() == ["to all"]
        assert await cid.take_and_ack() == ["to all"]
        assert await ann.take_and_ack() == ["to ann"]
        assert await ann.has_nothing()

    with_bus(scenario)


def test_a_name_that_nobody_has_is_no_error(with_bus: Run) -> None:
    async def scenario(world: World) -> None:
        bob = await world.listener()
        await world.bus.publish([world.envelope("x", "absent"), world.envelope("y", "absent", "bob")])

        assert texts(await bob.take()) == ["y"]

    with_bus(scenario)


def test_only_types_that_were_asked_for_are_seen(with_bus: Run) -> None:
    async def scenario(world: World) -> None:
        bob = await world.listener(types=frozenset({"receipt"}))
        await world.bus.publish([world.envelope(Replicate("p", ())), world.envelope("wanted")])

        assert await bob.take_and_ack() == ["wanted"]
        assert await bob.has_nothing()

    with_bus(scenario)


def test_two_hives_on_one_broker_do_not_see_each_other(with_bus: Run) -> None:
    async def scenario(world: World) -> None:
        elsewhere = world.harness.new_hive()
        only_where(elsewhere != world.hive, "another hive here")
        here, there = await world.listener(), await world.listener(hive=elsewhere)
        await world.publish("ours")
        await world.publish("theirs", hive=elsewhere)
        await world.publish("all of ours", to=EVERYONE)

        assert sorted(await here.take_and_ack(2)) == ["all of ours", "ours"]
        assert await there.take_and_ack() == ["theirs"]
        assert await there.has_nothing()

    with_bus(scenario)


def test_the_same_envelope_published_twice_is_seen_once(with_bus: Run) -> None:
    async def scenario(world: World) -> None:
        bob = await world.listener()
        twice, other = world.envelope("twice"), world.envelope("other")
        await world.bus.publish([twice])
        assert await bob.take_and_ack() == ["twice"]
        await world.bus.publish([twice, other])

        assert await bob.take_and_ack() == ["other"]
        assert await bob.has_nothing()

    with_bus(scenario)


def test_clocks_that_go_wrong_change_nothing(with_bus: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(world: World) -> None:
        bob = await world.listener()
        true = time.time
        for hours in (-30, 30):
            with monkeypatch.context() as patched:
                # Where somebody signs with the time, minutes are tolerated and days are not.
                patched.setattr(time, "time", lambda hours=hours: true() + hours)
                sent = msgspec.structs.replace(world.envelope(f"{hours}"), sent_ms=max(0, int((true() + hours * 3600) * 1000)))
                await world.bus.publish([sent])
                assert await bob.take_and_ack() == [f"{hours}"]

    with_bus(scenario)


# ── names ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_name_is_taken_until_its_inbox_is_closed(with_bus: Run) -> None:
    async def scenario(world: World) -> None:
        bob = await world.listener()
        with pytest.raises(InvalidInput, match="'bob' is taken"):
            await world.listener()
        await bob.inbox.close()
        await bob.inbox.close()

        again = await world.listener()
        await world.publish("to the second")
        assert texts(await again.take()) == ["to the second"]
        assert list(bob.inbox.take(1)) == []

    with_bus(scenario)


def test_subscriptions_of_one_name_share_the_work_where_they_can(with_bus: Run) -> None:
    async def scenario(world: World) -> None:
        if not world.bus.capabilities.can_share:
            with pytest.raises(ConfigError):
                await world.listener(is_shared=True)
            return
        one = await world.listener(is_shared=True, inflight_max=10, waiting_max=10)
        other = await world.listener(is_shared=True, inflight_max=10, waiting_max=10)
        said = [str(n) for n in range(40)]
        publishing = asyncio.create_task(world.publish(*said))

        taken: list[str] = []
        shares: set[int] = set()
        while len(taken) < len(said):
            for number, worker in enumerate((one, other)):
                for delivery in worker.inbox.take(5):
                    taken.append(text(delivery))
                    shares.add(number)
                    await delivery.ack()
            await asyncio.sleep(0.001)
        assert sorted(taken) == sorted(said)
        assert shares == {0, 1}
        await publishing

    with_bus(scenario)


def test_when_subscribing_returns_nothing_that_is_published_after_it_is_missed(with_bus: Run) -> None:
    async def scenario(world: World) -> None:
        await world.publish("too early")
        for number in range(5):
            listener = await world.listener(f"n{number}")
            await world.publish(f"hello {number}", to=(f"n{number}",))
            assert await listener.take_and_ack() == [f"hello {number}"]
            assert await listener.has_nothing()

    with_bus(scenario)


# ── settling ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_was_refused_comes_again_before_the_rest_and_says_how_often(with_bus: Run) -> None:
    async def scenario(world: World) -> None:
        bob = await world.listener()
        await world.publish("first", "second")
        (first,) = await bob.take()
        await first.nack(reason="busy")

        again, second = await bob.take(2)
        assert [(text(again), again.attempt), (text(second), second.attempt)] == [("first", 2), ("second", 1)]
        assert again.envelope == first.envelope

    with_bus(scenario)


def test_what_was_refused_for_a_while_lets_the_rest_pass(with_bus: Run) -> None:
    async def scenario(world: World) -> None:
        bob = await world.listener()
        await world.publish("first", "second")
        (first,) = await bob.take()
        await first.nack(delay_s=0.3)

        assert texts(await bob.take(2)) == ["second", "first"]

    with_bus(scenario)


def test_what_is_not_acknowledged_in_time_comes_again(with_bus: Run) -> None:
    async def scenario(world: World) -> None:
        bob = await world.listener(ack_wait_s=0.3)
        await world.publish("forgotten")
        (first,) = await bob.take()

        (again,) = await bob.take()
        assert (text(again), again.attempt) == ("forgotten", 2)
        await first.ack()
        await again.ack()
        assert await bob.has_nothing()

    with_bus(scenario)


def test_who_says_that_it_takes_longer_is_given_the_time(with_bus: Run) -> None:
    async def scenario(world: World) -> None:
        bob = await world.listener(ack_wait_s=0.2)
        await world.publish("slow")
        (slow,) = await bob.take()
        slow.extend(30)
        await asyncio.sleep(0.5)

        assert list(bob.inbox.take(1)) == []
        await slow.ack()

    with_bus(scenario)


def test_settling_a_delivery_again_changes_nothing(with_bus: Run) -> None:
    async def scenario(world: World) -> None:
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

    with_bus(scenario)


def test_no_more_is_handed_out_than_may_be_unacknowledged(with_bus: Run) -> None:
    async def scenario(world: World) -> None:
        bob = await world.listener(inflight_max=3)
        await world.publish(*map(str, range(5)))
        taken = await bob.take(3)
        assert await bob.has_nothing()

        waiting = asyncio.create_task(bob.take(2))
        await asyncio.sleep(0)
        await taken[1].ack()
        await taken[0].ack()
        assert texts(await waiting) == ["3", "4"]

    with_bus(scenario)


def test_after_its_last_attempt_an_envelope_is_a_dead_letter_and_can_be_sent_again(with_bus: Run) -> None:
    async def scenario(world: World) -> None:
        bob = await world.listener(attempts_max=3)
        poison = world.envelope("poison 🐝")
        await world.bus.publish([poison])
        for _ in range(3):
            (delivery,) = await bob.take()
            await delivery.nack(reason=f"attempt {delivery.attempt} failed")
        await eventually(lambda: one_letter(world))

        (letter,) = await world.bus.dead_letters(world.hive)
        assert (letter.name, letter.attempts, letter.reason) == ("bob", 3, "attempt 3 failed")
        assert letter.envelope == poison
        assert await bob.has_nothing()
        assert await world.bus.replay(world.hive, [letter.id, "no such letter"]) == 1
        (again,) = await bob.take()
        assert (again.envelope.message, again.attempt) == (poison.message, 1)
        await again.ack()
        assert await world.bus.dead_letters(world.hive) == []

    with_bus(scenario)


def test_what_can_not_be_handled_is_put_aside_at_once_and_can_be_forgotten(with_bus: Run) -> None:
    async def scenario(world: World) -> None:
        bob = await world.listener()
        await world.publish("not ours", "fine")
        refused, fine = await bob.take(2)
        await refused.dead_letter("not for us")
        await fine.ack()
        await eventually(lambda: one_letter(world))

        (letter,) = await world.bus.dead_letters(world.hive)
        assert (letter.attempts, letter.reason) == (1, "not for us")
        assert world.bus.health.dead_letters == 1
        assert await world.bus.drop(world.hive, [letter.id]) == 1
        assert await world.bus.drop(world.hive, [letter.id]) == 0
        assert await world.bus.replay(world.hive, [letter.id]) == 0
        assert await world.bus.dead_letters(world.hive) == []
        assert await bob.has_nothing()

    with_bus(scenario)


def test_bytes_that_are_no_envelope_are_put_aside_and_the_rest_goes_on(broker: BaseHarness, with_bus: Run) -> None:
    needs(broker, "bytes")

    async def scenario(world: World) -> None:
        bob = await world.listener()
        for data in (b"", b"\x00", b"\x63 from the future", b"\x01\xc1", encode(world.envelope("cut"))[:-3]):
            world.harness.publish_bytes(world.hive, "bob", data)
        await world.publish("whole")

        assert await bob.take_and_ack() == ["whole"]
        await eventually(lambda: letters(world, 5))
        kept = await world.bus.dead_letters(world.hive)
        assert [letter.envelope for letter in kept] == [None] * 5
        assert all(letter.reason for letter in kept)
        assert [letter.data for letter in kept][1:3] == [b"\x00", b"\x63 from the future"]
        assert "version 99" in kept[2].reason
        assert await world.bus.replay(world.hive, [letter.id for letter in kept]) == 0
        assert await world.bus.drop(world.hive, [letter.id for letter in kept]) == 5

    with_bus(scenario)


# ── what lasts ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_who_was_away_gets_what_was_sent_meanwhile(with_bus: Run) -> None:
    async def scenario(world: World) -> None:
        only_durable(world.bus.capabilities)
        bob = await world.listener()
        await world.publish("before")
        assert await bob.take_and_ack() == ["before"]
        await bob.inbox.close()
        await world.publish("while away", "and more")
        await world.publish("for all", to=EVERYONE)

        other = await world.open()
        again = await world.listener(bus=other)
        assert sorted(await again.take_and_ack(3)) == ["and more", "for all", "while away"]
        assert await again.has_nothing()

    with_bus(scenario)


def test_what_was_taken_and_not_acknowledged_is_there_for_the_next_of_the_name(with_bus: Run) -> None:
    async def scenario(world: World) -> None:
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

    with_bus(scenario)


def test_what_was_acknowledged_just_before_the_end_does_not_come_again(with_bus: Run) -> None:
    async def scenario(world: World) -> None:
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
        last = await world.listener(bus=await world.open())
        assert await last.has_nothing()

    with_bus(scenario)


def test_who_begins_with_the_earliest_gets_what_is_kept(with_bus: Run) -> None:
    async def scenario(world: World) -> None:
        only_durable(world.bus.capabilities)
        world.harness.provide(world.hive, "late")
        await world.publish("early", to=("late",))
        late = await world.listener("late", start="earliest")
        await world.publish("later", to=("late",))

        assert await late.take_and_ack(2) == ["early", "later"]

    with_bus(scenario)


# ── looking ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_who_watches_sees_everything_once_and_takes_nothing(with_bus: Run) -> None:
    async def scenario(world: World) -> None:
        only_where(world.bus.capabilities.can_watch, "watch")
        bob, cid = [await world.listener(name) for name in ("bob", "cid")]
        await world.publish("before")
        seen: list[Envelope] = []
        watch = await world.bus.watch(world.hive, seen.append)
        await world.bus.publish([world.envelope("both", "bob", "cid"), world.envelope("bob's"), world.envelope("all", *EVERYONE)])
        await world.publish("nobody's", to=("absent",))

        assert sorted(await bob.take_and_ack(4)) == ["all", "before", "bob's", "both"]
        assert sorted(await cid.take_and_ack(2)) == ["all", "both"]
        await eventually(lambda: has(seen, 4))
        assert sorted(one.message.parcel for one in seen if isinstance(one.message, Receipt)) == [
            *("all", "bob's", "both", "nobody's")
        ]
        await watch.close()
        await watch.close()
        await world.publish("after")
        assert await bob.take_and_ack() == ["after"]
        assert len(seen) == 4

    with_bus(scenario)


def test_queues_tell_what_lies_on_the_bus(with_bus: Run) -> None:
    async def scenario(world: World) -> None:
        bob = await world.listener(inflight_max=2, waiting_max=2)
        publishing = asyncio.create_task(world.publish(*map(str, range(3))))
        one, two = await bob.take(2)
        await one.dead_letter("no")

        async def told() -> bool:
            (state,) = [state for state in await world.bus.queues(world.hive) if state.name == "bob"]
            numbers = (state.waiting, state.unacknowledged)
            return state.dead in (1, None) and (None in numbers or sum(n for n in numbers if n is not None) == 2)

        await eventually(told)
        await two.ack()
        assert await bob.take_and_ack() == ["2"]
        await publishing

    with_bus(scenario)


# ── limits ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_envelope_that_is_too_large_is_refused_before_anything_is_sent(with_bus: Run) -> None:
    async def scenario(world: World) -> None:
        bus = await world.open(envelope_bytes_max=5000)
        only_where(bus.capabilities.envelope_bytes_max is not None, "a bound for envelopes")
        bob = await world.listener(bus=bus)
        with pytest.raises(MessageTooLarge, match="5000") as raised:
            await bus.publish([world.envelope("fits"), world.envelope("x" * 6000)])
        assert raised.value.size_bytes > 6000
        assert raised.value.bytes_max == 5000
        await bus.publish([world.envelope("x" * 4000)])

        assert await bob.take_and_ack() == ["x" * 4000]

    with_bus(scenario)


def test_a_large_envelope_arrives_where_it_is_allowed(with_bus: Run) -> None:
    async def scenario(world: World) -> None:
        bound = world.bus.capabilities.envelope_bytes_max or (1 << 20)
        size = min(bound, 4 << 20) - 4096
        bob = await world.listener()
        sent = world.envelope("ü" * (size // 2))
        await world.bus.publish([sent])

        (delivery,) = await bob.take()
        assert encode_message(delivery.envelope.message) == encode_message(sent.message)
        await delivery.ack()

    with_bus(scenario)


def test_a_slow_subscriber_loses_nothing_and_holds_up_nobody_else(with_bus: Run) -> None:
    async def scenario(world: World) -> None:
        slow = await world.listener("slow", waiting_max=5, inflight_max=2)
        cid = await world.listener("cid")
        said = [str(n) for n in range(300)]
        publishing = asyncio.create_task(world.publish(*said, to=("slow",)))
        await world.publish("quick", to=("cid",))

        assert await cid.take_and_ack() == ["quick"]
        assert await slow.take_and_ack(300) == said
        await publishing

    with_bus(scenario)


def test_a_publisher_that_is_cancelled_leaves_each_envelope_whole_or_unsent(with_bus: Run) -> None:
    async def scenario(world: World) -> None:
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

    with_bus(scenario)


def test_requests_and_replies_find_each_other_among_two_hundred(with_bus: Run) -> None:
    async def scenario(world: World) -> None:
        server, client = await world.listener("server"), await world.listener("client")

        async def answer_all() -> None:
            for _ in range(200):
                (request,) = await server.take()
                await world.publish(text(request), to=("client",), sender="server")
                await request.ack()

        answering = asyncio.create_task(answer_all())
        await asyncio.gather(*(world.publish(f"question {n}", to=("server",), sender="client") for n in range(200)))
        assert sorted(await client.take_and_ack(200)) == sorted(f"question {n}" for n in range(200))
        await answering

    with_bus(scenario)


# ── the end ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_closing_waits_for_what_is_not_acknowledged_and_refuses_the_rest(with_bus: Run) -> None:
    async def scenario(world: World) -> None:
        bob = await world.listener()
        await world.publish("one", "two")
        one, two = await bob.take(2)

        closing = asyncio.create_task(world.bus.close())
        await asyncio.sleep(0)
        with pytest.raises(BackendUnavailable, match="closed"):
            await world.publish("late")
        with pytest.raises(BackendUnavailable, match="closed"):
            await world.listener("late")
        await one.ack()
        await asyncio.sleep(world.harness.quiet_s)
        assert not closing.done()
        await two.ack()
        await closing
        await world.bus.close()

    with_bus(scenario)


def test_closing_ends_after_its_drain_time(with_bus: Run) -> None:
    async def scenario(world: World) -> None:
        bob = await world.listener()
        await world.publish("never acknowledged")
        await bob.take()
        await world.bus.close(drain_s=0.01)

        assert list(bob.inbox.take(1)) == []
        assert not world.bus.health.is_connected

    with_bus(scenario)


def test_fifty_lives_leave_no_thread_task_or_socket_behind(with_bus: Run) -> None:
    async def scenario(world: World) -> None:
        bob = await world.listener()
        await world.publish("hello")
        await (await bob.take())[0].nack(delay_s=60)

    for _ in range(2):
        with_bus(scenario)
    before = psutil.Process().num_fds()
    for _ in range(50):
        with_bus(scenario)

    # A broker in this process, or what stands before one, takes a moment to see that its clients have gone.
    until = time.monotonic() + 10
    while psutil.Process().num_fds() > before and time.monotonic() < until:
        time.sleep(0.01)
    assert psutil.Process().num_fds() <= before


async def letters(world: World, number: int) -> bool:
    return len(await world.bus.dead_letters(world.hive)) == number


async def one_letter(world: World) -> bool:
    return await letters(world, 1)


async def has(some: Sequence[Envelope], number: int) -> bool:
    assert len(some) <= number, [key for key, same in groupby(sorted(one.id for one in some)) if len(list(same)) > 1]
    return len(some) == number
