"""What a run may spend: turns, tokens, money and time. The last turn only reports, and waiting for a person costs nothing."""

from typing import Any

import pytest

from hive_mind.agents.runs.performer import Budget
from hive_mind.agents.runs.run_tools import RunFiles, RunTools
from hive_mind.runs import effects as e
from hive_mind.runs.spec import Limits, WorkerSpec
from hive_mind.runs.steps import Ended, Resumed
from hive_mind.tools import Toolbox
from hive_mind.tools.functions import tool
from tests.unit.runs.flow import RETRY, Flow, call, worker

TALK = {"id": "a", "outputs": ["x"], "tools": ["look"]}


@tool
def look(q: str) -> str:
    """Look something up."""
    return q


def test_a_run_that_used_its_turns_is_exhausted() -> None:
    flow = Flow(worker(TALK, limits={"turns": 2}))
    flow.turn("a", call("look", q="1"))
    flow.turn("a", call("look", q="2"))
    flow.go_on()
    assert flow.ended == ("exhausted", "all 2 turns of the run are used")


def test_branches_that_think_at_once_do_not_take_more_turns_than_there_are() -> None:
    flow = Flow(worker("s", "a", "b", edges=["s a", "s b"], limits={"turns": 2}))
    flow.do("s")
    assert [one.is_last for one in flow.all(e.CallModel)] == [True]
    flow.do("a")
    flow.go_on()
    assert (flow.ended, flow.state.turns) == (("exhausted", "all 2 turns of the run are used"), 2)


@pytest.mark.parametrize(
    ("limits", "spent", "why"),
    [
        ({"tokens": 1_000}, {"tokens": 1_000}, "1,000 of 1,000 tokens are used"),
        ({"usd": 0.5}, {"usd": 0.5}, "0.5000 of 0.5 US dollars are used"),
    ],
)
def test_a_run_whose_tokens_or_money_are_just_used_up_is_exhausted(
    limits: dict[str, Any], spent: dict[str, Any], why: str
) -> None:
    flow = Flow(worker(TALK, limits=limits))
    flow.says("a", call("look", q="1"), **spent)
    flow.gives("a", e.ToolResult("ok"))
    flow.go_on()
    assert flow.ended == ("exhausted", why)


def test_what_a_sub_agent_took_counts() -> None:
    flow = Flow(worker({"id": "a", "outputs": ["x"], "subagents": ["s"]}, subagents=[{"id": "s"}], limits={"tokens": 1_000}))
    flow.says("a", call("delegate_to_sub_agent", name="s", task="t"), tokens=100)
    flow.gives("a", e.ToolResult("ok", tokens=900))
    assert flow.state.tokens == 1_000
    assert isinstance(flow.one(e.Proceed, "a").step, Ended)


def test_a_run_that_used_its_money_can_report_once_more_and_is_exhausted() -> None:
    flow = Flow(worker(TALK, limits={"usd": 1}))
    flow.says("a", call("look", q="1"), usd=0.5)
    flow.gives("a", e.ToolResult("ok"))
    assert not flow.one(e.CallModel).is_last
    flow.says("a", call("look", q="2"), usd=0.25)
    flow.gives("a", e.ToolResult("ok", usd=0.2))
    assert flow.one(e.CallModel).is_last
    flow.says("a", call("look", q="3"), usd=0.25)
    flow.gives("a", e.ToolResult("ok"))
    flow.go_on()
    assert flow.ended == ("exhausted", "1.2000 of 1 US dollars are used")


def test_what_a_choice_among_edges_took_counts() -> None:
    flow = Flow(
        worker(
            "a", "b", "c", edges=[{"source": "a", "target": "b", "on": "model"}, {"source": "a", "target": "c", "on": "model"}]
        )
    )
    flow.do("a")
    flow.give(e.Chose(flow.one(e.Choose, "a").id, "c", 70, 0.01))
    assert (flow.nodes, flow.state.tokens, flow.state.usd) == (["c"], 70, 0.01)


def test_a_sub_agent_has_an_equal_part_of_what_is_left_and_never_nothing() -> None:
    flow = Flow(worker(TALK, limits={"tokens": 1_000, "usd": 1}))
    flow.says("a", call("look", q="1"), tokens=400, usd=0.5)

    def part(among: int) -> Limits:
        return Budget(lambda: flow.state).part("s", among)

    assert (part(3).tokens, part(2).usd) == (200, 0.25)
    flow.gives("a", e.ToolResult("ok", tokens=700, usd=0.6))
    assert part(2).tokens == 1
    assert WorkerSpec.model_validate({**flow.state.spec.model_dump(), "limits": part(2).model_dump()})


def test_a_run_that_used_its_time_is_exhausted() -> None:
    flow = Flow(worker(TALK, limits={"seconds": 2.5}))
    flow.says("a", call("look", q="1"), after_ms=2_000)
    assert flow.one(e.WakeIn).ms == 500
    flow.give(e.Done("time"))
    assert flow.ended == ("exhausted", "its 2.5 seconds are used")


def test_the_last_turn_of_a_run_offers_only_what_reports() -> None:
    flow = Flow(worker(TALK, limits={"turns": 2}))
    assert not flow.one(e.CallModel, "a").is_last
    flow.turn("a", call("look", q="1"))
    assert flow.one(e.CallModel, "a").is_last
    assert offered(flow.state.spec, is_last=True) == ["set_output", "ask_person"]
    assert offered(flow.state.spec, is_last=False) == ["set_output", "ask_person", "look"]


def offered(spec: WorkerSpec, *, is_last: bool) -> list[str]:
    tools = RunTools("r", "ada", Toolbox([look]), RunFiles(None))
    return [one.name for one in tools.offered(spec.nodes[0], is_last=is_last)]


def test_a_turn_may_be_the_last_when_nine_tenths_of_the_tokens_are_used() -> None:
    flow = Flow(worker(TALK, limits={"tokens": 1_000}))
    flow.says("a", call("look", q="1"), tokens=899)
    flow.gives("a", e.ToolResult("ok"))
    assert not flow.one(e.CallModel, "a").is_last
    flow.says("a", call("look", q="2"), tokens=1)
    flow.gives("a", e.ToolResult("ok"))
    assert flow.one(e.CallModel, "a").is_last


def test_the_last_turn_of_the_last_attempt_is_a_last_one() -> None:
    flow = Flow(worker(TALK | {"turns": 1, "attempts": 2}))
    assert not flow.one(e.CallModel, "a").is_last
    flow.says("a", text="well")
    flow.judge("a", RETRY)
    assert flow.one(e.CallModel, "a").is_last


def test_a_node_that_used_its_turns_has_failed_for_good() -> None:
    flow = Flow(worker(TALK | {"turns": 2}, "b", edges=["a b failure"]))
    for number in range(2):
        flow.turn("a", call("look", q=str(number)))
    flow.go_on()
    assert (flow.nodes, flow.state.failed) == (["b"], (("a", 1, ("all 2 turns of attempt 1 are used",)),))


def test_without_an_edge_for_its_failure_a_person_is_asked_and_a_retry_gives_all_attempts_again() -> None:
    flow = Flow(worker(TALK | {"attempts": 2}))
    flow.fail("a")
    assert flow.one(e.AskPerson, "a").why == "a is bad"
    flow.answer("a", RETRY, "look at the chain")
    assert flow.at("a").messages[-1].text == "[Person]: look at the chain"
    flow.says("a", text="well")
    flow.judge("a", RETRY)
    assert flow.one(e.CallModel, "a")
    flow.says("a", text="well")
    flow.judge("a", RETRY)
    assert flow.one(e.AskPerson, "a")


def test_a_node_that_takes_longer_than_it_may_has_failed() -> None:
    flow = Flow(worker(TALK | {"timeout_s": 3}, "b", edges=["a b failure"]))
    (wake,) = flow.all(e.WakeIn, "a")
    assert wake.ms == 3_000
    flow.says("a", call("look", q="1"), after_ms=1_000)
    assert flow.one(e.WakeIn, "a").ms == 2_000
    flow.give(e.Done(wake.id))
    assert (flow.nodes, flow.state.failed[0][2]) == (["b"], ("it took longer than 3 seconds",))


def test_each_attempt_has_the_time_of_a_node() -> None:
    flow = Flow(worker(TALK | {"timeout_s": 3}))
    flow.says("a", text="well", after_ms=2_000)
    flow.judge("a", RETRY)
    assert flow.one(e.WakeIn, "a").ms == 3_000


def test_waiting_for_a_person_does_not_count() -> None:
    flow = Flow(worker(TALK | {"timeout_s": 3}))
    flow.says("a", call("ask_person", question="why?"), after_ms=1_000)
    item = flow.ask("a")
    assert flow.all(e.WakeIn) == []
    flow.decide(item, edit="because", after_ms=1_000_000)
    assert flow.state.active_ms == 1_000
    assert flow.one(e.WakeIn, "a").ms == 2_000


def test_a_place_that_waits_is_not_charged_for_what_another_branch_does_meanwhile() -> None:
    nodes = ("s", TALK | {"timeout_s": 3}, {"id": "b", "outputs": ["y"]})
    flow = Flow(worker(*nodes, edges=["s a", "s b"]))
    flow.do("s")
    flow.says("a", call("ask_person", question="why?"))
    item = flow.ask("a")
    flow.says("b", call("look", q="1"), after_ms=10_000)
    assert flow.all(e.WakeIn, "a") == []
    flow.decide(item, edit="because", after_ms=5_000)
    assert flow.one(e.WakeIn, "a").ms == 3_000
    assert flow.state.active_ms == 15_000
    assert flow.at("b").active_ms == 15_000


def test_time_in_which_no_process_had_the_run_does_not_count() -> None:
    flow = Flow(worker(TALK))
    flow.keep([Resumed()], after_ms=60_000)
    assert flow.state.active_ms == 0
