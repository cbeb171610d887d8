"""What fails under a runner: a journal or a node that breaks stops it and is told once, a full queue costs only its message."""

import asyncio
import logging

import pytest

from hive_mind.errors import BackendError
from hive_mind.hive.effects import Done, Effect, Event, Promote, Received, Send
from hive_mind.model.messages import Receipt
from tests.unit.runtime.running import HELD, PROMOTION, ScriptedNode, keep, listener, on_stage, turns
from tests.waiting import until


async def test_a_journal_that_fails_stops_everything_and_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    async with on_stage(ScriptedNode(keep)) as stage:
        stage.journal.hold()
        await stage.say(Receipt("never acknowledged"))
        waiting = [asyncio.create_task(stage.runner.promote([PROMOTION])) for _ in range(3)]
        await turns()
        waiting += [asyncio.create_task(stage.runner.promote([PROMOTION])) for _ in range(3)]
        await turns()
        stage.journal.error = BackendError("sqlite", "disk is full")
        stage.journal.allow()

        for result in await asyncio.gather(*waiting, return_exceptions=True):
            assert isinstance(result, BackendError)
            assert "node node has stopped: sqlite: disk is full; mend that" in str(result)
            assert result.__cause__ is stage.journal.error
        with pytest.raises(BackendError, match="has stopped"):
            await stage.runner.fetch([("f1", "")])
        await turns()
        assert stage.runner.failure is stage.journal.error
        assert not stage.peer.inbox.take(1)
        assert len(stage.journal.writes) == 1
        # The name is free for whoever comes next.
        await listener(stage.bus, "node")
    assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) == 1


async def test_a_node_that_breaks_is_stopped_because_its_state_may_be_half_of_what_it_should_be() -> None:
    def script(event: Event) -> list[Effect]:
        if isinstance(event, Received):
            raise ZeroDivisionError("a bug")
        return []

    async with on_stage(ScriptedNode(script)) as stage:
        waiting = asyncio.create_task(stage.runner.promote([PROMOTION]))
        await turns()
        await stage.say(Receipt("trigger"))
        with pytest.raises(BackendError, match="a bug"):
            await waiting
        with pytest.raises(BackendError, match="a bug"):
            await stage.runner.promote([PROMOTION])


async def test_a_full_queue_costs_the_message_and_not_the_others() -> None:
    def script(event: Event) -> list[Effect]:
        assert isinstance(event, Promote)
        return [Send(("stuck",), Receipt("")), Send(("peer",), Receipt(event.request)), Done(event.request, HELD)]

    async with on_stage(ScriptedNode(script)) as stage:
        await listener(stage.bus, "stuck", waiting_max=1)
        for _ in range(100):
            await stage.runner.promote([PROMOTION])
        assert len(await stage.said(100)) == 100
        await until(lambda: stage.runner.figures.sends_lost == 99)
