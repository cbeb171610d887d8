"""`eval retrieval` is a run: a line for each arm, side by side with that of one memory that has everything."""

import asyncio
import json
import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hive_mind.cli.app import app
from hive_mind.errors import HiveError, InvalidInput
from hive_mind.evals.experiments import Arm, cells_of
from hive_mind.evals.running.cell import CellOrder, run_cell
from hive_mind.evals.running.harness import RetrievalLine, RetrievalRun, evaluate, experiment_of
from hive_mind.evals.running.vector_cache import Vectors
from hive_mind.hive.topology.spec import NAMES, SPECS, TopologyName
from hive_mind.ranking.pipeline import RankingSettings, rank
from hive_mind.runtime.settings import Settings
from tests.sampled import usually

pytestmark = pytest.mark.usefixtures("loaded_cells")

WORDS = "pump valve hall door ferry bridge otto ines corrin water leaks red blue green nine seven opens closes".split()
SHARING = tuple(SPECS)
WITHOUT_MODEL = Settings(embed="none")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Sixty notes in six sessions of two speakers, and a question about every fifth."""
    chance = random.Random(5)
    texts = [" ".join(chance.choices(WORDS, k=chance.randint(4, 12))) + f" n{number}" for number in range(60)]
    notes = [
        {"_id": f"d{n}", "text": text, "meta": {"speaker": ("Ines", "Otto")[n % 2], "section": f"s{n // 10}"}}
        for n, text in enumerate(texts)
    ]
    asked = [
        {"_id": f"q{n}", "text": " ".join(chance.sample(texts[n].split(), 4)), "qrels": {f"d{n}": 1}} for n in range(3, 60, 5)
    ]
    for kind, lines in (("corpus", notes), ("queries", asked)):
        (tmp_path / f"notes.{kind}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def rows_of(data: Path, *arms: Arm, down: int = 0) -> list[RetrievalLine]:
    return evaluated(RetrievalRun("jsonl", data, "keyword", arms=arms, down=down))


def evaluated(run: RetrievalRun) -> list[RetrievalLine]:
    return evaluate(run, WITHOUT_MODEL, quiet)


def quiet(done: int, total: int, what: str = "") -> None:
    pass


def one_note(folder: Path, name: str) -> Path:
    """A data set of one document and a question that it answers."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.corpus.jsonl").write_text('{"_id": "d1", "text": "The ferry leaves at nine."}\n')
    (folder / f"{name}.queries.jsonl").write_text('{"_id": "q1", "text": "When does the ferry leave?", "qrels": {"d1": 1}}\n')
    return folder


@pytest.mark.parametrize("deal", usually(["session", "round-robin", "speaker"], "session"))
def test_every_topology_finds_what_one_memory_finds(data: Path, deal: str):
    alone, *shared = rows_of(data, Arm(), *(Arm(one, 7, deal=deal) for one in SHARING))

    assert alone.metrics["recall@10"] == 1.0
    assert (alone.topology, alone.agents, alone.identical_top10) == ("single", 1, 1.0)
    for row, topology in zip(shared, SHARING, strict=True):
        assert (row.topology, row.agents, row.deal) == (topology, 7, deal)
        assert row.identical_top10 == row.completeness == 1.0
        assert row.metrics == alone.metrics
    flat, *apart = shared
    assert flat.messages_per_query == flat.bytes_per_query == 0
    assert all(row.bytes_per_query > 100 * row.messages_per_query > 0 for row in apart)


def test_stopped_nodes_are_told_as_what_is_missing(data: Path):
    # Three questions, because each waits for the silent: of notes 3, 8 and 13, the first of which the stopped agent learned.
    queries = data / "notes.queries.jsonl"
    queries.write_text("".join(queries.read_text().splitlines(keepends=True)[:3]))

    (row,) = rows_of(data, Arm("federated", 4, 4), down=1)

    # Three of four groups: copies for everyone are not asked for, and not counted.
    assert row.completeness == pytest.approx(0.75)
    assert row.identical_top10 < 1.0
    assert row.metrics["recall@10"] == pytest.approx(2 / 3, abs=1e-4)


def test_the_command_puts_topologies_side_by_side(data: Path):
    words = f"eval retrieval --data {data} --method keyword --topology single,sharded --agents 6 --embed none"

    table = CliRunner().invoke(app, words.split(), env={"COLUMNS": "160"})

    assert table.exit_code == 0
    assert "same as single" in table.output


def test_the_command_refuses_a_topology_it_does_not_know(data: Path):
    refused = CliRunner().invoke(app, ["eval", "retrieval", "--data", str(data), "--topology", "flat,ring"])

    assert refused.exit_code != 0
    assert ", ".join(NAMES) in " ".join((refused.output + str(refused.exception)).split())


def test_a_data_set_may_be_called_what_no_agent_may_be_called(tmp_path: Path):
    (row,) = rows_of(one_note(tmp_path, "mün chen+1"), Arm())

    assert (row.dataset, row.metrics["recall@10"]) == ("mün chen+1", 1.0)


def test_the_folder_of_all_data_sets_is_as_good_as_that_of_one(tmp_path: Path):
    notes = one_note(tmp_path / "sets" / "notes", "notes")

    (inside,), (above,) = (
        evaluated(run)
        for run in (RetrievalRun("auto", notes, "keyword"), RetrievalRun("auto", tmp_path / "sets", "keyword", name="notes"))
    )

    assert inside.metrics == above.metrics
    assert above.questions == 1


@pytest.mark.parametrize("topology", ["single", "flat"])
def test_what_a_configuration_says_of_ranking_reaches_every_memory(tmp_path: Path, topology: TopologyName, monkeypatch):
    wanted, used = RankingSettings(fusion="rrf", rrf_k=7), []

    def noting(*arguments):
        used.extend(one for one in arguments if isinstance(one, RankingSettings))
        return rank(*arguments)

    monkeypatch.setattr("hive_mind.ranking.question.rank", noting)
    experiment = experiment_of(
        RetrievalRun("jsonl", one_note(tmp_path, "x"), "keyword", arms=(Arm(topology, 2),), ranking=wanted)
    )
    # The cell of the topology is the last; here in this process, where it can be watched.
    cell = CellOrder(cells_of(experiment)[-1], experiment, tmp_path / "run", WITHOUT_MODEL, Vectors(tmp_path))
    asyncio.run(run_cell(cell, quiet))

    assert used
    assert set(used) == {wanted}


def test_what_is_kept_goes_on_and_is_reported_and_compared_as_any_run(data: Path, tmp_path: Path):
    words = (
        f"eval retrieval --data {data} --method keyword --topology single,sharded --agents 6 --embed none --out {tmp_path}/run"
    )
    first = told(words)["rows"]
    asked = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").glob("cells/*/times.jsonl")}

    again = told(words)["rows"]
    alone, shared = told(f"eval report {tmp_path}/run")["cells"]
    (change,) = told(f"eval compare {tmp_path}/run:{alone['id']} {tmp_path}/run:{shared['id']}")["cells"]

    assert [(row["topology"], row["identical_top10"]) for row in first] == [("single", 1.0), ("sharded", 1.0)]
    assert again == first
    # What was finished is not asked again.
    assert {path: path.stat().st_mtime_ns for path in asked} == asked
    assert (alone["id"], shared["id"]) == ("notes-single-lexical-s1", "notes-sharded-6-round-robin-lexical-s1")
    assert [round(cell["metrics"]["ndcg@10"]["mean"], 4) for cell in (alone, shared)] == [
        row["metrics"]["ndcg@10"] for row in first
    ]
    assert change["identical_top_k"]["mean"] == 1.0


def told(words: str) -> dict[str, Any]:
    ended = CliRunner().invoke(app, [*words.split(), "--output", "json"])
    assert ended.exit_code == 0, ended.output
    return json.loads(ended.stdout)


def test_without_a_folder_nothing_is_kept(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    passing = tmp_path / "passing"
    passing.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(passing))

    rows_of(data, Arm())

    assert list(passing.iterdir()) == []


@pytest.mark.parametrize("method", ["hybrid", "vector", "rrf", "weighted"])
def test_a_method_that_needs_a_model_is_not_measured_by_words_alone(data: Path, tmp_path: Path, method: str):
    with pytest.raises(InvalidInput, match="needs an embedding model: see hive-mind doctor"):
        evaluate(RetrievalRun("jsonl", data, method), WITHOUT_MODEL, quiet, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_what_document_004_proposes_can_be_measured_by_words(data: Path):
    (row,) = evaluated(RetrievalRun("jsonl", data, "seed-federated"))

    assert row.method == "seed-federated"
    # Half of its ranking is how sure a fact is, and here all are equally sure.
    assert 0.5 < row.metrics["recall@10"] < 1.0


@pytest.mark.parametrize(
    ("method", "arm", "told"),
    [
        ("keyword", Arm("flat", 3, deal="by moon"), "'by moon'; known: round-robin, session, speaker"),
        ("lexical", Arm(), "unknown method 'lexical'; known: keyword, vector, hybrid, rrf, weighted, seed-federated"),
        ("keyword", Arm("federated", 3, 5), "5 groups of 3 agents leave some empty"),
    ],
)
def test_what_can_not_be_is_an_error_with_what_there_is(data: Path, method: str, arm: Arm, told: str):
    with pytest.raises(HiveError, match=told):
        evaluated(RetrievalRun("jsonl", data, method, arms=(arm,)))
