"""`hive-mind run`, `runs`, `worker` and `chat`, as a person uses them."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests.acceptance.hive_mind_command import HiveMind
from tests.acceptance.model_runs import sets, with_model
from tests.servers.openai_compatible import OpenAICompatibleServer, Reply
from tests.waiting import wait_until

NOTES = Path(__file__).parents[2] / "docs" / "examples" / "notes"
ONE_TOOL = """\
apiVersion: hive-mind/v1
kind: Worker
spec:
  id: one
  inputs: [question]
  entry: look
  nodes:
    - {id: look, kind: tool, tool: recall, args: {query: $question}, inputs: [question], outputs: [found]}
    - {id: ask, kind: person, prompt: "Go on?", outputs: [word]}
  edges: [{source: look, target: ask}]
"""


@pytest.fixture
def worker(tmp_path: Path) -> Path:
    file = tmp_path / "one.yaml"
    file.write_text(ONE_TOOL, "utf-8")
    return file


def waiting(hive_mind: HiveMind, run: str) -> str:
    (item,) = json.loads(hive_mind("runs", "show", run, "-o", "json").out)["waiting"]
    return str(item["id"])


def test_a_run_stops_where_a_person_is_asked_and_goes_on_with_the_answer(hive_mind: HiveMind, worker: Path) -> None:
    hive_mind("learn", "-", "--source", "notes", stdin="The ferry leaves at nine.")

    begun = hive_mind("run", worker, "--name", "r", "--input", "question=ferry", "-o", "json")
    assert (begun.code, begun.json["status"], begun.json["at"]) == (1, "parked", ["ask"])
    assert begun.json["outputs"]["found"][0]["text"] == "The ferry leaves at nine."

    assert hive_mind("runs", "resume", "r", "-o", "json").json["status"] == "parked"

    assert hive_mind("inbox", "answer", waiting(hive_mind, "r"), "yes", "--as", "ines").code == 0
    ended = hive_mind("runs", "resume", "r", "-o", "json")
    assert (ended.code, ended.json["status"], ended.json["outputs"]["word"]) == (0, "accepted", "yes")
    assert hive_mind("runs", "resume", "r", "-o", "json").json["status"] == "accepted"


def test_what_is_wrong_is_said_before_anything_is_kept(hive_mind: HiveMind, worker: Path, tmp_path: Path) -> None:
    for line in (("show", "x"), ("why", "x"), ("cancel", "x"), ("resume", "x")):
        ended = hive_mind("runs", *line)
        assert (ended.code, "there is no run 'x'" in ended.err) == (2, True)
    assert not (hive_mind.home / "agents").exists()
    assert "give each with --input question=VALUE" in hive_mind("run", worker).err
    assert "there is no worker 'nothing'" in hive_mind("run", "nothing").err
    assert "--input is KEY=VALUE" in hive_mind("run", worker, "-i", "question").err
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(ONE_TOOL.replace("tool: recall", "tool: recal").replace("target: ask", "target: aks"), "utf-8")
    ended = hive_mind("run", wrong, "-i", "question=x")
    assert ended.code == 2
    assert "there is no node 'aks'" in ended.err
    wrong.write_text(ONE_TOOL.replace("tool: recall", "tool: recal"), "utf-8")
    ended = hive_mind("run", wrong, "-i", "question=x")
    assert (ended.code, "there is no tool 'recal'" in ended.err) == (2, True)
    assert hive_mind("run", worker, "--name", "../r", "-i", "question=x").code == 2
    assert hive_mind("runs", "list", "-o", "json").json == []


def test_a_run_that_is_cancelled_is_over(hive_mind: HiveMind, worker: Path) -> None:
    hive_mind("run", worker, "--name", "r", "-i", "question=x")
    assert "cancelled by ines" in hive_mind("runs", "cancel", "r", "--as", "ines").out
    ended = hive_mind("runs", "resume", "r", "-o", "json")
    assert (ended.code, ended.json["status"]) == (1, "cancelled")
    # Nobody is asked any more what no run waits for.
    assert hive_mind("inbox", "list", "-o", "json").json == []
    assert "withdrawn (run r needs no answer any more)" in hive_mind("inbox", "list", "--all").out


def test_a_run_that_waits_goes_on_when_another_process_decides_and_ctrl_c_loses_nothing(hive_mind: HiveMind, worker: Path):
    line = ("run", worker, "--name", "r", "-i", "question=x", "--wait")
    with hive_mind.start(*line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        waits = wait_until(lambda: hive_mind("inbox", "list", "-o", "json").json, "somebody is asked")
        item = str(waits[0]["item"]["id"])
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"go on with: hive-mind runs resume r" in err

    with hive_mind.start("runs", "resume", "r", "--wait", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert hive_mind("inbox", "answer", item, "yes", "--as", "ines").code == 0
        out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert out.startswith(b"run r: accepted")


def test_runs_of_all_agents_are_listed_once_each_unless_one_is_named(hive_mind: HiveMind, worker: Path) -> None:
    assert "There are no runs" in hive_mind("runs", "list").out
    for agent in ("ann", "ben"):
        line = ("run", worker, "--agent", agent, "--name", f"of-{agent}", "-i", "question=x")
        assert hive_mind(*line, "-o", "json").json["status"] == "parked"
        ended = hive_mind(*line)
        assert (ended.code, f"there is a run of-{agent} already" in ended.err) == (2, True)
    listed = hive_mind("runs", "list", "-o", "json").json
    assert [(one["agent"], one["run"]) for one in listed] == [("ben", "of-ben"), ("ann", "of-ann")]
    assert [one["run"] for one in hive_mind("runs", "list", "-a", "ann", "-o", "json").json] == ["of-ann"]
    assert "ann" in hive_mind("runs", "list").out
    assert [one["run"] for one in hive_mind("runs", "list", "-n", "1", "-o", "json").json] == ["of-ben"]
    assert "1 of 2 runs" in hive_mind("runs", "list", "-n", "1").err


def test_workers_are_shown_drawn_and_checked(hive_mind: HiveMind, tmp_path: Path) -> None:
    assert {"answer", "incident-review", "learn"} <= {one["id"] for one in hive_mind("worker", "-o", "json").json}
    shown = hive_mind("worker", "incident-review")
    copy = tmp_path / "copy.yaml"
    copy.write_text(shown.out, "utf-8")
    assert hive_mind("file", "validate", copy).code == 0
    assert "compare -->|" in hive_mind("worker", copy, "--graph").out
    assert "attempts" in hive_mind("file", "explain", "worker", "spec.nodes").out


def test_a_password_in_the_notes_stands_in_no_report_and_no_item(hive_mind: HiveMind) -> None:
    hive_mind("run", "incident-review", "--name", "r", "-i", f"notes={NOTES}")
    hive_mind("inbox", "answer", waiting(hive_mind, "r"), "both", "--as", "ines")
    assert hive_mind("runs", "resume", "r").code == 0
    runs = hive_mind.home / "agents" / "default" / "runs"
    texts = [path.read_text("utf-8") for path in runs.rglob("*") if path.is_file()]
    assert texts
    assert not [text for text in texts if "hunter2" in text]
    assert b"hunter2" not in (hive_mind.home / "agents" / "default" / "ledger.sqlite").read_bytes()


def test_in_a_chat_questions_are_answered_and_the_rest_is_learned(hive_mind: HiveMind) -> None:
    ended = hive_mind("chat", stdin="The ferry leaves at nine.\nWhen does the ferry leave?\nWho painted the ceiling?\n")
    assert ended.code == 0
    assert "Learned 1 fact, 1 new." in ended.out
    assert "“The ferry leaves at nine.”" in ended.out
    assert "I don't know" in ended.out


def test_a_run_can_be_watched_from_its_first_step_to_its_last(hive_mind: HiveMind, worker: Path) -> None:
    hive_mind("run", worker, "--name", "r", "-i", "question=ferry")
    hive_mind("runs", "cancel", "r", "--as", "ines")
    shown = hive_mind("runs", "watch", "r")
    assert shown.out.splitlines()[:2] == ["look begins", "ask begins"]
    assert shown.out.splitlines()[-1] == "ended: cancelled: cancelled by ines"
    lines = [json.loads(line)["step"] for line in hive_mind("runs", "watch", "r", "-o", "json").out.splitlines()]
    assert (lines[0], lines[-1]) == ("started", "ended")


TALKER = """\
apiVersion: hive-mind/v1
kind: Worker
spec:
  id: talker
  entry: talk
  nodes: [{id: talk, clientFacing: true, outputs: [heard]}]
"""


def test_people_talk_with_a_run_from_any_command_and_whatever_drives_it_hears_them(hive_mind: HiveMind, tmp_path: Path) -> None:
    worker = tmp_path / "talker.yaml"
    worker.write_text(TALKER, "utf-8")
    script = [Reply("Where to?"), Reply("And when?"), Reply("Shall I?"), sets(heard="all of it")]
    with OpenAICompatibleServer(script) as model:
        hive_mind = with_model(hive_mind, model)
        with hive_mind.start("run", worker, "--name", "r", "--wait", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            wait_until(lambda: "Where to?" in hive_mind("runs", "show", "r").out)
            assert "runs resume r" in hive_mind("runs", "say", "r", "to Corrin").out
            wait_until(lambda: "And when?" in hive_mind("runs", "show", "r").out)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30)
        again = hive_mind("chat", "--run", "r", stdin="at nine\n")
        assert again.code == 0, again.err
        assert "Shall I?" in again.out
        assert "go on with: hive-mind chat default --run r" in again.err
        ended = hive_mind("chat", "--run", "r", stdin="yes\n")
    assert "run r: accepted" in ended.out
    said = [message["content"] for message in model.requests[-1].body["messages"] if message["role"] == "user"]
    assert said == ["to Corrin", "at nine", "yes"]
