"""`hive-mind eval run` and `list`: an experiment from its file to its report, whatever happens on the way."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.hive_mind_command import HiveMind
from tests.sampled import thorough

pytestmark = pytest.mark.usefixtures("loaded_cells")

EXPERIMENT = """\
name: small
about: "Two arms on the demo."
data: {name: demo, format: demo}
arms: [single, {kind: sharded, agents: 4}]
per_category: 4
"""
# Stops within this time, or something hangs.
PATIENCE_S = 120


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(EXPERIMENT)
    return path


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Where runs and vectors go that are not told where.
    monkeypatch.chdir(tmp_path)


def rows(folder: Path) -> dict[str, bytes]:
    return {path.parent.name: path.read_bytes() for path in sorted((folder / "cells").glob("*/rows.jsonl"))}


# Enough cells that there are some left to stop, however late the signal comes.
_MANY_SEEDS = EXPERIMENT.replace(", {kind: sharded, agents: 4}", "") + "seeds: [1, 2]\n"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The rows of a run that nobody stopped."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "small.yaml").write_text(_MANY_SEEDS)
    assert HiveMind(folder / "home")("eval", "run", folder / "small.yaml", "--out", folder / "run").code == 0
    return rows(folder / "run")


def begun(hive_mind: HiveMind, file: Path, out: Path) -> subprocess.Popen[bytes]:
    """A run in a process of its own, as far as its first finished cell: the next ones are under way."""
    run = hive_mind.start("eval", "run", file, "--out", out, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert run.stderr
    for line in run.stderr:
        if line.startswith(b"1 of "):
            return run
    raise AssertionError(f"it ended with {run.wait()} before a cell was done")


def test_an_experiment_gives_a_table_a_report_and_rows_for_every_figure(hive_mind: HiveMind, file: Path, tmp_path: Path):
    ended = hive_mind("eval", "run", file, "--out", tmp_path / "run", "--subset", "q01,q02")

    assert ended.code == 0, ended.err
    assert "sharded, 4 agents" in ended.out
    assert {path.name for path in (tmp_path / "run").iterdir()} >= {"experiment.json", "environment.json", "scorecard.json"}
    assert "sharded" in (tmp_path / "run" / "report.html").read_text()
    assert set(rows(tmp_path / "run")) == {
        "demo-single-lexical-s1",
        "demo-sharded-4-round-robin-lexical-s1",
        "demo-bm25-s1",
        "demo-random-s1",
    }


@pytest.mark.slow
@pytest.mark.parametrize(("signalled", "code"), [(signal.SIGKILL, -signal.SIGKILL), thorough(signal.SIGINT, 130)])
def test_a_run_that_was_stopped_goes_on_to_the_same_rows(
    hive_mind: HiveMind, file: Path, tmp_path: Path, whole: dict[str, bytes], signalled: signal.Signals, code: int
):
    file.write_text(_MANY_SEEDS)
    stopped = tmp_path / "stopped"
    run = begun(hive_mind, file, stopped)

    os.kill(run.pid, signalled)
    _, said = run.communicate(timeout=PATIENCE_S)

    assert run.returncode == code
    if signalled is signal.SIGINT:
        assert b"what was asked so far is kept, and the same command goes on" in said
    finished = {path.parent.name: path.stat().st_mtime_ns for path in (stopped / "cells").glob("*/cell.json")}
    assert 0 < len(finished) < len(whole)
    assert hive_mind("eval", "run", file, "--out", stopped).code == 0
    assert rows(stopped) == whole
    assert finished == {id: (stopped / "cells" / id / "cell.json").stat().st_mtime_ns for id in finished}


def test_a_file_of_the_folder_is_not_taken_for_a_module(file: Path, tmp_path: Path):
    (tmp_path / "numpy.py").write_text("open('taken', 'w').close()")
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2]), "HIVE_MIND_EMBED": "none"}
    command = [sys.executable, "-P", "-m", "hive_mind", "eval", "run", str(file), "--out", "run", "--subset", "q01"]
    assert subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, timeout=PATIENCE_S).returncode == 0
    assert not (tmp_path / "taken").exists()


def test_options_say_what_to_ask_and_how(hive_mind: HiveMind, file: Path, tmp_path: Path):
    options = ("--subset", "q01,q02", "--mode", "recent", "--limit", 3, "--no-synthesis", "--no-judge")
    ended = hive_mind("eval", "run", file, "--out", tmp_path / "run", *options, "--output", "json")

    assert ended.code == 0, ended.err
    assert ended.json["limit"] == 3
    experiment = ended.json["experiment"]
    assert (experiment["answerer"], experiment["judge"], experiment["subset"]) == ("none", "none", ["q01", "q02"])
    assert [one["mode"] for one in experiment["retrieval"]] == ["recent"]
    asked = [json.loads(line) for line in rows(tmp_path / "run")["demo-single-recent-s1"].splitlines()]
    assert [row["question"] for row in asked] == ["q01", "q02"]
    assert all(len(row["found"]) <= 3 and "answer" not in row for row in asked)


def test_questions_of_a_file_are_asked_instead(hive_mind: HiveMind, file: Path, tmp_path: Path):
    entry = {"id": "mine", "question": "Who noticed it before closing a valve?", "intent": "state-lookup"}
    entry |= {"relevant_knowledge_node_uuids": ["2025-05-05-apprentice.txt:13"], "acceptable_answer_keywords": ["apprentice"]}
    (tmp_path / "questions.json").write_text(json.dumps({"questions": [entry]}))

    ended = hive_mind("eval", "run", file, "--out", tmp_path / "run", "--questions", tmp_path / "questions.json")

    assert ended.code == 0, ended.err
    row = json.loads(rows(tmp_path / "run")["demo-single-lexical-s1"])
    assert (row["question"], row["intent"]) == ("mine", "state-lookup")
    assert (row["metrics"]["recall@10"], row["metrics"]["keyword_hit"]) == (1.0, 1.0)


def test_a_subset_of_nothing_is_wrong_usage_and_writes_nothing(hive_mind: HiveMind, file: Path, tmp_path: Path):
    ended = hive_mind("eval", "run", file, "--out", tmp_path / "run", "--subset", "q99")
    assert ended.code == 2
    assert "--subset q99 names no question of demo" in ended.err
    assert not (tmp_path / "run").exists()


def test_everything_that_is_wrong_with_an_experiment_is_told_with_its_line(hive_mind: HiveMind, file: Path):
    file.write_text(EXPERIMENT.replace("single", "singel").replace("per_category", "per_categry"))
    ended = hive_mind("eval", "run", file)
    assert ended.code == 2
    assert f"{file}:4: arms[0]: has to be single" in ended.err
    assert f"{file}:5: per_categry: is not known; did you mean per_category?" in ended.err


def test_an_arm_that_failed_is_in_the_report_and_in_the_exit_code(hive_mind: HiveMind, file: Path, tmp_path: Path):
    file.write_text(EXPERIMENT.replace("{kind: sharded, agents: 4}", "{kind: routed, agents: 4, fan_out: 1}"))
    ended = hive_mind("eval", "run", file, "--out", tmp_path / "run", "--subset", "q01")
    assert ended.code == 1
    assert "needs an embedding model" in ended.out
    assert "needs an embedding model" in (tmp_path / "run" / "report.html").read_text()


def test_experiments_that_come_along_and_runs_are_listed(hive_mind: HiveMind, file: Path, tmp_path: Path):
    hive_mind("eval", "run", file, "--subset", "q01", "--no-synthesis")
    listed = hive_mind("eval", "list", "--output", "json").json

    assert [one["name"] for one in listed["experiments"]] == ["ideas", "quick", "standard"]
    (run,) = listed["runs"]
    assert (run["experiment"], run["done"], run["failed"], run["left"]) == ("small", 4, 0, 0)
    assert run["folder"] in hive_mind("eval", "list", "runs").out
    assert "arms.fan_out" in hive_mind("eval", "list", "--explain").out
    assert hive_mind("eval", "list", tmp_path / "gone").code == 2


def one_question(folder: Path, qrels: str) -> Path:
    folder.mkdir()
    (folder / "notes.corpus.jsonl").write_text('{"_id": "d1", "text": "The gateway listens on port 8443."}\n')
    (folder / "notes.queries.jsonl").write_text(
        f'{{"_id": "q1", "text": "Which port does the gateway use?", "qrels": {qrels}}}\n'
    )
    return folder


def test_a_key_that_stands_twice_in_judgements_is_refused(hive_mind, tmp_path):
    ended = hive_mind("eval", "retrieval", "--data", one_question(tmp_path / "set", '{"d1": 1, "d1": -1}'), "--method", "keyword")

    assert ended.code == 2
    assert "notes.queries.jsonl, line 1: the key 'd1' stands twice in one object; keep one" in ended.err


@pytest.mark.parametrize("form", ["text", "json"])
def test_an_evaluation_in_which_nothing_was_measured_is_a_failure_and_says_why(hive_mind, tmp_path, form):
    data = one_question(tmp_path / "set", '{"d9": 1}')

    ended = hive_mind("eval", "retrieval", "--data", data, "--method", "keyword", "-o", form)

    assert ended.code == 1
    assert "nothing was measured: no question is left (1 judgements of documents that are not in the corpus)" in ended.err


def test_where_nodes_are_stopped_it_says_which_and_how_much_the_others_hold(hive_mind, tmp_path):
    data = one_question(tmp_path / "set", '{"d1": 1}')
    arguments = ["--data", data, "--method", "keyword", "--topology", "sharded", "--agents", 4, "--down", 3]

    shown = hive_mind("eval", "retrieval", *arguments, "--out", tmp_path / "run").out

    (card,) = (one for one in hive_mind("eval", "report", tmp_path / "run", "-o", "json").json["cells"] if one["stopped"])
    assert len(card["stopped"]) == 3
    assert card["held"] == card["system"]["completeness"]["mean"]
    assert (
        f"sharded: stopped {', '.join(card['stopped'])}, as the seed chose; the nodes that run hold {card['held']:.1%}" in shown
    )
