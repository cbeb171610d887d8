"""The runner carries out what a node wants: durable before told, in order, and together where that helps.

A runner's life: it starts with what was kept, or leaves nothing, and closes without tearing anything apart.

Ticks come when they are due, leave others their turn, and do not pile up.
"""

import asyncio
from typing import Any

import pytest

from hive_mind.bus.memory import MemoryBus
from hive_mind.errors import BackendError, BackendUnavailable, DatabaseUnreadable, HiveError
from hive_mind.hive.effects import (
    Acknowledge,
    Done,
    Effect,
    Event,
    Fetch,
    Now,
    Promote,
    Put,
    Received,
    SearchLocal,
    Send,
    SetAside,
    Tick,
)
from hive_mind.model.messages import FactsReply, FactsRequest, Receipt
from hive_mind.runtime.node.runner import NodeRunner
from tests.unit.runtime.running import (
    FAR_MS,
    HELD,
    PROMOTION,
    QUESTION,
    ScriptedNode,
    TestedJournal,
    keep,
    listener,
    on_stage,
    persist,
    turns,
)


async def test_nothing_is_answered_sent_or_acknowledged_before_it_is_durable() -> None:
    trace: list[str] = []
    async with on_stage(ScriptedNode(keep), trace) as stage:
        stage.journal.hold()
        await stage.say(Receipt("parcel"))
        promoting = asyncio.create_task(stage.runner.promote([PROMOTION]))
        await turns()
        assert not promoting.done()
        assert trace == ["sent receipt to node"]
        assert not stage.peer.inbox.take(1)

        stage.journal.allow()
        assert await promoting == HELD
        assert await stage.said() == [Receipt("parcel")]


async def test_the_effects_of_an_event_happen_in_their_order() -> None:
    trace: list[str] = []

    def script(event: Event) -> list[Effect]:
        assert isinstance(event, Promote)
        return [
            Send(("a",), Receipt("")),
            persist(),
            Send(("b", "c"), Receipt("")),
            SearchLocal(QUESTION, "d"),
            Done(event.request, HELD),
            Send(("e",), Receipt("")),
        ]

    async with on_stage(ScriptedNode(script), trace) as stage:
        await stage.runner.promote([PROMOTION])
        trace.append("answered")
        await turns()
    assert trace[:2] == ["sent receipt to a", "wrote"]
    assert [step for step in trace if "receipt" in step] == [f"sent receipt to {to}" for to in ("a", "b,c", "e")]
    # Neither the question of somebody else nor the answer to our own waits for the bus.
    assert set(trace) >= {"answered", "sent facts to d"}


async def test_a_delivery_is_acknowledged_only_after_what_it_led_to_is_durable() -> None:
    def script(event: Event) -> list[Effect]:
        assert isinstance(event, Received)
        return [persist(), Acknowledge(event.delivery)]

    async with on_stage(ScriptedNode(script)) as stage:
        stage.journal.hold()
        await stage.say(Receipt("parcel"))
        await turns()
        # A bus closes at once when everything is acknowledged.
        closing = asyncio.create_task(stage.bus.close(drain_s=60))
        await turns()
        assert not closing.done()

        stage.journal.allow()
        await closing


async def test_events_that_wait_together_share_one_write_and_what_comes_meanwhile_the_next_one() -> None:
    async with on_stage(ScriptedNode(keep)) as stage:
        await asyncio.gather(*(stage.runner.promote([PROMOTION]) for _ in range(50)))
        await stage.say(Receipt("parcel"), times=50)
        await stage.said(50)
        assert list(map(len, stage.journal.writes)) == [50, 50]

        stage.journal.hold()
        first = asyncio.create_task(stage.runner.promote([PROMOTION]))
        await turns()
        later = [asyncio.create_task(stage.runner.promote([PROMOTION])) for _ in range(20)]
        await turns()
        assert len(stage.journal.writes) == 3
        stage.journal.allow()
        await asyncio.gather(first, *later)
        assert list(map(len, stage.journal.writes[2:])) == [1, 20]


async def test_an_event_that_writes_nothing_still_waits_for_what_is_being_written() -> None:
    def script(event: Event) -> list[Effect]:
        # It knows the dots already, from an event whose records are not on disk yet.
        if isinstance(event, Received):
            return [Send((event.sender,), event.message), Acknowledge(event.delivery)]
        return keep(event)

    async with on_stage(ScriptedNode(script)) as stage:
        stage.journal.hold()
        promoting = asyncio.create_task(stage.runner.promote([PROMOTION]))
        await turns()
        await stage.say(Receipt("promise"))
        await turns()
        assert not stage.peer.inbox.take(1)

        stage.journal.allow()
        await promoting
        assert await stage.said() == [Receipt("promise")]


async def test_scrubbing_waits_for_what_is_on_its_way_to_the_journal() -> None:
    trace: list[str] = []
    async with on_stage(ScriptedNode(keep), trace) as stage:
        stage.journal.hold()
        promoting = asyncio.create_task(stage.runner.promote([PROMOTION]))
        await turns()
        again = asyncio.create_task(stage.runner.promote([PROMOTION]))
        scrubbing = asyncio.create_task(stage.runner.scrub(lambda _: True))
        await turns()
        assert "scrubbed" not in trace

        stage.journal.allow()
        await asyncio.gather(promoting, again, scrubbing)
        assert trace[-3:] == ["wrote", "wrote", "scrubbed"]

        await stage.runner.scrub(lambda _: True)
        assert trace[-2:] == ["scrubbed", "scrubbed"]
    with pytest.raises(BackendUnavailable, match="not running"):
        await stage.runner.scrub(lambda _: True)


async def test_searches_do_not_wait_for_the_disk() -> None:
    async with on_stage(ScriptedNode(keep)) as stage:
        stage.journal.hold()
        promoting = asyncio.create_task(stage.runner.promote([PROMOTION]))
        await turns()

        assert await stage.runner.fetch([("f1", "node")]) == ()
        await stage.say(QUESTION)
        assert await stage.said() == [FactsReply("query", ())]
        assert not promoting.done()
        stage.journal.allow()
        await promoting


async def test_what_is_damaged_is_set_aside_in_the_write_of_what_follows_from_that() -> None:
    kept = [Put("dots", b"a", b"1"), Put("outbox", b"b", b"no parcel")]
    node = ScriptedNode(at_start=[persist("incarnation")])

    journal = TestedJournal(kept=kept)
    runner = NodeRunner(node, journal, MemoryBus())
    await runner.start()
    assert node.kept == [kept[0], SetAside("outbox", b"b")]
    assert list(journal.writes[0]) == [SetAside("outbox", b"b"), Put("dots", b"incarnation", b"")]
    await runner.close()


@pytest.mark.parametrize("moment", ["load", "write"])
async def test_a_start_that_fails_can_be_closed_and_leaves_nothing(moment: str) -> None:
    class Broken(TestedJournal):
        async def load(self) -> list[Put]:
            if moment == "load":
                raise DatabaseUnreadable("sqlite", "damaged")
            return []

        async def write(self, records: Any) -> None:
            del records
            raise BackendError("sqlite", "disk is full")

    bus, journal = MemoryBus(), Broken()
    runner = NodeRunner(ScriptedNode(at_start=[persist()]), journal, bus)
    with pytest.raises(HiveError, match=r"damaged|disk is full"):
        await runner.start()
    await runner.close()
    assert journal.is_closed_now
    await listener(bus, "node")
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_closing_finishes_what_is_waiting_and_refuses_the_rest() -> None:
    def script(event: Event) -> list[Effect]:
        match event:
            case Fetch(request):
                return [Send(("peer",), FactsRequest(request, (), 1000))]
            case Received("peer", FactsReply(query), delivery):
                return [Done(query, ()), Acknowledge(delivery)]
            case _:
                return keep(event)

    async with on_stage(ScriptedNode(script)) as stage:
        stage.journal.hold()
        promoting = asyncio.create_task(stage.runner.promote([PROMOTION]))
        fetching = asyncio.create_task(stage.runner.fetch([("f1", "peer")]))
        (question,) = await stage.said()
        closing = asyncio.create_task(stage.runner.close())
        await turns()
        with pytest.raises(BackendUnavailable, match="not running"):
            await stage.runner.promote([PROMOTION])
        assert not closing.done()

        assert isinstance(question, FactsRequest)
        await stage.say(FactsReply(question.query, ()))
        assert await fetching == ()
        stage.journal.allow()
        assert await promoting == HELD
        await closing
        await stage.runner.close()


async def test_closing_does_not_tear_a_write_apart() -> None:
    async with on_stage(ScriptedNode(keep)) as stage:
        stage.journal.hold()
        waiting = asyncio.create_task(stage.runner.promote([PROMOTION]))
        await turns()
        closing = asyncio.create_task(stage.runner.close(drain_s=0.01))
        with pytest.raises(BackendUnavailable):
            await waiting
        await asyncio.sleep(0.01)
        assert not closing.done()
        assert not stage.journal.is_closed_now
        stage.journal.allow()
        await closing
        assert stage.journal.trace == ["wrote"]


async def test_a_runner_that_was_never_started_can_be_closed() -> None:
    journal = TestedJournal()
    runner = NodeRunner(ScriptedNode(), journal, MemoryBus())
    with pytest.raises(BackendUnavailable, match="not running"):
        await runner.promote([PROMOTION])
    await runner.close()
    assert journal.is_closed_now


async def test_a_tick_comes_when_it_is_due_by_the_clock_that_was_handed_in() -> None:
    now_ms = 1000
    node = ScriptedNode(wake_ms=1002)

    def script(event: Event) -> list[Effect]:
        if isinstance(event, Tick):
            node.wake_ms = 1 << 40
            ticked.set()
        return []

    node.script = script
    ticked = asyncio.Event()
    bus, journal = MemoryBus(), TestedJournal()
    runner = NodeRunner(node, journal, bus, clock=lambda: Now(0, now_ms))
    await runner.start()
    # More real time than the clock is away from it; the clock itself stands still.
    await asyncio.sleep(0.02)
    assert not ticked.is_set()
    now_ms = 1002
    await asyncio.wait_for(ticked.wait(), 60)
    await runner.close()
    assert node.events == [Tick()]


async def test_a_node_that_always_wants_a_tick_leaves_others_their_turn() -> None:
    async with on_stage(ScriptedNode(keep, wake_ms=0)) as stage:
        stage.node.wake_ms = 0
        assert await asyncio.wait_for(stage.runner.promote([PROMOTION]), 60) == HELD
        await stage.say(Receipt("x"))
        assert await asyncio.wait_for(stage.said(), 60) == [Receipt("x")]


async def test_ticks_do_not_pile_up_behind_a_slow_disk() -> None:
    def once_due(event: Event) -> list[Effect]:
        if isinstance(event, Tick):
            stage.node.wake_ms = FAR_MS
        return keep(event)

    async with on_stage(ScriptedNode(keep, wake_ms=0)) as stage:
        stage.journal.hold()
        promoting = asyncio.create_task(stage.runner.promote([PROMOTION]))
        await turns()
        before = stage.node.events.count(Tick())
        await asyncio.sleep(0.02)
        assert stage.node.events.count(Tick()) == before
        # Due until now, and after the next tick no more: one that comes by its own alarm is none that has piled up.
        stage.node.script = once_due
        stage.journal.allow()
        await promoting
        await turns()
        assert stage.node.events.count(Tick()) == before + 1
