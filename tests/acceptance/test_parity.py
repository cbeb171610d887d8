"""Real questions get the same answers, whether one memory has everything or agents share what each of them learned."""

import json
import os
from pathlib import Path

import pytest

from hive_mind.evals.experiments import Arm
from hive_mind.evals.running.harness import RetrievalRun, evaluate
from hive_mind.runtime.settings import Settings
from tests.sampled import thorough

DATA = Path(os.environ.get("HIVE_MIND_DATA") or Path(__file__).parents[3] / "shared" / "data")


# On a generated corpus, in every mode and with every idea, `unit/evals/arms/test_parity` shows it.
@pytest.mark.slow
@pytest.mark.data
@pytest.mark.usefixtures("loaded_cells")
@pytest.mark.parametrize("topology", ["federated", thorough("sharded")])
def test_abstracts_dealt_to_ten_agents_are_found_as_one_memory_finds_them(tmp_path: Path, topology: str):
    """A tenth of the questions, and of the abstracts a twelfth and those they ask for: storing all of them takes a minute."""
    if not (DATA / "scifact.queries.jsonl").is_file():
        pytest.skip(f"no evaluation data in {DATA}; set HIVE_MIND_DATA to the folder that holds it")
    questions = [json.loads(line) for line in (DATA / "scifact.queries.jsonl").read_text("utf-8").splitlines()[::10]]
    wanted = {document for question in questions for document in question["qrels"]}
    lines = (DATA / "scifact.corpus.jsonl").read_text("utf-8").splitlines()
    kept = [line for number, line in enumerate(lines) if number % 12 == 0 or json.loads(line)["_id"] in wanted]
    (tmp_path / "scifact.corpus.jsonl").write_text("\n".join(kept), "utf-8")
    (tmp_path / "scifact.queries.jsonl").write_text("\n".join(map(json.dumps, questions)), "utf-8")
    arms = (Arm(), Arm(topology, 10))  # type: ignore[arg-type]

    alone, shared = evaluate(RetrievalRun("jsonl", tmp_path, "keyword", arms=arms), Settings(embed="none"), lambda *_: None)

    assert shared.identical_top10 >= 0.999
    assert shared.metrics["recall@10"] == alone.metrics["recall@10"]
    assert shared.completeness == 1.0
    # In three sets counting, searching and fetching: a request and a reply each, and now and then one too many to a slow member.
    assert shared.messages_per_query <= 6.6 * 3
