"""A run is its steps: cut anywhere and taken up, it wants what it wanted, and what comes late or twice means nothing.

Going in circles is told once; then a person is asked. What changes in its results is no circle.
"""

from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from hive_mind.judge.judgment import Judgment
from hive_mind.model.content import Reply
from hive_mind.model.entry import Entry
from hive_mind.runs import effects as e
from hive_mind.runs.accepted import accepted
from hive_mind.runs.effects import ToolTraits, wanted
from hive_mind.runs.fold import fold, folded
from hive_mind.runs.prompt import SHOWN_CHARACTERS_MAX, shown
from hive_mind.runs.state import TURNS, Call, RunState, digest_of
from hive_mind.runs.steps import (
    Answered,
    Compacted,
    Entered,
    Parked,
    Replanned,
    Replied,
    Resumed,
    Started,
    Warned,
    entry_of,
    step_of,
)
from tests.chance import examples
from tests.unit.runs.flow import ACCEPT, ESCALATE, REPLAN, RETRY, Flow, call, worker

TRAITS = {"pay": ToolTraits(is_idempotent=False), "sign": ToolTraits(needs_approval=True)}
NODES = (
    {"id": "s", "outputs": ["x"]},
    {"id": "a", "writes": ["y"], "attempts": 2, "timeout_s": 50},
    {"id": "b", "kind": "tool", "tool": "pay", "outputs": ["z"], "attempts": 2},
    {"id": "q", "kind": "person", "outputs": ["word"]},
    {"id": "d", "join": "all", "requires_approval": True, "visits": 2},
    {"id": "f"},
)
SPEC = worker(
    *NODES,
    edges=["s a", "s b", "b q", "a d", "q d", "d f", "a f failure"],
    planner="s",
    pause_nodes=["f"],
    goal={"id": "g"},
    limits={"turns": 7, "seconds": 100},
    context_tokens=1_000,
)

TALK = {"id": "a", "outputs": ["x"]}


def events_for(effect: e.Effect, draw: st.DrawFn, number: int) -> Iterator[e.Event]:
    """What might come of an effect."""
    actions = st.sampled_from([ACCEPT, ACCEPT, RETRY, REPLAN, ESCALATE])
    match effect:
        case e.CallModel():
            names = draw(st.lists(st.sampled_from(["look", "pay", "sign", "ask_person", "set_output"]), max_size=3))
            yield e.ModelSaid(effect.id, Reply("t" * 900, tuple(call(name, n=number) for name in names), 5, 5))
        case e.CallTool():
            outputs = {"x": number} if effect.call.name == "set_output" else {}
            yield e.ToolGave(effect.id, e.ToolResult(f"gave {number}", number, is_error=draw(st.booleans()), outputs=outputs))
        case e.AskJudge():
            yield e.JudgeSaid(effect.id, Judgment(action=draw(actions), reasoning=f"r{number}"))
        case e.AskPerson():
            yield e.ItemOpened(effect.id, f"i{number}")
        case e.AwaitDecision():
            yield Answered(effect.id, draw(actions), "ines", edit=draw(st.none() | st.just({"x": 1})))
        case e.Compact() | e.Proceed():
            yield e.Done(effect.id)
        case e.WakeIn() if draw(st.integers(0, 30)) == 0:
            yield e.Done(effect.id)


@st.composite
def runs(draw: st.DrawFn) -> tuple[Flow, list[e.Event]]:
    """A run to anywhere, and the events that brought it there."""
    flow, events = Flow(SPEC, traits=TRAITS), list[e.Event]()
    for number in range(draw(st.integers(0, 60))):
        if not flow.wants:
            break
        for event in events_for(draw(st.sampled_from(flow.wants)), draw, number):
            flow.give(event, draw(st.integers(0, 900)))
            events.append(event)
    return flow, events


def resumed(entries: list[Entry]) -> RunState:
    return fold(folded(entries), Resumed(), entries[-1].at_ms + 1_000_000)


def is_one_that_may_have_happened(effect: e.Effect, state: RunState) -> bool:
    calls = {id: one for place in state.places.values() for id, one in place.calls.items()}
    return isinstance(effect, e.CallTool) and calls[effect.call.id].phase == "intended"


@settings(max_examples=2 * examples())
@given(runs())
def test_a_run_wants_something_until_it_ends_nothing_twice_and_the_same_when_it_is_cut_and_taken_up(
    run: tuple[Flow, list[e.Event]],
) -> None:
    flow, events = run
    state, ids = folded(flow.entries), [one.id for one in flow.wants]
    assert state == flow.state
    before, after = wanted(state, flow.plan), wanted(resumed(flow.entries), flow.plan)
    uncertain = [one for one in before if is_one_that_may_have_happened(one, state)]
    assert [one for one in after if one in before] == [one for one in before if one not in uncertain]
    new = [one for one in after if one not in before]
    assert [(type(one), one.place) for one in new] == [(e.AskPerson, one.place) for one in uncertain]
    assert all("may have run" in one.title for one in new if isinstance(one, e.AskPerson))

    assert len(ids) == len(set(ids)), "each has a name of its own"
    done = {one.effect for one in events if isinstance(one, e.ModelSaid | e.ToolGave | e.JudgeSaid | e.ItemOpened | Answered)}
    assert not done & set(ids), "what was done is not wanted again"
    for event in events:
        if getattr(event, "effect", "") not in ids:
            assert accepted(state, flow.plan, event) == (), "for the second time, or too late"
    assert bool(ids) == (state.outcome is None)
    if state.is_waiting:
        assert {type(one) for one in flow.wants} == {e.AwaitDecision}


@settings(max_examples=2 * examples())
@given(runs())
def test_what_a_run_counts_is_what_its_steps_say_at_each_of_them_within_its_limits(run: tuple[Flow, list[e.Event]]) -> None:
    flow, _ = run
    state = RunState()
    for number, entry in enumerate(flow.entries, start=1):
        state = fold(state, step_of(entry), entry.at_ms)
        assert state == folded(flow.entries[:number])
        assert state.seq == number
    assert state == flow.state
    assert state.active_ms <= state.at_ms - state.begun_ms, "no time is counted twice"
    assert all(place.active_ms <= state.active_ms for place in state.places.values())
    assert state.turns <= SPEC.limits.turns
    assert all(count <= SPEC.by_id[node].visits for node, count in state.visits.items())

    steps = flow.steps
    replies, parked = ([step for step in steps if isinstance(step, kind)] for kind in (Replied, Parked))
    assert state.files == sum(len(reply.calls) for reply in replies)
    assert state.turns == sum(reply.is_model for reply in replies)
    assert state.tokens == sum(getattr(step, "tokens", 0) for step in steps)
    assert state.asked == sum(not step.place for step in parked)
    assert state.conversations == sum(isinstance(step, Compacted) for step in steps)
    assert state.replans == sum(isinstance(step, Replanned) for step in steps)
    assert list(state.path) == [step.node for step in steps if isinstance(step, Entered)]
    assert state.entered == len(state.path)
    for place in state.places.values():
        own = [step for step in steps if getattr(step, "place", "") == place.id]
        assert place.asked == sum(isinstance(step, Parked) and not step.call for step in own)
        assert place.compactions == sum(isinstance(step, Compacted) for step in own)
        calls = [reply for reply in own if isinstance(reply, Replied)][-1:]
        numbers = [waiting.number for waiting in place.calls.values()]
        before = sum(len(reply.calls) for reply in replies[: replies.index(calls[0])]) if calls else 0
        assert numbers == list(range(before + 1, before + 1 + len(numbers)))


def test_nothing_is_wanted_of_a_run_that_has_not_begun() -> None:
    plan = Flow(SPEC).plan
    assert wanted(RunState(), plan) == accepted(RunState(), plan, e.Word("hello")) == ()


def test_results_stand_in_the_order_of_the_calls_whatever_ended_first() -> None:
    flow = Flow(worker(TALK))
    flow.says("a", call("look", q="1"), call("look", q="2"))
    first, second = flow.all(e.CallTool, "a")
    assert (first.number, second.number) == (1, 2)
    flow.give(e.ToolGave(second.id, e.ToolResult("two")))
    # While a tool is at work nothing is judged.
    assert [one for one in flow.wants if not isinstance(one, e.WakeIn)] == [first]
    flow.give(e.ToolGave(first.id, e.ToolResult("one")))
    assert [message.text for message in flow.at("a").messages[-2:]] == ["one", "two"]


def test_events_of_nobody_mean_nothing() -> None:
    flow = Flow(SPEC)
    assert flow.give(e.Done("nothing")) == ()
    assert flow.give(e.Word("hello")) == ()
    assert flow.give(Answered("i9", ACCEPT, "ines")) == ()


def test_a_newer_definition_takes_over_where_the_run_is() -> None:
    flow = Flow(worker("a", "b", edges=["a b"]))
    newer = worker({"id": "a", "prompt": "New."}, "c", edges=["a c"])
    flow.keep([Resumed(newer.model_dump(mode="json", by_alias=True, exclude_defaults=True))])
    flow.do("a")
    assert flow.nodes == ["c"]


def test_a_step_is_the_same_when_it_is_read_again() -> None:
    step = Started({"id": "w"}, {"x": [1, None]}, "parent")
    assert step_of(entry_of(step, 5)) == step


def same_turns(flow: Flow, times: int = TURNS) -> None:
    for _ in range(times):
        flow.turn("a", call("look", q="1"), results=["nothing"])


def test_the_same_calls_with_the_same_results_are_warned_of_once_and_then_a_person_is_asked() -> None:
    flow = Flow(worker(TALK))
    same_turns(flow)
    assert isinstance(flow.one(e.Proceed, "a").step, Warned)
    flow.go_on()
    assert "the same results 3 times in a row" in flow.at("a").messages[-1].text
    same_turns(flow)
    flow.go_on()
    assert sum(isinstance(step, Warned) for step in flow.steps) == 1
    assert "repeats the same calls" in flow.one(e.AskPerson, "a").why


def test_two_alike_are_no_circle_yet() -> None:
    flow = Flow(worker(TALK))
    same_turns(flow, TURNS - 1)
    assert flow.one(e.CallModel, "a")


def test_calls_whose_results_differ_are_no_circle() -> None:
    flow = Flow(worker(TALK))
    for number in range(2 * TURNS):
        flow.turn("a", call("look", q="1"), results=[f"{number} found"])
    assert flow.one(e.CallModel, "a")


def test_calls_with_other_arguments_are_no_circle() -> None:
    flow = Flow(worker(TALK))
    for number in range(2 * TURNS):
        flow.turn("a", call("look", q=str(number)), results=["nothing"])
    assert flow.one(e.CallModel, "a")


def told(text: str, number: int) -> str:
    one = Call(call("look", q="1"), number, "done", shown("look", text, f"look_{number}.txt"))
    return digest_of([one])


def test_the_file_a_result_is_saved_to_makes_no_difference_however_long_it_is() -> None:
    for text in ("short", "x" * (SHOWN_CHARACTERS_MAX + 1)):
        assert told(text, 1) == told(text, 2)


@given(st.text(max_size=40), st.text(max_size=40))
def test_results_that_differ_have_digests_that_differ(one: str, other: str) -> None:
    assert (told(one, 1) == told(other, 2)) == (one == other)
