"""The whole loop with a served language model, over HTTP, as a person goes through it: init, index, tune, deploy.

The server's replies are scripted. One is cut short, as happens where too few tokens are allowed, and one asks for what no
document has; the model is told what is wrong with each, and neither is measured or kept.
"""

import json
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from hive_mind.retrieval.workspace import Workspace
from tests.acceptance.hive_mind_command import Ended, HiveMind
from tests.servers.openai_compatible import OpenAICompatibleServer, Received, Reply

# Not imported: each worker collects these tests, and one of them runs them.
pytestmark = pytest.mark.skipif(find_spec("pydantic_ai") is None, reason="pydantic-ai is not installed")

NAIVE = "v1-naive"
KEYWORD = {"name": NAIVE, "collection": "quaymaster", "retrieval": {"method": "keyword", "top_k": 5}}
ONLY_CURRENT = {**KEYWORD, "filters": {"status": ["current"]}}
MISSPELT = {**KEYWORD, "filters": {"status": ["current"], "audience": ["developer"]}}
FOR_DEVELOPERS = {**KEYWORD, "filters": {"status": ["current"], "audience": ["developers"]}}


def proposed(reason: str, config: dict[str, Any]) -> str:
    return f"Here it is:\n```json\n{json.dumps({'done': False, 'reason': reason, 'config': config})}\n```"


SCRIPT = (
    proposed("old pages mislead", ONLY_CURRENT)[:-30],
    proposed("old pages mislead", ONLY_CURRENT),
    proposed("pages for others mislead", MISSPELT),
    proposed("pages for others mislead", FOR_DEVELOPERS),
    '{"done": true, "reason": "nothing misleads any more"}',
)


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> tuple[HiveMind, Ended, list[Received]]:
    """A home in which a model has tuned, what the command said, and what the server was asked."""
    hive_mind = HiveMind(tmp_path_factory.mktemp("tuned") / "home")
    for command in ("init", "index"):
        assert hive_mind("retrieval", command).code == 0
    with OpenAICompatibleServer(map(Reply, SCRIPT)) as server:
        served = hive_mind.with_environment(
            HIVE_MIND_LLM="openai:tiny", HIVE_MIND_LLM_URL=server.base_url, HIVE_MIND_LLM_KEY="sk-none"
        )
        process = served.start(
            *("retrieval", "tune", "--how", "llm", "--name", "served", "-o", "json"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        out, err = process.communicate(timeout=120)
    return hive_mind, Ended(process.returncode, out.decode(), err.decode()), server.requests


def folder_of(hive_mind: HiveMind) -> Path:
    return hive_mind.home / "retrieval"


def asked(request: Received) -> str:
    return "\n".join(message["content"] for message in request.body["messages"])


def test_held_out_questions_are_answered_better_by_an_interval_that_excludes_zero(tuned):
    _, ended, _ = tuned
    assert ended.code == 0, ended.err

    compared = ended.json["comparison"]

    assert (compared["before"]["questions"], compared["after"]["questions"]) == ("test", "test")
    assert compared["differences"]["nudcg"]["interval"]["low"] > 0
    assert compared["before"]["distractors_in_5"] >= 20
    assert compared["after"]["distractors_in_5"] <= compared["before"]["distractors_in_5"] / 2
    assert ended.json["allowed"]


def test_the_gate_says_the_same_and_lets_it_through(tuned):
    hive_mind, ended, _ = tuned

    deployed = hive_mind("retrieval", "deploy", "served", "--reason", "fewer distractors", "-o", "json")

    assert deployed.code == 0, deployed.err
    assert Workspace.open(folder_of(hive_mind)).active().filters == FOR_DEVELOPERS["filters"]
    recorded = hive_mind("retrieval", "history", "-o", "json").json[0]
    assert (recorded["what"], recorded["config"]) == ("deploy", "served")
    after = hive_mind("retrieval", "compare", NAIVE, "served", "--questions", "test", "-o", "json").json
    assert after["differences"]["nudcg"] == ended.json["comparison"]["differences"]["nudcg"]


def test_only_what_could_be_used_was_measured_and_kept_with_its_reason(tuned):
    hive_mind, ended, requests = tuned
    assert [step["reason"] for step in ended.json["steps"][1:]] == ["old pages mislead", "pages for others mislead"]
    assert len(requests) == len(SCRIPT)
    assert set(Workspace.open(folder_of(hive_mind)).configs()) == {NAIVE, "served", "served-001", "served-002"}
    assert "// Why: old pages mislead" in (folder_of(hive_mind) / "configs" / "served-001.json").read_text("utf-8")


def test_the_model_learns_what_its_steps_gained_and_sees_no_held_out_question(tuned):
    hive_mind, ended, requests = tuned
    golden = Workspace.open(folder_of(hive_mind)).golden()

    first_step = ended.json["steps"][1]

    assert f"served-001: {first_step['nudcg']:.3f}, {first_step['distractors_in_5']}" in asked(requests[2])
    everything = "\n".join(map(asked, requests))
    assert not [one.query for one in golden.split("test") if one.query in everything]
    assert [one.query for one in golden.split("train") if one.query in everything]
