"""Ticks come when they are due, leave others their turn, and do not pile up."""

import asyncio

from hive_mind.bus.memory import MemoryBus
from hive_mind.hive.effects import Effect, Event, Now, Tick
from hive_mind.model.messages import Receipt
from hive_mind.runtime.node.runner import NodeRunner
from tests.unit.runtime.running import HELD, PROMOTION, ScriptedNode, TestedJournal, keep, on_stage, turns


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
    async with on_stage(ScriptedNode(keep, wake_ms=0)) as stage:
        stage.journal.hold()
        promoting = asyncio.create_task(stage.runner.promote([PROMOTION]))
        await turns()
        before = stage.node.events.count(Tick())
        await asyncio.sleep(0.02)
        assert stage.node.events.count(Tick()) == before
        stage.journal.allow()
        await promoting
        await turns()
        assert stage.node.events.count(Tick()) == before + 1
