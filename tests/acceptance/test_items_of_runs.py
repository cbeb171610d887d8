"""An item of a run shows what it is about: goal, inputs, output, signals, cost, and what follows from yes and from no."""

import json
import sys
from pathlib import Path

import pytest

from tests.acceptance.hive_mind_command import HiveMind
from tests.acceptance.model_runs import process, sets, with_model, worker_file
from tests.servers.openai_compatible import OpenAICompatibleServer, Reply

GOAL = {
    "id": "g",
    "description": "A mechanic knows what to do first.",
    "successCriteria": [{"id": "useful", "description": "It helps."}],
}
WRITE = {"id": "write", "prompt": "Write it.", "inputs": ["pump"], "outputs": ["note"]}
UNSURE = {"action": "accept", "confidence": 0.42, "reasoning": "It may be the wrong seal.", "scores": {"useful": 0.95}}


def test_a_person_sees_goal_inputs_output_signals_cost_and_consequences(hive_mind: HiveMind, tmp_path: Path) -> None:
    file = worker_file(tmp_path, "note", inputs=["pump"], entry="write", nodes=[WRITE], goal=GOAL)
    with OpenAICompatibleServer([sets(note="Replace the seal of D4."), Reply(json.dumps(UNSURE))]) as server:
        begun = process(with_model(hive_mind, server), "run", file, "--name", "r", "-i", "pump=D4", "-o", "json").json
    item = hive_mind("inbox", "show", begun["waiting"][0]["id"], "-o", "json").json["item"]
    context = dict(item["context"])
    assert context["goal"].startswith("A mechanic knows what to do first.")
    assert "- wanted: useful (It helps.)" in context["goal"]
    assert (context["inputs"], context["note"]) == ("pump: D4", "Replace the seal of D4.")
    assert "1 turn of a model, " in context["cost so far"]
    assert context["on yes"].startswith("the run ends as accepted")
    assert context["on no"].startswith("the run ends as rejected")
    (signal,) = item["signals"]
    assert (signal["name"], signal["confidence"], signal["reasoning"]) == ("model", 0.42, "It may be the wrong seal.")
    text = hive_mind("inbox", "show", item["id"]).out
    for told in (
        *("A mechanic knows", "pump: D4", "Replace the seal", "0.42", "It may be the wrong seal.", "on yes"),
        *("on no", "cost so far"),
    ):
        assert told in text


def test_where_a_constraint_decides_that_is_the_signal_and_a_failure_edge_is_the_no(hive_mind: HiveMind, tmp_path: Path) -> None:
    nodes = [
        {"id": "look", "kind": "tool", "tool": "recall", "args": {"query": "x"}, "outputs": ["found"], "requiresApproval": True},
        {"id": "file", "kind": "person", "prompt": "File it?", "outputs": ["filed"]},
        {"id": "burn", "kind": "person", "prompt": "Burn it?", "outputs": ["burnt"]},
    ]
    edges = [{"source": "look", "target": "file"}, {"source": "look", "target": "burn", "on": "failure"}]
    goal = {
        "id": "g",
        "constraints": [{"id": "none", "check": "False"}],
        "successCriteria": [{"id": "c", "metric": "condition", "target": "True"}],
    }
    file = worker_file(tmp_path, "look", entry="look", nodes=nodes, edges=edges, goal=goal)
    begun = hive_mind("run", file, "--name", "r", "-o", "json").json
    first = hive_mind("inbox", "show", begun["waiting"][0]["id"], "-o", "json").json["item"]
    context = dict(first["context"])
    assert (context["on yes"], context["on no"]) == (
        "what look set counts, and the run goes on with file",
        "look has failed, and the run goes on with burn",
    )
    assert [one["reasoning"] for one in first["signals"]] == ["the requested outputs are set"]
    hive_mind("inbox", "approve", first["id"], "--as", "ines")
    asked = hive_mind("runs", "resume", "r", "-o", "json").json["waiting"][0]["id"]
    assert (
        dict(hive_mind("inbox", "show", asked, "-o", "json").json["item"]["context"])["on no"]
        == "the no is the value of filed, and then the whole is judged by its goal"
    )
    hive_mind("inbox", "answer", asked, "yes", "--as", "ines")
    last = hive_mind("inbox", "show", hive_mind("runs", "resume", "r", "-o", "json").json["waiting"][0]["id"], "-o", "json").json[
        "item"
    ]
    assert [(one["name"], one["reasoning"]) for one in last["signals"]] == [("constraint", "violates hard constraint none")]


def test_a_command_gets_a_notice_once_and_one_that_failed_when_the_run_is_resumed(hive_mind: HiveMind, tmp_path: Path) -> None:
    file = worker_file(
        tmp_path, "ask", entry="ask", nodes=[{"id": "ask", "kind": "person", "prompt": "Sail?", "outputs": ["word"]}]
    )
    got, closed = tmp_path / "got", tmp_path / "closed"
    script = tmp_path / "tell.py"
    script.write_text(
        "import os, pathlib, sys\n"
        f"if pathlib.Path({str(closed)!r}).exists(): sys.exit(3)\n"
        f"open({str(got)!r}, 'a').write(os.environ['HIVE_MIND_NOTICE'] + ' ' + sys.stdin.read() + '\\n')\n"
    )
    tell = f"{sys.executable} {script}"
    closed.touch()
    begun = process(hive_mind, "run", file, "--name", "r", "--notify", tell, "-o", "json")
    assert (begun.code, begun.json["status"], got.exists()) == (1, "parked", False)
    assert "its notice could not be sent" in begun.err
    closed.unlink()
    for _ in range(2):
        assert process(hive_mind, "runs", "resume", "r", "--notify", tell).code == 1
    (line,) = got.read_text().splitlines()
    id, _, notice = line.partition(" ")
    assert (id, json.loads(notice)["title"], "replies" in notice) == (begun.json["waiting"][0]["id"], "Sail?", False)


def test_a_notice_that_could_go_nowhere_is_refused_before_anything_is_kept(
    hive_mind: HiveMind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HIVE_MIND_HOOK_SECRET", raising=False)
    file = worker_file(tmp_path, "ask", entry="ask", nodes=[{"id": "ask", "kind": "person", "outputs": ["word"]}])
    for notify, told in (
        ("https://hive.example/x", "HIVE_MIND_HOOK_SECRET"),
        ('tell "it', "the command can't be read"),
        (" ", "give the URL"),
    ):
        ended = hive_mind("run", file, "--notify", notify)
        assert (ended.code, told in ended.err) == (2, True)
    assert hive_mind("runs", "list", "-o", "json").json == []
