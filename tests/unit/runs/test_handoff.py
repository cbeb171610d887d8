"""What the next node is told about the one before it."""

import json

from hive_mind.judge.judgment import JudgmentAction
from hive_mind.model.content import ToolCall
from hive_mind.runs.effects import ToolResult
from hive_mind.runs.prompt import judgment_of, one_line, result_of, values
from hive_mind.runs.spec import sub_agent
from tests.unit.runs.flow import Flow, call, worker

TALK = {"id": "a", "outputs": ["x"]}


def test_in_one_conversation_the_next_node_sees_it_all_and_a_marker_behind_it() -> None:
    flow = Flow(worker(TALK, "b", edges=["a b"]))
    flow.turn("a", call("look", q="1"), results=["found"])
    flow.do("a", x=1)
    told = flow.at("b").messages
    assert [message.role for message in told] == ["assistant", "tool", "assistant", "tool", "user"]
    assert told[-1].text == (
        "[Phase a is complete.]\nOutputs so far:\n- x: 1\n"
        "Before proceeding, briefly reflect: what went well in the previous phase? Are there any gaps or surprises worth noting?"
    )


def test_a_node_with_a_conversation_of_its_own_gets_outputs_and_the_last_words_and_nothing_else() -> None:
    flow = Flow(worker(TALK, "b", edges=["a b"], context="isolated"))
    flow.says("a", ToolCall("x", "set_output", {"key": "x", "value": 1}), text="word " * 200)
    flow.gives("a", ToolResult("ok", outputs={"x": 1}))
    flow.judge("a")
    (message,) = flow.at("b").messages
    assert message.text.startswith("[a handed over.]\nOutputs so far:\n- x: 1\nWhat it said last: word word")
    assert message.text.endswith("…")
    assert len(message.text) < 700


def test_values_are_one_line_each_by_name_and_cut() -> None:
    told = values({"b": {"deep": [1]}, "a": "two\nlines", "c": "x" * 300})
    assert told.splitlines() == ["- a: two lines", '- b: {"deep": [1]}', f"- c: {'x' * 199}…"]
    assert values({}) == "- none"
    assert one_line("a  b\tc") == "a b c"


def child(**fields: object) -> Flow:
    look = {"id": "look", "prompt": "Look.", "outputs": ["found", "where"]} | fields
    spec = worker({"id": "lead", "subagents": ["look"]}, subagents=[look])
    return Flow(sub_agent(spec, "look", "at gates", spec.limits))


def test_a_sub_agent_is_told_its_task_and_what_is_missing_until_its_outputs_are_set() -> None:
    flow = child()
    flow.says("look", text="I see.")
    said = judgment_of(flow.state, flow.at("look"))
    assert said.action is JudgmentAction.RETRY
    assert "Your task: at gates" in said.feedback
    assert "Still missing: found, where." in said.feedback
    assert "turns" not in said.feedback
    flow.judge("look", said.action, said.reasoning, said.feedback)
    flow.sets("look", found="rust", where="gate 2")
    assert judgment_of(flow.state, flow.at("look")).action is JudgmentAction.ACCEPT


def test_a_sub_agent_is_urged_at_half_of_its_turns_and_again_at_the_end() -> None:
    flow, told = child(), []
    for _ in range(8):
        flow.says("look", text="I see.")
        said = judgment_of(flow.state, flow.at("look"))
        told.append(said.feedback.partition("where.")[2].strip())
        flow.judge("look", said.action, said.reasoning, said.feedback)
    half = "Half of your turns are used."
    assert told == ["", "", "", "", half, half, *(f"Only {left} turns left: set what you know now." for left in (3, 2))]


def test_a_sub_agent_that_says_it_is_complete_is_done_whatever_is_missing() -> None:
    flow = child()
    flow.says("look", call("mark_complete"))
    flow.gives("look", ToolResult("complete", completes=True))
    assert judgment_of(flow.state, flow.at("look")).action is JudgmentAction.ACCEPT


def test_a_parent_gets_what_was_said_what_was_set_and_how_it_ended() -> None:
    flow = child()
    flow.says("look", call("report_to_parent", message="half way"), tokens=7)
    flow.gives("look", ToolResult("reported", report=("half way", {"n": 1})))
    flow.do("look", found="rust", where="gate 2")
    flow.go_on()
    assert json.loads(result_of(flow.state, "r.1")) == {
        "message": "half way",
        "data": {"found": "rust", "where": "gate 2"},
        "reports": [{"message": "half way", "data": {"n": 1}}],
        "metadata": {"outcome": "accepted", "reason": "every node has done its part", "turns": 2, "tokens": 7, "run": "r.1"},
    }
