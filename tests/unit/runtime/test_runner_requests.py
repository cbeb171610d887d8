"""Requests to a runner: each gets its own answer or refusal, from the node itself or from others, and what is shared is told.

What fails under a runner: a journal or a node that breaks stops it and is told once, a full queue costs only its message.
"""

import asyncio
import logging
import math
from collections.abc import Coroutine
from typing import Any

import pytest

from hive_mind.errors import BackendError, InvalidInput
from hive_mind.hive.effects import (
    Acknowledge,
    Ask,
    Done,
    Effect,
    Event,
    Fetch,
    Now,
    Promote,
    Received,
    Retract,
    SearchLocal,
    Send,
    Shared,
    Write,
)
from hive_mind.model.messages import FactsReply, FactsRequest, Message, Receipt
from tests.unit.runtime.running import HELD, PROMOTION, ScriptedNode, keep, listener, on_stage, turns
from tests.waiting import until


def steps_of(coroutine: Coroutine[Any, Any, object]) -> int:
    """How often a coroutine gives way to others before it ends; it must need nothing from outside."""
    steps = 0
    while True:
        try:
            coroutine.send(None)
        except StopIteration:
            return steps
        steps += 1


def ask_itself(event: Event) -> list[Effect]:
    match event:
        case Fetch(request):
            return [SearchLocal(FactsRequest(request, (), 1000), "node")]
        case Received("node", FactsReply(query)):
            return [Done(query, ())]
        case _:
            return []


async def test_a_question_the_node_answers_itself_costs_no_switch_of_tasks() -> None:
    async with on_stage(ScriptedNode(ask_itself)) as stage:
        assert steps_of(stage.runner.fetch([("f1", "")])) == 0
        assert [type(event) for event in stage.node.events] == [Fetch, Received]
        assert isinstance(stage.node.events[1], Received)
        assert stage.node.events[1].delivery == ""


async def test_a_question_that_was_sent_to_others_is_answered_when_they_reply() -> None:
    def script(event: Event) -> list[Effect]:
        match event:
            case Fetch(request):
                return [Send(("peer",), FactsRequest(request, (), 1000)), SearchLocal(FactsRequest(request, (), 1000), "node")]
            case Received("peer", FactsReply(query), delivery):
                return [Done(query, ()), Acknowledge(delivery)]
            case _:
                return []

    async with on_stage(ScriptedNode(script)) as stage:
        fetching = asyncio.create_task(stage.runner.fetch([("f1", "peer")]))
        (question,) = await stage.said()
        assert isinstance(question, FactsRequest)
        await stage.say(FactsReply(question.query, ()))

        assert await fetching == ()


class NoAnswer(ScriptedNode):
    """Has nothing to say to the first question and breaks at the second."""

    asked = 0

    def search(self, request: Message, now: Now) -> Any:
        del now
        self.asked += 1
        if self.asked == 1:
            return None
        if self.asked == 2:
            raise RuntimeError("index is broken")
        assert isinstance(request, FactsRequest)
        return FactsReply(request.query, ())


async def test_a_search_that_fails_costs_only_its_own_answer(caplog: pytest.LogCaptureFixture) -> None:
    async with on_stage(NoAnswer(keep)) as stage:
        await stage.say(FactsRequest("nothing", (), 1000))
        await stage.say(FactsRequest("broken", (), 1000))
        await stage.say(FactsRequest("good", (), 1000))

        assert await stage.said() == [FactsReply("good", ())]
    assert "index is broken" in caplog.text


async def test_every_request_becomes_its_event_under_an_id_of_its_own() -> None:
    def script(event: Event) -> list[Effect]:
        return [Done(event.request, ("x",))]  # type: ignore[union-attr]

    async with on_stage(ScriptedNode(script), ask_deadline_ms=700, fetch_deadline_ms=900) as stage:
        await stage.runner.promote([PROMOTION])
        await stage.runner.retract(["f1"], "ann", "wrong")
        await stage.runner.write([("agent/ann", "{}")], "ann")
        await stage.runner.ask(None, confidence_min=0.5, domains=("pumps",))  # type: ignore[arg-type]
        await stage.runner.fetch([("f1", "peer")])

        promote, retract, write, ask, fetch = stage.node.events
        ids = [event.request for event in (promote, retract, write, ask, fetch)]  # type: ignore[union-attr]
        assert len(set(ids)) == 5
        assert promote == Promote(ids[0], (PROMOTION,))
        assert retract == Retract(ids[1], ("f1",), "ann", "wrong")
        assert write == Write(ids[2], (("agent/ann", "{}"),), "ann")
        assert ask == Ask(ids[3], None, 700, 0.5, ("pumps",))  # type: ignore[arg-type]
        assert fetch == Fetch(ids[4], (("f1", "peer"),), 900)


async def test_a_caller_that_is_cancelled_hurts_nobody() -> None:
    async with on_stage(ScriptedNode(keep)) as stage:
        stage.journal.hold()
        callers = [asyncio.create_task(stage.runner.promote([PROMOTION])) for _ in range(10)]
        await turns()
        for caller in callers[::2]:
            caller.cancel()
        await turns()
        stage.journal.allow()

        assert [result == HELD for result in (await asyncio.gather(*callers, return_exceptions=True))] == [False, True] * 5
        assert len(await stage.journal.load()) == 10


async def test_a_refusal_goes_to_who_asked_and_the_node_goes_on() -> None:
    def script(event: Event) -> list[Effect]:
        if isinstance(event, Retract):
            raise InvalidInput("no such fact")
        return keep(event)

    async with on_stage(ScriptedNode(script)) as stage:
        with pytest.raises(InvalidInput, match="no such fact"):
            await stage.runner.retract(["f1"], "ann")
        assert await stage.runner.promote([PROMOTION]) == HELD


async def test_a_message_the_node_refuses_is_a_dead_letter_with_its_reason() -> None:
    def script(event: Event) -> list[Effect]:
        if isinstance(event, Received) and event.message == Receipt("bad"):
            raise InvalidInput("not of this hive")
        return keep(event)

    async with on_stage(ScriptedNode(script)) as stage:
        await stage.say(Receipt("bad"))
        await stage.say(Receipt("good"))
        assert await stage.said() == [Receipt("good")]
        await turns()
        assert [letter.reason for letter in stage.runner.letters.letters()] == ["not of this hive"]


async def test_listeners_hear_what_is_shared_until_they_stop_and_may_fail(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[tuple[str, ...]] = []

    def broken(_: tuple[str, ...]) -> None:
        raise RuntimeError("listener broke")

    def script(event: Event) -> list[Effect]:
        assert isinstance(event, Received)
        return [Shared(("f1",)), Acknowledge(event.delivery), Send(("peer",), event.message)]

    async with on_stage(ScriptedNode(script)) as stage:
        stage.runner.on_shared(broken)
        stop = stage.runner.on_shared(heard.append)
        await stage.say(Receipt("1"))
        await stage.said()
        stop()
        await stage.say(Receipt("2"))
        await stage.said()
    assert heard == [("f1",)]
    assert "listener broke" in caplog.text


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
        # Also whoever only asks whether the bus carries what it sends: for it nothing will come back, however long it waits.
        for late in (stage.runner.fetch([("f1", "")]), stage.runner.ping(Receipt(""), timeout_s=math.inf)):
            with pytest.raises(BackendError, match="has stopped"):
                await late
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
        # The first is put in once, with the others, and refused once, alone: nobody knows that it lies there.
        await until(lambda: stage.runner.figures.sends_lost == 100)
