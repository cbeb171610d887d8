"""The folder of a run: what is whole counts, what is half is cut off, and another experiment's folder is refused."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.evals.experiments import Arm, CellReport, Chosen, DataSource, Experiment, Fault, Retrieval, Row, Timing
from hive_mind.evals.running import read_plain, read_run
from hive_mind.evals.running.folder import CellFolder, open_run
from hive_mind.ranking.pipeline import RankingSettings

EXPERIMENT = Experiment("x", (DataSource("demo", "demo"),), (Arm(),))
HERE = {"embedding": ""}


@pytest.fixture
def cell(tmp_path: Path) -> CellFolder:
    return CellFolder(tmp_path / "cells" / "a")


def written(cell: CellFolder, *questions: str) -> None:
    with cell.pen() as pen:
        for question in questions:
            pen(Row(question, found=["d1"]), Timing(question, 1.0, 2.0))


def test_a_run_that_was_begun_before_experiments_had_all_their_fields_goes_on(tmp_path: Path):
    open_run(tmp_path, EXPERIMENT, HERE)
    told = read_plain(tmp_path / "experiment.json")
    del told["has_baselines"]
    (tmp_path / "experiment.json").write_text(json.dumps(told))

    open_run(tmp_path, EXPERIMENT, HERE)
    assert read_plain(tmp_path / "experiment.json") == told


def test_another_experiment_is_refused_and_told_what_differs(tmp_path: Path):
    open_run(tmp_path, EXPERIMENT, HERE)

    with pytest.raises(InvalidInput, match=r"holds a run of another experiment \(other limit, seeds\); give another --out"):
        open_run(tmp_path, replace(EXPERIMENT, limit=5, seeds=(2,)), HERE)


def test_other_embeddings_are_refused(tmp_path: Path):
    open_run(tmp_path, EXPERIMENT, HERE)

    with pytest.raises(InvalidInput, match="was begun with no embeddings and this run has embeddings of m; give --embed"):
        open_run(tmp_path, EXPERIMENT, {"embedding": "m"})


def test_another_language_model_or_vector_index_is_refused(tmp_path: Path):
    begun = {"embedding": "m", "vector_index": "quantised", "language_model": "openai:gpt-5-mini"}
    open_run(tmp_path, EXPERIMENT, begun)

    with pytest.raises(
        InvalidInput, match="begun with language model openai:gpt-5-mini and this run has language model x:y; give"
    ):
        open_run(tmp_path, EXPERIMENT, begun | {"language_model": "x:y"})
    with pytest.raises(InvalidInput, match="begun with vector index quantised and this run has vector index usearch; give HIVE"):
        open_run(tmp_path, EXPERIMENT, begun | {"vector_index": "usearch"})
    open_run(tmp_path, EXPERIMENT, begun)


def test_what_is_written_down_is_read_as_the_same_experiment(tmp_path: Path):
    everything = replace(
        EXPERIMENT,
        data=(DataSource("a", path=tmp_path / "a", questions=tmp_path / "q.json"),),
        retrieval=(Retrieval("w", "lexical", RankingSettings(semantic_weight=0.3)),),
        faults=(Fault(1, 0.5),),
        chosen=(Chosen((Arm("sharded", 3),), ("a",), (Fault(2),)),),
        subset=("q1",),
    )
    open_run(tmp_path / "run", everything, HERE)

    assert read_run(tmp_path / "run").experiment == everything


def test_rows_are_there_as_soon_as_they_are_written(cell: CellFolder):
    with cell.pen() as pen:
        pen(Row("q1"), Timing("q1", 1.0, 2.0))

        assert [row.question for row in cell.answered()] == ["q1"]


@pytest.mark.parametrize(
    "half", [b'{"question":"q3","fo', b'{"question":"q3"}', b"\xff\n", b'{"question":3}\n{"question":"q4"}\n']
)
def test_what_a_kill_left_half_is_cut_off(cell: CellFolder, half: bytes):
    written(cell, "q1", "q2")
    whole = (cell.path / "rows.jsonl").read_bytes()
    with (cell.path / "rows.jsonl").open("ab") as file:
        file.write(half)

    assert [row.question for row in cell.answered()] == ["q1", "q2"]
    assert (cell.path / "rows.jsonl").read_bytes() == whole


def test_a_question_counts_only_with_its_times(cell: CellFolder):
    written(cell, "q1", "q2")
    times = (cell.path / "times.jsonl").read_bytes()
    (cell.path / "times.jsonl").write_bytes(times[:-3])

    assert [row.question for row in cell.answered()] == ["q1"]
    written(cell, "q2")
    assert (cell.path / "times.jsonl").read_bytes() == times


def test_a_cell_is_finished_by_its_report_and_can_be_done_again(cell: CellFolder):
    written(cell, "q1")
    assert cell.report() is None
    report = CellReport("a", {}, "failed", "it broke")

    cell.finish(report)
    assert cell.report() == report
    cell.again()
    assert cell.report() is None
    assert cell.answered() == []


def test_a_damaged_report_says_what_to_delete(cell: CellFolder):
    written(cell, "q1")
    (cell.path / "cell.json").write_text("{")

    with pytest.raises(InvalidInput, match=r"delete .*cells/a and run again"):
        cell.report()


def test_a_folder_that_can_not_be_made_is_an_error_with_what_to_do(tmp_path: Path):
    (tmp_path / "file").write_text("mine")

    with pytest.raises(InvalidInput, match=r"file/run can't be written \(Not a directory\): make room, or make it writable"):
        open_run(tmp_path / "file" / "run", EXPERIMENT, {})


def test_where_a_disk_is_full_a_row_is_refused_with_what_to_do(tmp_path: Path):
    cell = CellFolder.of(tmp_path, "full")
    cell.path.mkdir(parents=True)
    (cell.path / "rows.jsonl").symlink_to("/dev/full")

    with pytest.raises(InvalidInput, match=r"No space left on device\): make room"), cell.pen() as pen:
        pen(Row("q1"), Timing("q1", 0.0, 0.0))

    assert (cell.path / "times.jsonl").read_bytes() == b""
