"""A planner has all that came of its plan, a parent the last word of its sub-agent; and a run that waits has not succeeded."""

import json
from pathlib import Path

import pytest

from tests.acceptance.hive_mind_command import HiveMind
from tests.acceptance.model_runs import process, prompts, says, sets, with_model, worker_file
from tests.servers.openai_compatible import OpenAICompatibleServer, Reply

LONG = "the gate " + "would not close " * 40


def test_a_planner_is_told_all_that_failed_and_why(hive_mind: HiveMind, tmp_path: Path) -> None:
    nodes = [
        {"id": "plan", "prompt": "Plan.", "outputs": ["plan"]},
        {"id": "close", "prompt": "Close it.", "outputs": ["closed"], "attempts": 2, "successCriteria": [{"id": "shut"}]},
    ]
    said = {"action": "replan", "confidence": 0.99, "reasoning": LONG, "scores": {"shut": 0.0}}
    file = worker_file(tmp_path, "gate", entry="plan", planner="plan", nodes=nodes, edges=[{"source": "plan", "target": "close"}])
    with OpenAICompatibleServer([sets(plan="push"), sets(closed="no"), Reply(json.dumps(said)), sets(plan="pull")]) as server:
        ended = process(with_model(hive_mind, server), "run", file, "--name", "r", "-o", "json")
    seen = json.dumps([one for one in prompts(server) if "What came of the plan so far" in one])
    assert ended.code == 1
    for told in ("completed_steps", "failed_steps", "accumulated_context", "constraints_violated", LONG.strip()):
        assert told in seen


def test_a_parent_hears_the_word_with_which_its_sub_agent_is_complete(hive_mind: HiveMind, tmp_path: Path) -> None:
    look = {"id": "look", "prompt": "Look.", "outputs": ["found"]}
    lead = {"id": "lead", "prompt": "Lead.", "outputs": ["word"], "subagents": ["look"]}
    file = worker_file(tmp_path, "lead", entry="lead", nodes=[lead], subagents=[look])
    script = [
        says(("delegate_to_sub_agent", {"name": "look", "task": "at the pumps"})),
        says(("report_to_parent", {"message": "half way"})),
        says(("mark_complete", {"message": "the pumps are dry"})),
        sets(word="dry"),
    ]
    with OpenAICompatibleServer(script) as server:
        ended = process(with_model(hive_mind, server), "run", file, "--name", "r", "-o", "json")
    assert (ended.code, ended.json["status"]) == (0, "accepted")
    (result,) = [one["content"] for one in server.requests[-1].body["messages"] if one["role"] == "tool"]
    assert '"message": "the pumps are dry"' in result
    assert '"message": "half way"' in result


def test_a_run_that_waits_or_is_held_up_has_not_ended_as_accepted(hive_mind: HiveMind, tmp_path: Path) -> None:
    file = worker_file(tmp_path, "ask", entry="ask", nodes=[{"id": "ask", "kind": "person", "outputs": ["word"]}])
    begun = hive_mind("run", file, "--name", "r", "-o", "json")
    assert (begun.code, begun.json["status"]) == (1, "parked")
    assert hive_mind("runs", "resume", "r").code == 1
    assert hive_mind("inbox", "answer", begun.json["waiting"][0]["id"], "yes", "--as", "ines").code == 0
    assert hive_mind("runs", "resume", "r").code == 0


WRONG = {
    "tool": ({"tool": "recal"}, "nodes[0].tool: there is no tool 'recal'"),
    "argument": ({"args": {"qery": "$question"}}, "args.qery: recall takes no 'qery'; its arguments: query, limit"),
    "missing argument": ({"args": {}}, "nodes[0].args: recall needs 'query'"),
    "input": ({"inputs": ["question", "where"]}, "nobody sets 'where'"),
    "criterion": ({"successCriteria": [{"id": "c", "metric": "output_equals", "output": "x", "target": 1}]}, "nobody sets 'x'"),
}


@pytest.mark.parametrize(("fields", "told"), WRONG.values(), ids=WRONG)
def test_what_no_run_could_do_is_found_where_it_is_written(
    fields: dict[str, object], told: str, hive_mind: HiveMind, tmp_path: Path
) -> None:
    right = {
        "id": "look",
        "kind": "tool",
        "tool": "recall",
        "args": {"query": "$question"},
        "inputs": ["question"],
        "outputs": ["f"],
    }
    files = [
        worker_file(tmp_path, name, inputs=["question"], entry="look", nodes=[right | more])
        for name, more in (("wrong", fields), ("right", {}))
    ]
    assert hive_mind("file", "validate", files[1]).code == 0
    checked, begun = hive_mind("file", "validate", files[0]), hive_mind("run", files[0], "-i", "question=x")
    assert (checked.code, begun.code) == (2, 2)
    assert told in checked.out
    assert told in begun.err


def test_a_goal_looks_at_values_that_are_there_and_may_name_tools_of_any_program(hive_mind: HiveMind, tmp_path: Path) -> None:
    node = {"id": "do", "tools": ["weigh", "mcp:scales/*", "recall"], "outputs": ["kilos"]}
    goal = {"id": "g", "inputs": ["crate"], "outputs": ["tons"]}
    wrong = worker_file(tmp_path, "wrong", entry="do", nodes=[node], goal=goal)
    told = hive_mind("file", "validate", wrong).out
    for one in ("no input of the worker is called 'crate'", "no node sets 'tons'", "there is no tool 'weigh'"):
        assert one in told
    right = worker_file(tmp_path, "right", inputs=["crate"], entry="do", nodes=[node], goal=goal | {"outputs": ["kilos"]})
    assert hive_mind("file", "validate", right, "--tool", "weigh").code == 0
