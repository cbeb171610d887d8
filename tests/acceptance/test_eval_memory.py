"""`hive-mind eval memory`: one's own memory, asked where it is open, without an experiment file."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.hive_mind_command import HiveMind

pytestmark = pytest.mark.usefixtures("loaded_cells")

TEXT = "The gateway listens on port 8443.\nThe pump runs at night.\nThe ferry leaves at noon.\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Where runs and vectors go that are not told where.
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def learned(hive_mind: HiveMind) -> HiveMind:
    assert hive_mind("learn", "-", "--source", "runbook", stdin=TEXT).code == 0
    return hive_mind


@pytest.fixture
def running(learned: HiveMind) -> Iterator[HiveMind]:
    assert learned("serve").code == 0
    yield learned
    assert learned("serve", "--stop").code == 0


def question_file(folder: Path, hive_mind: HiveMind) -> Path:
    (hit, *_) = hive_mind("facts", "search", "gateway port", "-o", "json").json
    asked = {
        "id": "q1",
        "question": "Which port does the gateway use?",
        # As commands print it.
        "relevant_knowledge_node_uuids": [hit["fact_id"][:8]],
        "acceptable_answer_keywords": ["8443"],
    }
    gap = {
        "id": "q2",
        "question": "Who painted the ceiling?",
        "relevant_knowledge_node_uuids": [],
        "coverage_gap_reason": "nobody",
    }
    file = folder / "questions.json"
    file.write_text(json.dumps({"questions": [asked, gap]}))
    return file


def test_an_agent_that_does_not_run_is_asked_as_a_copy(learned: HiveMind, tmp_path: Path):
    ended = learned("eval", "memory", question_file(tmp_path, learned), "-o", "json")

    assert ended.code == 0, ended.err
    (cell,) = ended.json["cells"]
    assert (cell["arm"]["kind"], cell["documents"], cell["metrics"]["recall@10"]["mean"]) == ("single", 3, 1.0)
    assert "a copy of the facts of agent default" in ended.err


def test_an_agent_that_runs_is_asked_where_it_runs(running: HiveMind, tmp_path: Path):
    ended = running("eval", "memory", question_file(tmp_path, running), "-o", "json", "--out", tmp_path / "run")

    assert ended.code == 0, ended.err
    (cell,) = ended.json["cells"]
    assert (cell["arm"]["kind"], cell["documents"], cell["metrics"]["recall@10"]["mean"]) == ("running", 3, 1.0)
    assert cell["metrics"]["keyword_hit"]["mean"] == 1.0
    # Nobody counted them.
    assert cell["system"] is None
    assert "agent default where it runs; 100.0% of its hive answered" in ended.err


def test_an_arm_that_asks_a_running_agent_needs_one_that_runs_and_its_memory_as_the_data(learned: HiveMind, tmp_path: Path):
    file = tmp_path / "asked.yaml"
    data = f"{{name: own, format: memory, memory: default, questions: {question_file(tmp_path, learned)}}}"
    file.write_text(f"name: x\ndata: {data}\narms: running\n")
    ended = learned("eval", "run", file)
    assert ended.code == 1
    assert "runs in no process of" in ended.out + ended.err

    file.write_text("name: x\ndata: {name: demo, format: demo}\narms: running\n")
    refused = learned("eval", "run", file)
    assert refused.code == 2
    assert "asks an agent that runs, and demo is no memory of one" in refused.err
