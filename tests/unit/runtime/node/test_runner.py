"""The runner carries out what a node wants: durable before told, in order, and together where that helps."""

import asyncio

from hive_mind.hive.effects import Acknowledge, Done, Effect, Event, Promote, Received, SearchLocal, Send
from hive_mind.model.messages import FactsReply, Receipt
from tests.unit.runtime.running import HELD, PROMOTION, QUESTION, ScriptedNode, keep, on_stage, persist, turns


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
    assert trace[0] == "wrote"
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


async def test_events_that_wait_together_share_one_write() -> None:
    async with on_stage(ScriptedNode(keep)) as stage:
        await asyncio.gather(*(stage.runner.promote([PROMOTION]) for _ in range(50)))
        await stage.say(Receipt("parcel"), times=50)
        await stage.said(50)

        assert list(map(len, stage.journal.writes)) == [50, 50]


async def test_what_comes_during_a_write_shares_the_next_one_and_waits_for_it() -> None:
    async with on_stage(ScriptedNode(keep)) as stage:
        stage.journal.hold()
        first = asyncio.create_task(stage.runner.promote([PROMOTION]))
        await turns()
        later = [asyncio.create_task(stage.runner.promote([PROMOTION])) for _ in range(20)]
        await turns()
        assert len(stage.journal.writes) == 1

        stage.journal.allow()
        await asyncio.gather(first, *later)
        assert list(map(len, stage.journal.writes)) == [1, 20]


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
