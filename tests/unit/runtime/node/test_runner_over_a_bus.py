"""A slow bus holds nobody up, a bus that is gone stops nothing, and what it brings is looked at before it is believed."""

import asyncio
import logging

import pytest

from hive_mind.bus import Envelope
from hive_mind.errors import BackendTimeout, BackendUnavailable, HiveError
from hive_mind.hive.effects import Acknowledge, Done, Effect, Event, Fetch, Now, Promote, Received, Reconnected, SearchLocal, Send
from hive_mind.model.messages import FactsReply, FactsRequest, Receipt, Replicate
from hive_mind.runtime.node.outgoing import OutgoingSettings
from tests.unit.runtime.running import HELD, PROMOTION, ScriptedNode, listener, on_stage, persist, turns
from tests.waiting import until

GONE = BackendUnavailable("memory", "it went away")


def talk(event: Event) -> list[Effect]:
    """Three messages for what is promoted; questions are answered, receipts kept."""
    match event:
        case Promote(request):
            return [*(Send(("peer",), Receipt(f"{request} {n}")) for n in range(3)), Done(request, HELD)]
        case Fetch(request):
            return [SearchLocal(FactsRequest(request, (), 1000), "node")]
        case Received("node", FactsReply(query)):
            return [Done(query, ())]
        case Received(sender, FactsRequest() as question, delivery):
            return [SearchLocal(question, sender), Acknowledge(delivery)]
        case Received(_, _, delivery):
            return [persist(delivery), Acknowledge(delivery)]
        case _:
            return []


def keeping(**settings: float) -> OutgoingSettings:
    return OutgoingSettings(**settings)  # type: ignore[arg-type]


async def test_what_one_step_sends_goes_out_in_one_call_in_order_and_what_comes_meanwhile_together_afterwards() -> None:
    async with on_stage(ScriptedNode(talk)) as stage:
        await asyncio.gather(stage.runner.promote([PROMOTION]), stage.runner.promote([PROMOTION]))
        assert [str(message).split()[-1][0] for message in await stage.said(6)] == list("012012")

        stage.bus.hold()
        await stage.runner.promote([PROMOTION])
        await turns()
        for _ in range(4):
            await stage.runner.promote([PROMOTION])
        stage.bus.allow()
        await stage.said(15)
        assert [len(batch) for batch in stage.bus.batches] == [6, 3, 12]


async def test_no_batch_is_larger_than_it_may_be() -> None:
    async with on_stage(ScriptedNode(talk), outgoing=keeping(batch_max=5)) as stage:
        await asyncio.gather(*(stage.runner.promote([PROMOTION]) for _ in range(4)))
        await stage.said(12)

        assert [len(batch) for batch in stage.bus.batches] == [5, 5, 2]


async def test_a_slow_bus_holds_up_neither_questions_of_this_process_nor_acknowledgements() -> None:
    async with on_stage(ScriptedNode(talk)) as stage:
        stage.bus.hold()
        await stage.runner.promote([PROMOTION])
        await turns()

        assert await stage.runner.fetch([("f1", "")]) == ()
        assert await stage.runner.promote([PROMOTION]) == HELD
        await stage.say(Receipt("acknowledge me"))
        await until(lambda: bool(stage.journal.writes))
        await until(lambda: not stage.runner.figures.waiting)
        assert not stage.bus.batches


async def test_an_envelope_says_when_it_was_sent_and_what_it_belongs_to() -> None:
    def script(event: Event) -> list[Effect]:
        assert isinstance(event, Promote)
        return [Send(("peer",), FactsRequest("query", (), 1000)), Send(("peer",), Receipt("")), Done(event.request, HELD)]

    async with on_stage(ScriptedNode(script), clock=lambda: Now(1234, 1)) as stage:
        await stage.runner.promote([PROMOTION])
        question, receipt = [delivery.envelope for delivery in await stage.peer.take(2)]

        assert (question.hive, question.sender, question.target) == ("hive", "node", ("peer",))
        assert (question.type, question.correlation_id, question.sent_ms) == ("facts?", "query", 1234)
        assert receipt.correlation_id == ""
        assert question.id != receipt.id


async def test_a_message_that_is_too_large_costs_itself_alone(caplog: pytest.LogCaptureFixture) -> None:
    def script(event: Event) -> list[Effect]:
        assert isinstance(event, Promote)
        large = Send(("peer",), Replicate("huge", ()))
        return [Send(("peer",), Receipt("1")), large, Send(("peer",), Receipt("2")), Done(event.request, HELD)]

    async with on_stage(ScriptedNode(script)) as stage:
        stage.bus.refused = {"replicate"}
        await stage.runner.promote([PROMOTION])
        assert await stage.said(2) == [Receipt("1"), Receipt("2")]
        await until(lambda: stage.runner.figures.sends_lost == 1)
    assert "is larger than" in caplog.text


@pytest.mark.parametrize("error", [GONE, BackendTimeout("memory", "no answer")])
async def test_while_the_bus_is_gone_the_node_answers_and_sends_it_all_when_it_is_back(
    error: HiveError, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with on_stage(ScriptedNode(talk)) as stage:
        stage.bus.error = error
        for _ in range(3):
            assert await stage.runner.promote([PROMOTION]) == HELD
            assert await stage.runner.fetch([("f1", "")]) == ()
            await asyncio.sleep(0.01)
        assert Reconnected() not in stage.node.events
        assert stage.runner.is_busy
        stage.bus.error = None

        assert [str(message).split()[-1][0] for message in await stage.said(9)] == list("012012012")
        await until(lambda: stage.node.events.count(Reconnected()) == 1)
        assert stage.runner.figures.sends_lost == 0
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


async def test_what_waits_for_the_bus_is_bounded_and_the_oldest_goes_first() -> None:
    async with on_stage(ScriptedNode(talk), outgoing=keeping(kept_max=6)) as stage:
        stage.bus.error = GONE
        for _ in range(20):
            await stage.runner.promote([PROMOTION])
            await turns()
        # Dropping takes turns of its own, more where the machine is busy.
        await until(lambda: len(stage.runner._outgoing) <= 6 + 3)
        stage.bus.error = None
        last = (await stage.runner.promote([PROMOTION]), stage.node.events[-1])[1]
        assert isinstance(last, Promote)

        await until(lambda: Receipt(f"{last.request} 2") in stage.bus.sent())
        assert stage.runner.figures.sends_lost == 63 - len(stage.bus.sent())
        assert len(stage.bus.sent()) <= 6 + 3


async def test_what_waited_too_long_for_the_bus_is_not_sent_any_more() -> None:
    async with on_stage(ScriptedNode(talk), outgoing=keeping(kept_s=0.05)) as stage:
        stage.bus.error = GONE
        await stage.runner.promote([PROMOTION])
        await until(lambda: stage.runner.figures.sends_lost == 3)
        stage.bus.error = None
        await stage.runner.promote([PROMOTION])

        assert len(await stage.said(3)) == 3
        assert len(stage.bus.sent()) == 3


async def test_a_reader_that_had_to_connect_anew_lets_the_node_repeat_what_may_be_lost() -> None:
    async with on_stage(ScriptedNode(talk)) as stage:
        await stage.say(Receipt(""))
        await until(lambda: len(stage.node.events) == 1)
        stage.bus.reconnects = 1
        stage.runner._look_at_ms = 0
        await stage.say(Receipt(""))
        await until(lambda: len(stage.node.events) == 3)
        await stage.say(Receipt(""))
        await until(lambda: len(stage.node.events) == 4)

        assert [type(event) for event in stage.node.events] == [Received, Reconnected, Received, Received]


async def test_closing_sends_what_waits_and_does_not_wait_for_a_bus_that_is_gone() -> None:
    async with on_stage(ScriptedNode(talk)) as stage:
        stage.bus.hold()
        await stage.runner.promote([PROMOTION])
        closing = asyncio.create_task(stage.runner.close())
        await turns()
        assert not closing.done()
        stage.bus.allow()
        await closing
        assert len(stage.bus.sent()) == 3
    async with on_stage(ScriptedNode(talk)) as stage:
        stage.bus.error = GONE
        await stage.runner.promote([PROMOTION])
        await stage.runner.close(drain_s=0.05)


async def test_closing_does_not_try_one_after_the_other_what_finds_no_room() -> None:
    def script(event: Event) -> list[Effect]:
        assert isinstance(event, Promote)
        return [*(Send(("full",), Receipt(f"{event.request} {n}")) for n in range(5)), Done(event.request, HELD)]

    async with on_stage(ScriptedNode(script), outgoing=keeping(wait_s=0.4)) as stage:
        full = await listener(stage.bus, "full", waiting_max=1)
        for _ in range(40):
            await stage.runner.promote([PROMOTION])
        # It has begun to send each alone.
        await until(lambda: stage.runner.figures.sends_lost > 0)

        # One after the other they would take 80 seconds.
        async with asyncio.timeout(30):
            await stage.runner.close(drain_s=0.05)
        await full.inbox.close()


async def test_a_question_whose_time_is_over_when_its_turn_comes_is_dropped() -> None:
    now_ms = 1000

    class Slow(ScriptedNode):
        def search(self, request: object, now: Now) -> FactsReply:
            nonlocal now_ms
            del now
            assert isinstance(request, FactsRequest)
            now_ms += 60
            return FactsReply(request.query, ())

    async with on_stage(Slow(talk), clock=lambda: Now(0, now_ms)) as stage:
        for number in range(5):
            await stage.say(FactsRequest(f"q{number}", (), 100), sent_ms=1)
        assert await stage.said(2) == [FactsReply("q0", ()), FactsReply("q1", ())]
        await until(lambda: stage.runner.figures.answers_late == 3)


async def test_a_wrong_clock_of_the_asker_costs_no_answer() -> None:
    async with on_stage(ScriptedNode(talk), clock=lambda: Now(1 << 40, 5)) as stage:
        await stage.say(FactsRequest("old", (), 100), sent_ms=1)
        await stage.say(FactsRequest("new", (), 100), sent_ms=1 << 50)
        assert await stage.said(2) == [FactsReply("old", ()), FactsReply("new", ())]


async def test_many_questions_of_others_leave_this_process_its_turn() -> None:
    answered: list[int] = []

    class Counting(ScriptedNode):
        def search(self, request: object, now: Now) -> FactsReply:
            del now
            assert isinstance(request, FactsRequest)
            answered.append(len(answered))
            return FactsReply(request.query, ())

    async with on_stage(Counting(talk)) as stage:
        await stage.say(FactsRequest("many", (), 100_000), times=100)
        await stage.runner.promote([PROMOTION])
        await asyncio.sleep(0)
        await stage.runner.fetch([("f1", "")])
        assert len(answered) < 50
        assert len(await stage.said(103)) == 103


async def test_what_comes_in_the_nodes_own_name_is_acknowledged_and_not_believed() -> None:
    async with on_stage(ScriptedNode(talk), knows=lambda name: name == "peer") as stage:
        await stage.say(FactsReply("q", ()), sender="node")
        await stage.say(Receipt("ours"))
        await until(lambda: not stage.runner.is_busy and bool(stage.node.events))
        assert (stage.runner.figures.echoes, stage.runner.figures.strangers) == (1, 0)
        # A stranger is counted and heard.
        await stage.say(Receipt("1"), sender="joiner")
        await until(lambda: not stage.runner.is_busy and len(stage.node.events) == 2)

        assert [event.sender for event in stage.node.events if isinstance(event, Received)] == ["peer", "joiner"]
        assert (stage.runner.figures.echoes, stage.runner.figures.strangers) == (1, 1)
        (state,) = [state for state in await stage.bus.queues("hive") if state.name == "node"]
        assert (state.waiting, state.unacknowledged, state.dead) == (0, 0, 0)


async def test_a_message_of_another_hive_never_reaches_the_node() -> None:
    async with on_stage(ScriptedNode(talk)) as stage:
        await stage.say(Receipt("ours"))
        await until(lambda: len(stage.node.events) == 1)
        delivery = Smuggled()
        stage.runner._intake.take(delivery, 1, lambda: Now(1, 1))  # type: ignore[arg-type]
        await until(lambda: bool(delivery.reasons))

        assert (len(stage.node.events), stage.runner.figures.foreign) == (1, 1)
        assert delivery.reasons == ["it belongs to hive 'another'"]


class Smuggled:
    """An inbox with one delivery that no bus would hand out."""

    attempt, waited_ms = 1, 0

    def __init__(self) -> None:
        self.envelope = Envelope("x", "another", "peer", ("node",), "receipt", Receipt("theirs"))
        self.reasons: list[str] = []

    def take(self, deliveries_max: int) -> "list[Smuggled]":
        del deliveries_max
        return [self]

    async def dead_letter(self, reason: str, *, is_proven: bool = True) -> None:
        assert is_proven
        self.reasons.append(reason)
