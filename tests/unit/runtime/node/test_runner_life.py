"""A runner's life: it starts with what was kept, or leaves nothing, and closes without tearing anything apart."""

import asyncio
from typing import Any

import pytest

from hive_mind.bus.memory import MemoryBus
from hive_mind.errors import BackendError, BackendUnavailable, DatabaseUnreadable, HiveError
from hive_mind.hive.effects import Acknowledge, Done, Effect, Event, Fetch, Put, Received, Send, SetAside
from hive_mind.model.messages import FactsReply, FactsRequest
from hive_mind.runtime.node.runner import NodeRunner
from tests.unit.runtime.running import HELD, PROMOTION, ScriptedNode, TestedJournal, keep, listener, on_stage, persist, turns


async def test_what_is_damaged_is_set_aside_in_the_write_of_what_follows_from_that() -> None:
    kept = [Put("dots", b"a", b"1"), Put("outbox", b"b", b"no parcel")]
    node = ScriptedNode(at_start=[persist("incarnation")])

    journal = TestedJournal(kept=kept)
    runner = NodeRunner(node, journal, MemoryBus())
    await runner.start()
    assert node.kept == [kept[0], SetAside("outbox", b"b")]
    assert list(journal.writes[0]) == [SetAside("outbox", b"b"), Put("dots", b"incarnation", b"")]
    await runner.close()


async def test_a_node_starts_with_what_the_journal_kept_and_what_it_wants_then_is_durable() -> None:
    kept = [Put("dots", b"a", b"1"), Put("trifles", b"b", b"2")]
    node = ScriptedNode(at_start=[persist("incarnation")])

    journal = TestedJournal(kept=kept)
    runner = NodeRunner(node, journal, MemoryBus())
    await runner.start()
    assert node.kept == kept
    assert Put("dots", b"incarnation", b"") in await journal.load()
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


async def test_closing_ends_after_its_drain_time_and_tells_who_still_waits() -> None:
    async with on_stage(ScriptedNode(keep)) as stage:
        waiting = asyncio.create_task(stage.runner.retract(["f1"], "ann"))
        await turns()
        await stage.runner.close(drain_s=0.01)
        with pytest.raises(BackendUnavailable, match="not running"):
            await waiting


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
