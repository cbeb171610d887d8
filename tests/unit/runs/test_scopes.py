"""Values that outlive a run: who reads them, when they are told, and what a node that names none of them sees.

A worker is plain values: what a file says, what a step keeps and what a program writes are the same.
"""

import pytest
from pydantic import ValidationError

from hive_mind.errors import WorkerFileError
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.runs import effects as e
from hive_mind.runs.prompt import PromptContext, instructions
from hive_mind.runs.spec import SUB_AGENT_TURNS, sub_agent
from hive_mind.runs.worker_file import worker_of
from tests.unit.runs.flow import Flow, worker

READS = {"id": "a", "inputs": ["rate"], "outputs": ["sum"]}
OTHER = {"id": "b", "outputs": ["note"]}


def prompt_at(flow: Flow, node: str) -> str:
    return instructions(flow.state, flow.at(node), PromptContext())


def test_what_others_share_is_read_when_a_node_begins_and_shown_to_no_other() -> None:
    flow = Flow(worker(READS, OTHER, edges=["a b"], scopes={"rate": "fleet"}))
    wanted = flow.one(e.ReadShared, "a")
    assert wanted.keys == {"rate": "fleet"}
    assert not flow.all(e.CallModel)
    flow.give(e.SharedValuesRead(wanted.id, {"rate": "0.25"}))
    assert "rate: 0.25" in prompt_at(flow, "a")
    flow.do("a", sum=1)
    assert "0.25" not in prompt_at(flow, "b")
    assert "rate" not in flow.state.buffer


def test_only_accepted_outputs_are_told_and_the_run_ends_when_they_are() -> None:
    flow = Flow(worker(READS, scopes={"sum": "stream"}))
    flow.sets("a", sum=7)
    assert not flow.all(e.Share)
    flow.judge("a")
    assert not flow.state.is_whole
    assert not flow.state.is_waiting
    shared = flow.one(e.Share)
    assert (shared.keys, shared.values) == ({"sum": "stream"}, {"sum": 7})
    flow.give(e.Done(shared.id))
    assert flow.state.is_whole
    assert flow.give(e.Done(shared.id)) == (), "told twice"


def test_what_a_run_writes_is_told_before_the_next_node_reads() -> None:
    again = {"id": "b", "inputs": ["sum"], "outputs": ["note"]}
    flow = Flow(worker(OTHER | {"id": "a", "outputs": ["sum"]}, again, edges=["a b"], scopes={"sum": "stream"}))
    flow.do("a", sum=7)
    assert not flow.all(e.ReadShared)
    flow.give(e.Done(flow.one(e.Share).id))
    flow.give(e.SharedValuesRead(flow.one(e.ReadShared, "b").id, {"sum": 8}))
    assert "sum: 8" in prompt_at(flow, "b"), "somebody wrote later"


def test_where_a_goal_judges_the_whole_only_its_run_reads_what_it_set_and_the_last_is_told() -> None:
    again = {"id": "b", "inputs": ["sum"], "outputs": ["sum"]}
    goal = {"id": "g", "description": "d"}
    flow = Flow(worker({"id": "a", "outputs": ["sum"]}, again, edges=["a b"], goal=goal, scopes={"sum": "stream"}))
    flow.do("a", sum=7)
    assert not flow.all(e.Share)
    flow.give(e.SharedValuesRead(flow.one(e.ReadShared, "b").id, {"sum": 1}))
    assert "sum: 7" in prompt_at(flow, "b")
    flow.do("b", sum=8)
    flow.whole(JudgmentAction.RETRY)
    flow.give(e.SharedValuesRead(flow.one(e.ReadShared, "b").id, {}))
    flow.do("b", sum=9)
    assert not flow.all(e.Share)
    flow.whole()
    shared = flow.one(e.Share)
    assert (shared.values, flow.state.outcome) == ({"sum": 9}, None)
    flow.give(e.Done(shared.id))
    assert (flow.state.outcome, flow.state.reason) == ("accepted", "so")


@pytest.mark.parametrize("action", [JudgmentAction.ESCALATE, JudgmentAction.ACCEPT])
def test_what_a_person_rejects_as_a_whole_is_told_to_nobody(action: JudgmentAction) -> None:
    flow = Flow(worker({"id": "a", "outputs": ["sum"]}, goal={"id": "g", "description": "d"}, scopes={"sum": "fleet"}))
    flow.do("a", sum=7)
    flow.whole(JudgmentAction.ESCALATE)
    flow.decide(flow.ask(), action)
    assert bool(flow.all(e.Share)) is (action is JudgmentAction.ACCEPT)
    assert flow.state.outcome == (None if flow.all(e.Share) else "rejected")


def test_what_the_others_do_not_take_ends_the_run_and_says_why() -> None:
    flow = Flow(worker(READS, scopes={"sum": "fleet"}))
    flow.do("a", sum="much")
    flow.give(e.Failed(flow.one(e.Share).id, "it is too long"))
    assert flow.state.outcome == "failed"
    assert "too long" in flow.state.reason


def test_a_pause_comes_before_the_reading_so_that_it_is_not_old() -> None:
    flow = Flow(worker(READS, scopes={"rate": "fleet"}, pause_nodes=["a"]))
    assert not flow.all(e.ReadShared)
    flow.decide(flow.ask("a"))
    flow.give(e.SharedValuesRead(flow.one(e.ReadShared, "a").id, {"rate": 3}))
    assert flow.all(e.CallModel, "a")


def test_values_are_kept_while_a_node_is_tried_again() -> None:
    flow = Flow(worker(READS, scopes={"rate": "fleet"}))
    flow.give(e.SharedValuesRead(flow.one(e.ReadShared, "a").id, {"rate": 3}))
    flow.sets("a", sum=1)
    flow.judge("a", JudgmentAction.RETRY, "no")
    assert "rate: 3" in prompt_at(flow, "a")


def test_conditions_and_arguments_see_what_was_read() -> None:
    pay = {"id": "pay", "kind": "tool", "tool": "pay", "args": {"rate": "$rate"}, "inputs": ["rate"]}
    edge = {"source": "a", "target": "pay", "on": "condition", "when": "output.rate > 2"}
    flow = Flow(worker(READS, pay, edges=[edge], scopes={"rate": "fleet"}))
    flow.give(e.SharedValuesRead(flow.one(e.ReadShared, "a").id, {"rate": 3}))
    flow.do("a", sum=1)
    flow.give(e.SharedValuesRead(flow.one(e.ReadShared, "pay").id, {"rate": 4}))
    (proceed,) = flow.all(e.Proceed, "pay")
    flow.give(e.Done(proceed.id))
    assert flow.one(e.CallTool, "pay").call.arguments == {"rate": 4}


@pytest.mark.parametrize(
    ("scopes", "told"),
    [
        ("{nobody: stream}", "no node reads or sets 'nobody'"),
        ("{sum: world}", "has to be stream or fleet"),
        ("{'../sum': fleet}", "scopes"),
    ],
)
def test_a_mistake_in_scopes_is_told_where_it_stands(scopes: str, told: str) -> None:
    with pytest.raises(WorkerFileError, match=told):
        worker_of(
            "apiVersion: hive-mind/v1\nkind: Worker\n"
            f"spec: {{id: w, entry: a, scopes: {scopes}, nodes: [{{id: a, outputs: [sum]}}]}}\n"
        )


@pytest.mark.parametrize("name", ["", "1st", "two words", "a/b", "x" * 64])
def test_a_node_has_a_name_that_prompts_and_steps_can_say(name: str) -> None:
    with pytest.raises(ValidationError, match="pattern"):
        worker(name)


def test_a_sub_agent_runs_alone_with_its_task_and_delegates_nothing_itself() -> None:
    look = {"id": "look", "prompt": "Look closely.", "inputs": ["x"], "outputs": ["found"]}
    spec = worker({"id": "lead", "subagents": ["look"]}, subagents=[look], inputs=["x"], identity="We look.")
    child = sub_agent(spec, "look", "at the pumps", spec.limits)
    assert [node.id for node in child.nodes] == ["look"]
    assert child.identity == "We look."
    assert child.nodes[0].prompt == "Look closely.\n\nYour task: at the pumps"
    assert not child.nodes[0].subagents
    assert not child.subagents
    assert child.limits.turns == child.nodes[0].turns == SUB_AGENT_TURNS


def test_a_sub_agent_has_the_turns_that_its_node_says_but_never_more_than_the_worker() -> None:
    spec = worker("lead", subagents=[{"id": "look", "turns": 30}], limits={"turns": 20})
    assert sub_agent(spec, "look", "x", spec.limits).nodes[0].turns == 30
    assert sub_agent(spec, "look", "x", spec.limits).limits.turns == 20
