"""Rules, judges and people decide about what runs give, as they do about facts: seen through processes, with a scripted model."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.hive_mind_command import HiveMind
from tests.acceptance.model_runs import process, prompts, says, sets, with_model, worker_file
from tests.servers.openai_compatible import Behaviour, OpenAICompatibleServer, Received, Reply
from tests.waiting import wait_until

EVIL = "print(eval(input()))"
CODER = {"id": "write", "prompt": "Write the code.", "outputs": ["code"]}
NO_EVAL = {"id": "no-eval", "condition": "'eval(' in str(result)", "action": "escalate", "on": "output", "priority": 200}


def rule_file(folder: Path, *rules: dict[str, Any]) -> Path:
    file = folder / "rules.yaml"
    file.write_text(json.dumps({"apiVersion": "hive-mind/v1", "kind": "Rules", "spec": {"rules": list(rules)}}))
    return file


def coder(folder: Path, *, id: str = "coder", node: dict[str, Any] | None = None, **spec: Any) -> Path:
    return worker_file(folder, id, entry="write", nodes=[CODER | (node or {})], **spec)


def verdict(action: str = "accept", confidence: float = 0.9, **scores: float) -> Reply:
    """A model's reply as a judge."""
    said = {
        "action": action,
        "confidence": confidence,
        "reasoning": "as asked",
        "scores": scores or {"good": 1.0},
        "violated": {},
    }
    return Reply(json.dumps(said))


NODES: dict[str, tuple[dict[str, Any], list[Reply]]] = {
    "a loop": ({"entry": "write", "nodes": [CODER]}, [sets(code=EVIL)]),
    "a tool": (
        {
            "entry": "look",
            "nodes": [{"id": "look", "kind": "tool", "tool": "recall", "args": {"query": "eval"}, "outputs": ["code"]}],
        },
        [],
    ),
    "a sub-agent": (
        {
            "entry": "lead",
            "nodes": [{"id": "lead", "prompt": "Have it written.", "subagents": ["write"], "outputs": ["report"]}],
            "subagents": [CODER],
        },
        [says(("delegate_to_sub_agent", {"name": "write", "task": "the code"})), sets(code=EVIL)],
    ),
}


@pytest.mark.parametrize("kind", NODES)
def test_a_rule_stops_what_any_kind_of_node_gives_also_after_a_resume(hive_mind: HiveMind, tmp_path: Path, kind: str) -> None:
    spec, replies = NODES[kind]
    hive_mind("learn", "-", "--source", "notes", stdin=f"The old tool says {EVIL} at nine.")
    file, rules = worker_file(tmp_path, "any", **spec), rule_file(tmp_path, NO_EVAL)
    with OpenAICompatibleServer(replies) as server:
        command = with_model(hive_mind, server)
        begun = process(command, "run", file, "--rules", rules, "--name", "r", "-o", "json")
        assert begun.json["status"] == "parked", begun
        assert command("runs", "resume", "r", "-o", "json").json["status"] == "parked"
    assert "no-eval" in json.dumps([begun.json["waiting"], command("inbox", "list", "-o", "json").json])


def test_a_rule_stops_a_persons_answer_and_the_same_rule_lets_any_other_pass(hive_mind: HiveMind, tmp_path: Path) -> None:
    person = {"id": "ask", "kind": "person", "prompt": "Which code?", "outputs": ["code"]}
    file = worker_file(tmp_path, "asks", entry="ask", nodes=[person], rules=[NO_EVAL])
    for run, answer, status in (("bad", EVIL, "parked"), ("good", "print(1)", "accepted")):
        begun = hive_mind("run", file, "--name", run, "-o", "json").json
        assert hive_mind("inbox", "answer", begun["waiting"][0]["id"], answer, "--as", "ines").code == 0
        assert process(hive_mind, "runs", "resume", run, "-o", "json").json["status"] == status
    assert any("no-eval" in line for line in hive_mind("runs", "why", "bad", "-o", "json").json)
    # A person is final: the outcome, too, passes what a person let pass.
    (item,) = hive_mind("inbox", "list", "-o", "json").json
    assert hive_mind("inbox", "approve", item["item"]["id"], "--as", "ines").code == 0
    assert process(hive_mind, "runs", "resume", "bad", "-o", "json").json["status"] == "accepted"


def test_a_rule_for_everything_lets_no_outcome_count_and_sends_back_with_feedback(hive_mind: HiveMind, tmp_path: Path) -> None:
    file = coder(tmp_path, rules=[NO_EVAL | {"action": "retry", "feedback": "write it without eval"}])
    with OpenAICompatibleServer([sets(code=EVIL), sets(code="print(1)")]) as server:
        ended = process(with_model(hive_mind, server), "run", file, "-o", "json").json
    assert (ended["status"], ended["outputs"]) == ("accepted", {"code": "print(1)"})
    assert "[Judge feedback]: write it without eval" in prompts(server)[1]
    everything = rule_file(tmp_path, {"id": "all", "condition": "True", "action": "escalate"})
    with OpenAICompatibleServer([sets(code="print(1)")]) as server:
        ended = process(with_model(hive_mind, server), "run", coder(tmp_path), "--rules", everything, "-o", "json").json
    assert (ended["status"], ended["waiting"][0]["title"]) == ("parked", "write: rule all")


def test_an_outcome_is_judged_as_a_whole_and_what_it_was_given_is_none_of_it(hive_mind: HiveMind, tmp_path: Path) -> None:
    two = [CODER | {"inputs": ["task"]}, {"id": "test", "prompt": "Write the test.", "outputs": ["test"]}]
    whole = {"id": "both", "condition": "'a' in result.get('code', '') and 'b' in result.get('test', '')", "action": "escalate"}
    spec = {"entry": "write", "nodes": two, "edges": [{"source": "write", "target": "test"}], "inputs": ["task"]}
    file = worker_file(tmp_path, "two", **spec, rules=[whole, NO_EVAL])
    for code, status in (("a", "parked"), ("c", "accepted")):
        with OpenAICompatibleServer([sets(code=code), sets(test="b")]) as server:
            ended = process(with_model(hive_mind, server), "run", file, "-i", f"task={EVIL}", "-o", "json").json
        assert (ended["status"], ended["at"]) == (status, []), ended


FUNCTIONS = """
def brief(turn):
    return None if len(turn.text) < 40 else "be brief"

def never(turn):
    raise RuntimeError("out of order")

def tested(result):
    return "assert" in result["code"]
"""


def test_judges_and_checks_of_ones_own_decide_and_unknown_ones_are_refused_where_they_are_named(
    hive_mind: HiveMind, tmp_path: Path
) -> None:
    functions = tmp_path / "functions.py"
    functions.write_text(FUNCTIONS)
    file = coder(tmp_path, node={"judge": "brief", "successCriteria": [{"id": "tested", "metric": "custom"}]})
    given = ["--function", f"brief={functions}:brief", "--function", f"tested={functions}:tested"]
    with OpenAICompatibleServer([sets(code="print(1)"), sets(code="assert 1")]) as server:
        ended = process(with_model(hive_mind, server), "run", file, *given, "-o", "json").json
    assert (ended["status"], ended["outputs"]) == ("accepted", {"code": "assert 1"})
    assert "not met: tested" in prompts(server)[1]

    for where in (("run", file), ("file", "validate", file)):
        refused = hive_mind(*where)
        assert (refused.code, "there is no judge 'brief'" in refused.err + refused.out) == (2, True), refused
    assert hive_mind("file", "validate", file, *given).code == 0
    broken = coder(tmp_path, id="broken", node={"judge": "brief"})
    with OpenAICompatibleServer([sets(code="x")]) as server:
        command = with_model(hive_mind, server)
        parked = process(command, "run", broken, "--name", "late", "--function", f"brief={functions}:never").out
    assert "the custom judge failed: RuntimeError: out of order" in parked
    # The line to go on with names what the run needs again.
    assert f"hive-mind runs resume late --function brief={functions}:never" in parked


def test_how_sure_a_judge_has_to_be_and_what_if_nobody_attends_are_said_in_the_worker(hive_mind: HiveMind, tmp_path: Path):
    good = {"successCriteria": [{"id": "good"}]}
    for judging, confidence, status, tries in (
        ({}, 0.75, "accepted", 1),
        ({"threshold": 0.8}, 0.75, "parked", 1),
        ({"threshold": 0.8, "degrade": True}, 0.75, "accepted", 2),
        ({"threshold": 0.8, "unattended": "accept"}, 0.75, "accepted", 1),
        ({"threshold": 0.8, "unattended": "hold"}, 0.75, "failed", 1),
    ):
        file = coder(tmp_path, node=good, judging=judging)
        script = [sets(code="x"), verdict(confidence=confidence), sets(code="y"), verdict(confidence=0.95)]
        with OpenAICompatibleServer(script) as server:
            ended = process(with_model(hive_mind, server), "run", file, "-o", "json").json
        assert (ended["status"], len(server.requests)) == (status, 2 * tries), (judging, ended)


def rejected_twelve_times(command: HiveMind) -> None:
    """Every output that runs texts is rejected by a person, and every other is approved."""
    waiting = wait_until(
        lambda: found if len(found := command("inbox", "list", "-o", "json").json) == 16 else None,
        lambda: command("inbox", "list").out,
        60,
    )
    for one in waiting:
        item = one["item"]
        verb = ("reject", "--because", "no eval") if any("eval(" in text for _, text in item["context"]) else ("approve",)
        assert command("inbox", verb[0], item["id"], *verb[1:], "--as", "ines").code == 0


def test_twelve_equal_rejections_of_runs_become_a_rule_that_decides_the_thirteenth(hive_mind: HiveMind, tmp_path: Path) -> None:
    file = coder(tmp_path, node={"requiresApproval": True})
    codes = [f"x{n} = eval(t{n})" for n in range(12)] + [f"x{n} = int(t{n})" for n in range(4)]
    with OpenAICompatibleServer([sets(code=code) for code in codes]) as server:
        command = with_model(hive_mind, server)
        for number in range(16):
            assert command("run", file, "--name", f"r{number}", "-o", "json").json["status"] == "parked"
    rejected_twelve_times(command)
    for number in range(16):
        assert command("runs", "resume", f"r{number}", "-o", "json").json["status"] in ("accepted", "rejected")

    (proposal,) = command("rules", "propose", "--out", tmp_path / "learned.yaml", "-o", "json").json
    assert (proposal["coverage"], proposal["rule"]["condition"]) == (12, "'eval(' in result.get('code', '')")
    assert (proposal["rule"]["action"], proposal["rule"]["on"], proposal["rule"]["feedback"]) == ("escalate", "output", "no eval")

    accepted = rule_file(tmp_path, proposal["rule"] | {"mode": "active"})
    with OpenAICompatibleServer([sets(code="y = eval(z)")]) as server:
        thirteenth = process(with_model(hive_mind, server), "run", file, "--rules", accepted, "--name", "last", "-o", "json").json
    assert (thirteenth["status"], thirteenth["waiting"][0]["title"][:28]) == ("parked", "write: rule learned_no_eval ")
    figures = command("judge", "-o", "json").json
    assert (figures["by_rule"], figures["judged"]) == (1, 17)


TOWN = """
apiVersion: hive-mind/v1
kind: Hive
metadata: {{name: town}}
spec:
  topology: flat
  agents: [{{name: ann}}, {{name: ben, worker: coder.yaml}}]
  llm: {{model: "openai:tiny", url: "{url}", key: "${{file:key}}"}}
  judge: {{desk: ann, functions: {{brief: "functions.py:brief"}}}}
  ruleFiles: [{rules}]
"""
LIMIT = ("--timeout", 300)


def town(folder: Path, server: OpenAICompatibleServer, rules: Path) -> Path:
    file = folder / "town.yaml"
    file.write_text(TOWN.format(url=server.base_url, rules=rules.name))
    return file


class Coder(OpenAICompatibleServer):
    """A model that writes the code that its task asks for, however it is asked and however often."""

    def next_behaviour(self, received: Received) -> Behaviour:
        super().next_behaviour(received)
        (task,) = re.findall(r"\\ntask: (.*?)\\n", json.dumps(received.body))
        return sets(code=task)


def in_fleet(command: HiveMind, run: str, code: str) -> dict[str, Any]:
    """A run of ben's, as far as it comes."""
    found: dict[str, Any] = command("run", "--agent", "ben", "--name", run, "-i", f"task={code}", "-o", "json").json
    return found


@pytest.mark.slow
def test_in_a_fleet_rules_of_its_manifest_and_of_its_people_decide_about_runs_also_after_a_restart(
    hive_mind: HiveMind, tmp_path: Path
) -> None:
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    (tmp_path / "key").write_text("k")
    coder(tmp_path, node={"requiresApproval": True, "judge": "brief", "inputs": ["task"]}, inputs=["task"])
    rules = rule_file(tmp_path, {"id": "no-exec", "condition": "'exec(' in str(result)", "action": "escalate", "on": "output"})
    with Coder() as server:
        assert hive_mind("apply", "-f", town(tmp_path, server, rules), *LIMIT).code == 0
        stopped = in_fleet(hive_mind, "r", "exec(x)")
        assert (stopped["status"], stopped["waiting"][0]["title"]) == ("parked", "write: rule no-exec")
        assert hive_mind("rollout", "restart", *LIMIT).code == 0
        assert hive_mind("runs", "resume", "r", "--agent", "ben", "-o", "json").json["status"] == "parked"
        item = wait_until(lambda: hive_mind("inbox", "list", "-o", "json").json)[0]["item"]
        assert hive_mind("inbox", "approve", item["id"], "--as", "ines").code == 0

        for number in range(16):
            assert in_fleet(hive_mind, f"r{number}", f"x{number} = {'eval' if number < 12 else 'int'}(t)")["status"] == "parked"
        rejected_twelve_times(hive_mind)
        learned = tmp_path / "learned.yaml"
        (proposal,) = hive_mind("rules", "propose", "--out", learned, "-o", "json").json
        assert (proposal["coverage"], proposal["rule"]["condition"]) == (12, "'eval(' in result.get('code', '')")
        approved = hive_mind("rules", "approve", "--from", learned, "--of", "1", "--as", "ines")
        assert approved.code == 0, approved
        wait_until(lambda: "learned_no_eval" in {one["id"] for one in hive_mind("rules", "list", "-o", "json").json})

        thirteenth = in_fleet(hive_mind, "last", "y = eval(z)")
        assert (thirteenth["status"], thirteenth["waiting"][0]["title"][:28]) == ("parked", "write: rule learned_no_eval ")
        assert (figures := hive_mind("judge", "ben", "-o", "json").json)["by_rule"] == 2, figures
    assert hive_mind("delete", "--purge", "--yes").code == 0


def test_of_two_rules_the_higher_priority_decides_and_no_model_is_asked(hive_mind: HiveMind, tmp_path: Path) -> None:
    low = NO_EVAL | {"id": "low", "action": "retry", "priority": 1, "feedback": "again"}
    file = coder(tmp_path, node={"successCriteria": [{"id": "good"}]}, rules=[low, NO_EVAL])
    with OpenAICompatibleServer([sets(code=EVIL)]) as server:
        ended = process(with_model(hive_mind, server), "run", file, "-o", "json").json
    assert (ended["status"], ended["waiting"][0]["title"], len(server.requests)) == ("parked", "write: rule no-eval", 1)


def test_every_metric_is_evaluated_in_a_run(hive_mind: HiveMind, tmp_path: Path) -> None:
    (functions := tmp_path / "functions.py").write_text(FUNCTIONS)
    metrics = [
        {"id": "good"},
        {"id": "says", "metric": "output_contains", "target": "assert"},
        {"id": "is", "metric": "output_equals", "output": "code", "target": "assert 1"},
        {"id": "short", "metric": "condition", "target": "len(output.code) < 20"},
        {"id": "tested", "metric": "custom"},
    ]
    file = coder(tmp_path, goal={"id": "g", "successCriteria": metrics})
    given = ("--function", f"tested={functions}:tested", "-o", "json")
    for code, grade, unmet in (("assert 1", 1.0, ""), ("assert 1", 0.0, "good"), ("print('assert that')", 1.0, "is, short")):
        with OpenAICompatibleServer([sets(code=code), verdict(good=grade), sets(code="assert 1"), verdict(good=1.0)]) as server:
            command = with_model(hive_mind, server)
            ended = process(command, "run", file, *given).json
            why = "\n".join(command("runs", "why", ended["run"], "-o", "json").json)
        assert ended["status"] == "accepted"
        assert re.findall(r"not met: ([\w, ]+?)(?: \(|;|$)", why) == ([unmet] if unmet else []), why


class Grader(OpenAICompatibleServer):
    """A model that writes a longer code each time, and is as sure of each."""

    def next_behaviour(self, received: Received) -> Behaviour:
        super().next_behaviour(received)
        return sets(code="x" * len(self.requests)) if received.body.get("tools") else verdict(confidence=0.75)


@pytest.mark.slow
@pytest.mark.thorough
def test_what_people_say_of_audits_of_runs_moves_the_threshold_of_each_kind_of_goal(hive_mind: HiveMind, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("k")
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    coder(tmp_path)
    again = [{"source": "write", "target": "write", "on": "condition", "when": "len(output.code) < 250"}]
    with Grader() as server:
        manifest = town(tmp_path, server, rule_file(tmp_path, NO_EVAL))
        manifest.write_text(manifest.read_text().replace("judge: {desk: ann,", "judge: {desk: ann, audit: 1.0,"))
        assert hive_mind("apply", "-f", manifest, *LIMIT).code == 0
        decided = 0
        for kind, verb in (("loved", "approve"), ("hated", "reject")):
            server.requests.clear()
            goal = {"id": "g", "kind": kind, "successCriteria": [{"id": "fine", "metric": "condition", "target": "True"}]}
            node = {"successCriteria": [{"id": "good"}], "visits": 100}
            file = coder(tmp_path, id=kind, node=node, edges=again, goal=goal, limits={"turns": 500, "tokens": 9_000_000})
            ended = hive_mind("run", file, "--agent", "ben", "--name", kind, "-o", "json").json
            assert ended["status"] == "accepted", ended
            count = hive_mind("judge", "ben", "-o", "json").json["audits"] - decided
            waiting = wait_until(lambda count=count: open_audits(hive_mind, count), lambda: hive_mind("inbox", "list").out)
            decided += count
            assert hive_mind("inbox", verb, waiting[0]["item"]["id"], "--all", "--as", "ines").code == 0
            wait_until(lambda: not hive_mind("inbox", "list", "-o", "json").json)
        server.requests.clear()
        hive_mind("run", file, "--agent", "ben", "--name", "last", "-o", "json")
        figures = hive_mind("judge", "ben", "-o", "json").json
    assert {kind: figures["thresholds"][kind] for kind in ("loved", "hated")} == {"loved": 0.75, "hated": None}, figures
    assert (figures["threshold_by_goal_type"]["hated"], figures["audits"] > 100) == (None, True)
    assert hive_mind("delete", "--purge", "--yes").code == 0


def open_audits(command: HiveMind, count: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = command("inbox", "list", "--limit", 200, "-o", "json").json
    return found if len(found) == count else []
