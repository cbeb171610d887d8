"""The runner carries out what a node wants: durable before told, in order, together where that helps, and to the end."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

import pytest

from hive_mind.bus.memory import MemoryBus
from hive_mind.errors import BackendError, BackendUnavailable, DatabaseUnreadable, HiveError, InvalidInput
from hive_mind.hive.effects import (
    Acknowledge,
    Ask,
    Done,
    Effect,
    Event,
    Fetch,
    Held,
    Now,
    Promote,
    Promotion,
    Put,
    Rearrange,
    Received,
    Retract,
    SearchLocal,
    Send,
    Shared,
    Tick,
    Write,
)
from hive_mind.hive.flat import Flat
from hive_mind.model.evidence import Statement
from hive_mind.model.messages import FactsReply, FactsRequest, Message, Receipt
from hive_mind.runtime.runner import NodeRunner
from tests.unit.runtime.running import ScriptedNode, Stage, TestedJournal, listener, on_stage, persist, turns, until

PROMOTION = Promotion(Statement("The sky is blue."), "ann", "letter", 0.8)
HELD = (Held("f1"),)
QUESTION = FactsRequest("query", (), 1000)


def keep(event: Event) -> list[Effect]:
    """Persist and answer whatever is promoted or received."""
    match event:
        case Promote(request):
            return [persist(request), Done(request, HELD)]
        case Received(_, FactsRequest() as question, delivery):
            return [SearchLocal(question, "peer"), Acknowledge(delivery)]
        case Received(sender, message, delivery):
            return [persist(delivery), Send((sender,), message), Acknowledge(delivery)]
        case Fetch(request):
            return [Done(request, ())]
        case _:
            return []


def steps_of(coroutine: Coroutine[Any, Any, object]) -> int:
    """How often a coroutine gives way to others before it ends; it must need nothing from outside."""
    steps = 0
    while True:
        try:
            coroutine.send(None)
        except StopIteration:
            return steps
        steps += 1


# ── order ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_nothing_is_answered_sent_or_acknowledged_before_it_is_durable() -> None:
    trace: list[str] = []

    async def play(stage: Stage) -> None:
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

    on_stage(play, ScriptedNode(keep), trace)


def test_the_effects_of_an_event_happen_in_their_order() -> None:
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

    async def play(stage: Stage) -> None:
        await stage.runner.promote([PROMOTION])
        trace.append("answered")
        await turns()

    on_stage(play, ScriptedNode(script), trace)
    assert trace[0] == "wrote"
    assert [step for step in trace if "receipt" in step] == [f"sent receipt to {to}" for to in ("a", "b,c", "e")]
    # Neither the question of somebody else nor the answer to our own waits for the bus.
    assert set(trace) >= {"answered", "sent facts to d"}


def test_a_delivery_is_acknowledged_only_after_what_it_led_to_is_durable() -> None:
    def script(event: Event) -> list[Effect]:
        assert isinstance(event, Received)
        return [persist(), Acknowledge(event.delivery)]

    async def play(stage: Stage) -> None:
        stage.journal.hold()
        await stage.say(Receipt("parcel"))
        await turns()
        # A bus closes at once when everything is acknowledged.
        closing = asyncio.create_task(stage.bus.close(drain_s=60))
        await turns()
        assert not closing.done()

        stage.journal.allow()
        await closing

    on_stage(play, ScriptedNode(script))


def test_events_that_wait_together_share_one_write() -> None:
    async def play(stage: Stage) -> None:
        await asyncio.gather(*(stage.runner.promote([PROMOTION]) for _ in range(50)))
        await stage.say(Receipt("parcel"), times=50)
        await stage.said(50)

        assert list(map(len, stage.journal.writes)) == [50, 50]

    on_stage(play, ScriptedNode(keep))


def test_what_comes_during_a_write_shares_the_next_one_and_waits_for_it() -> None:
    async def play(stage: Stage) -> None:
        stage.journal.hold()
        first = asyncio.create_task(stage.runner.promote([PROMOTION]))
        await turns()
        later = [asyncio.create_task(stage.runner.promote([PROMOTION])) for _ in range(20)]
        await turns()
        assert len(stage.journal.writes) == 1

        stage.journal.allow()
        await asyncio.gather(first, *later)
        assert list(map(len, stage.journal.writes)) == [1, 20]

    on_stage(play, ScriptedNode(keep))


def test_an_event_that_writes_nothing_still_waits_for_what_is_being_written() -> None:
    def script(event: Event) -> list[Effect]:
        # It knows the dots already, from an event whose records are not on disk yet.
        if isinstance(event, Received):
            return [Send((event.sender,), event.message), Acknowledge(event.delivery)]
        return keep(event)

    async def play(stage: Stage) -> None:
        stage.journal.hold()
        promoting = asyncio.create_task(stage.runner.promote([PROMOTION]))
        await turns()
        await stage.say(Receipt("promise"))
        await turns()
        assert not stage.peer.inbox.take(1)

        stage.journal.allow()
        await promoting
        assert await stage.said() == [Receipt("promise")]

    on_stage(play, ScriptedNode(script))


def test_searches_do_not_wait_for_the_disk() -> None:
    async def play(stage: Stage) -> None:
        stage.journal.hold()
        promoting = asyncio.create_task(stage.runner.promote([PROMOTION]))
        await turns()

        assert await stage.runner.fetch([("f1", "node")]) == ()
        await stage.say(QUESTION)
        assert await stage.said() == [FactsReply("query", ())]
        assert not promoting.done()
        stage.journal.allow()
        await promoting

    on_stage(play, ScriptedNode(keep))


# ── searching ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def ask_itself(event: Event) -> list[Effect]:
    match event:
        case Fetch(request):
            return [SearchLocal(FactsRequest(request, (), 1000), "node")]
        case Received("node", FactsReply(query)):
            return [Done(query, ())]
        case _:
            return []


def test_a_question_the_node_answers_itself_costs_no_switch_of_tasks() -> None:
    async def play(stage: Stage) -> None:
        assert steps_of(stage.runner.fetch([("f1", "")])) == 0
        assert [type(event) for event in stage.node.events] == [Fetch, Received]
        assert isinstance(stage.node.events[1], Received)
        assert stage.node.events[1].delivery == ""

    on_stage(play, ScriptedNode(ask_itself))


def test_a_question_that_was_sent_to_others_is_answered_when_they_reply() -> None:
    def script(event: Event) -> list[Effect]:
        match event:
            case Fetch(request):
                return [Send(("peer",), FactsRequest(request, (), 1000)), SearchLocal(FactsRequest(request, (), 1000), "node")]
            case Received("peer", FactsReply(query), delivery):
                return [Done(query, ()), Acknowledge(delivery)]
            case _:
                return []

    async def play(stage: Stage) -> None:
        fetching = asyncio.create_task(stage.runner.fetch([("f1", "peer")]))
        (question,) = await stage.said()
        assert isinstance(question, FactsRequest)
        await stage.say(FactsReply(question.query, ()))

        assert await fetching == ()

    on_stage(play, ScriptedNode(script))


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


def test_a_search_that_fails_costs_only_its_own_answer(caplog: pytest.LogCaptureFixture) -> None:
    async def play(stage: Stage) -> None:
        await stage.say(FactsRequest("nothing", (), 1000))
        await stage.say(FactsRequest("broken", (), 1000))
        await stage.say(FactsRequest("good", (), 1000))

        assert await stage.said() == [FactsReply("good", ())]

    on_stage(play, NoAnswer(keep))
    assert "index is broken" in caplog.text


# ── requests ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_request_becomes_its_event_under_an_id_of_its_own() -> None:
    def script(event: Event) -> list[Effect]:
        return [] if isinstance(event, Rearrange) else [Done(event.request, ("x",))]  # type: ignore[union-attr]

    topology = Flat(("node",))

    async def play(stage: Stage) -> None:
        await stage.runner.promote([PROMOTION])
        await stage.runner.retract(["f1"], "ann", "wrong")
        await stage.runner.write([("agent/ann", "{}")], "ann")
        await stage.runner.ask(None, confidence_min=0.5, domains=("pumps",))  # type: ignore[arg-type]
        await stage.runner.fetch([("f1", "peer")])
        await stage.runner.rearrange(topology)

        promote, retract, write, ask, fetch, rearrange = stage.node.events
        ids = [event.request for event in (promote, retract, write, ask, fetch)]  # type: ignore[union-attr]
        assert len(set(ids)) == 5
        assert promote == Promote(ids[0], (PROMOTION,))
        assert retract == Retract(ids[1], ("f1",), "ann", "wrong")
        assert write == Write(ids[2], (("agent/ann", "{}"),), "ann")
        assert ask == Ask(ids[3], None, 700, 0.5, ("pumps",))  # type: ignore[arg-type]
        assert fetch == Fetch(ids[4], (("f1", "peer"),), 900)
        assert rearrange == Rearrange(topology)

    on_stage(play, ScriptedNode(script), ask_deadline_ms=700, fetch_deadline_ms=900)


def test_rearranging_returns_when_it_is_durable() -> None:
    async def play(stage: Stage) -> None:
        stage.journal.hold()
        rearranging = asyncio.create_task(stage.runner.rearrange(Flat(("node",))))
        await turns()
        assert not rearranging.done()
        stage.journal.allow()
        await rearranging

    on_stage(play, ScriptedNode(lambda _: [persist()]))


def test_a_caller_that_is_cancelled_hurts_nobody() -> None:
    async def play(stage: Stage) -> None:
        stage.journal.hold()
        callers = [asyncio.create_task(stage.runner.promote([PROMOTION])) for _ in range(10)]
        await turns()
        for caller in callers[::2]:
            caller.cancel()
        await turns()
        stage.journal.allow()

        results = await asyncio.gather(*callers, return_exceptions=True)
        assert [result == HELD for result in results] == [False, True] * 5
        assert len(await stage.journal.load()) == 10

    on_stage(play, ScriptedNode(keep))


def test_a_refusal_goes_to_who_asked_and_the_node_goes_on() -> None:
    def script(event: Event) -> list[Effect]:
        if isinstance(event, Retract):
            raise InvalidInput("no such fact")
        return keep(event)

    async def play(stage: Stage) -> None:
        with pytest.raises(InvalidInput, match="no such fact"):
            await stage.runner.retract(["f1"], "ann")
        assert await stage.runner.promote([PROMOTION]) == HELD

    on_stage(play, ScriptedNode(script))


def test_a_message_the_node_refuses_is_a_dead_letter_with_its_reason() -> None:
    def script(event: Event) -> list[Effect]:
        if isinstance(event, Received) and event.message == Receipt("bad"):
            raise InvalidInput("not of this hive")
        return keep(event)

    async def play(stage: Stage) -> None:
        await stage.say(Receipt("bad"))
        await stage.say(Receipt("good"))
        assert await stage.said() == [Receipt("good")]
        await turns()
        assert [letter.reason for letter in await stage.bus.dead_letters("hive")] == ["not of this hive"]

    on_stage(play, ScriptedNode(script))


def test_listeners_hear_what_is_shared_until_they_stop_and_may_fail(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[tuple[str, ...]] = []

    def broken(_: tuple[str, ...]) -> None:
        raise RuntimeError("listener broke")

    def script(event: Event) -> list[Effect]:
        assert isinstance(event, Received)
        return [Shared(("f1",)), Acknowledge(event.delivery), Send(("peer",), event.message)]

    async def play(stage: Stage) -> None:
        stage.runner.on_shared(broken)
        stop = stage.runner.on_shared(heard.append)
        await stage.say(Receipt("1"))
        await stage.said()
        stop()
        await stage.say(Receipt("2"))
        await stage.said()

    on_stage(play, ScriptedNode(script))
    assert heard == [("f1",)]
    assert "listener broke" in caplog.text


# ── failing ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_journal_that_fails_stops_everything_and_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    async def play(stage: Stage) -> None:
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

    on_stage(play, ScriptedNode(keep))
    assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) == 1


def test_a_node_that_breaks_is_stopped_because_its_state_may_be_half_of_what_it_should_be() -> None:
    def script(event: Event) -> list[Effect]:
        if isinstance(event, Received):
            raise ZeroDivisionError("a bug")
        return []

    async def play(stage: Stage) -> None:
        waiting = asyncio.create_task(stage.runner.promote([PROMOTION]))
        await turns()
        await stage.say(Receipt("trigger"))
        with pytest.raises(BackendError, match="a bug"):
            await waiting
        with pytest.raises(BackendError, match="a bug"):
            await stage.runner.promote([PROMOTION])

    on_stage(play, ScriptedNode(script))


def test_a_full_queue_costs_the_message_and_not_the_others() -> None:
    def script(event: Event) -> list[Effect]:
        assert isinstance(event, Promote)
        return [Send(("stuck",), Receipt("")), Send(("peer",), Receipt(event.request)), Done(event.request, HELD)]

    async def play(stage: Stage) -> None:
        await listener(stage.bus, "stuck", waiting_max=1)
        for _ in range(100):
            await stage.runner.promote([PROMOTION])
        assert len(await stage.said(100)) == 100
        await until(lambda: stage.runner.figures.sends_lost == 99)

    # Had each of them waited, this would take longer than the stage allows.
    on_stage(play, ScriptedNode(script))


# ── time ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_tick_comes_when_it_is_due_by_the_clock_that_was_handed_in() -> None:
    now_ms = 1000
    node = ScriptedNode(wake_ms=1002)

    def script(event: Event) -> list[Effect]:
        if isinstance(event, Tick):
            node.wake_ms = 1 << 40
            ticked.set()
        return []

    node.script = script
    ticked = asyncio.Event()

    async def play() -> None:
        nonlocal now_ms
        bus, journal = MemoryBus(), TestedJournal()
        runner = NodeRunner(node, journal, bus, clock=lambda: Now(0, now_ms))
        await runner.start()
        # More real time than the clock is away from it; the clock itself stands still.
        await asyncio.sleep(0.02)
        assert not ticked.is_set()
        now_ms = 1002
        await asyncio.wait_for(ticked.wait(), 60)
        await runner.close()

    asyncio.run(play())
    assert node.events == [Tick()]


def test_a_node_that_always_wants_a_tick_leaves_others_their_turn() -> None:
    async def play(stage: Stage) -> None:
        stage.node.wake_ms = 0
        assert await asyncio.wait_for(stage.runner.promote([PROMOTION]), 60) == HELD
        await stage.say(Receipt("x"))
        assert await asyncio.wait_for(stage.said(), 60) == [Receipt("x")]

    on_stage(play, ScriptedNode(keep, wake_ms=0))


def test_ticks_do_not_pile_up_behind_a_slow_disk() -> None:
    async def play(stage: Stage) -> None:
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

    on_stage(play, ScriptedNode(keep, wake_ms=0))


# ── life ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_node_starts_with_what_the_journal_kept_and_what_it_wants_then_is_durable() -> None:
    kept = [Put("dots", b"a", b"1"), Put("outbox", b"b", b"2")]
    node = ScriptedNode(at_start=[persist("incarnation")])

    async def play() -> None:
        journal = TestedJournal(kept=kept)
        runner = NodeRunner(node, journal, MemoryBus())
        await runner.start()
        assert node.kept == kept
        assert Put("dots", b"incarnation", b"") in await journal.load()
        await runner.close()

    asyncio.run(play())


@pytest.mark.parametrize("moment", ["load", "write"])
def test_a_start_that_fails_can_be_closed_and_leaves_nothing(moment: str) -> None:
    class Broken(TestedJournal):
        async def load(self) -> list[Put]:
            if moment == "load":
                raise DatabaseUnreadable("sqlite", "damaged")
            return []

        async def write(self, records: Any) -> None:
            del records
            raise BackendError("sqlite", "disk is full")

    async def play() -> None:
        bus, journal = MemoryBus(), Broken()
        runner = NodeRunner(ScriptedNode(at_start=[persist()]), journal, bus)
        with pytest.raises(HiveError, match=r"damaged|disk is full"):
            await runner.start()
        await runner.close()
        assert journal.is_closed_now
        await listener(bus, "node")
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(play())


def test_closing_finishes_what_is_waiting_and_refuses_the_rest() -> None:
    def script(event: Event) -> list[Effect]:
        match event:
            case Fetch(request):
                return [Send(("peer",), FactsRequest(request, (), 1000))]
            case Received("peer", FactsReply(query), delivery):
                return [Done(query, ()), Acknowledge(delivery)]
            case _:
                return keep(event)

    async def play(stage: Stage) -> None:
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

    on_stage(play, ScriptedNode(script))


def test_closing_ends_after_its_drain_time_and_tells_who_still_waits() -> None:
    async def play(stage: Stage) -> None:
        waiting = asyncio.create_task(stage.runner.retract(["f1"], "ann"))
        await turns()
        await stage.runner.close(drain_s=0.01)
        with pytest.raises(BackendUnavailable, match="not running"):
            await waiting

    on_stage(play, ScriptedNode(keep))


def test_closing_does_not_tear_a_write_apart() -> None:
    async def play(stage: Stage) -> None:
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

    on_stage(play, ScriptedNode(keep))


def test_a_runner_that_was_never_started_can_be_closed() -> None:
    async def play() -> None:
        journal = TestedJournal()
        runner = NodeRunner(ScriptedNode(), journal, MemoryBus())
        with pytest.raises(BackendUnavailable, match="not running"):
            await runner.promote([PROMOTION])
        await runner.close()
        assert journal.is_closed_now

    asyncio.run(play())
