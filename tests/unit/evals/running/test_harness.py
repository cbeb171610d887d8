"""A run from start to end, in processes of its own: the same seed writes the same bytes, however often it was interrupted."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets import LeftOut
from hive_mind.evals.experiments import Arm, Chosen, DataSource, Experiment, Fault, Retrieval, cells_of
from hive_mind.evals.running.folder import refuse_other_things
from hive_mind.evals.running.harness import RunOrder, RunResult, run
from hive_mind.runtime.settings import Settings
from hive_mind.safe_files import PART

pytestmark = pytest.mark.usefixtures("loaded_cells")

LEXICAL = (Retrieval("lexical", "lexical"),)
# More nodes than copies of a fact, so that somebody has to be asked.
SHARDED = Arm("sharded", 4)
EXPERIMENT = Experiment("small", (DataSource("demo", "demo"),), (Arm(), SHARDED), LEXICAL, per_category=2)


def quiet(done: int, total: int, what: str = "") -> None:
    pass


def order(folder: Path, experiment: Experiment = EXPERIMENT) -> RunOrder:
    return RunOrder(experiment, folder, Settings(embed="none"), folder.parent / "vectors")


def rows(folder: Path) -> dict[str, bytes]:
    return {path.parent.name: path.read_bytes() for path in (folder / "cells").glob("*/rows.jsonl")}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    return run(order(tmp_path_factory.mktemp("eval") / "run"), quiet)


def test_every_cell_is_done_and_every_question_is_a_row(whole: RunResult):
    assert [cell.id for cell in whole.cells] == [cell.id for cell in cells_of(EXPERIMENT)]
    assert {cell.status for cell in whole.cells} == {"done"}
    asked = {id: [json.loads(line)["question"] for line in body.splitlines()] for id, body in rows(whole.folder).items()}
    assert {cell.questions for cell in whole.cells} == {len(questions) for questions in asked.values()} == {16}
    assert len({tuple(questions) for questions in asked.values()}) == 1


def test_sharing_finds_what_one_memory_finds_and_says_what_it_cost(whole: RunResult):
    alone, shared = ([json.loads(line) for line in rows(whole.folder)[cell.id].splitlines()] for cell in whole.cells[:2])

    assert [row["facts"] for row in shared] == [row["facts"] for row in alone]
    # What an agent's own node holds is asked of nobody.
    assert any(row.get("messages") for row in shared)
    assert not any("messages" in row for row in alone)


def _unfinished(folder: Path) -> None:
    (folder / "cell.json").unlink()
    body = (folder / "rows.jsonl").read_bytes()
    (folder / "rows.jsonl").write_bytes(body[: len(body) // 2])


def _without_report(folder: Path) -> None:
    (folder / "cell.json").unlink()


@pytest.mark.parametrize("interrupted", [_unfinished, _without_report])
def test_what_was_interrupted_goes_on_to_the_same_result(interrupted: Callable[[Path], None], whole: RunResult):
    before, times = rows(whole.folder), {}
    for number, cell in enumerate(whole.cells):
        path = whole.folder / "cells" / cell.id
        if number in (0, 1):
            interrupted(path)
        else:
            times[cell.id] = (path / "times.jsonl").stat().st_mtime_ns

    again = run(order(whole.folder), quiet)

    assert rows(again.folder) == before
    assert {cell.status for cell in again.cells} == {"done"}
    # What was finished is not asked again.
    assert {id: (whole.folder / "cells" / id / "times.jsonl").stat().st_mtime_ns for id in times} == times


def test_an_arm_that_fails_is_a_cell_with_its_reason_the_others_go_on_and_it_is_tried_once_more_when_the_run_does(tmp_path: Path):
    wanted = order(tmp_path / "run", replace(EXPERIMENT, arms=(Arm(), Arm("routed", 3, fan_out=1))))

    result = run(wanted, quiet)

    (failed,) = result.failed
    assert failed.id == "demo-routed-3-round-robin-lexical-s1-fan1"
    assert "needs an embedding model" in failed.why
    assert [cell.status for cell in result.cells] == ["done", "failed", "done", "done"]
    report = result.folder / "cells" / failed.id / "cell.json"
    report.write_text(report.read_text().replace("needs an embedding model", "nothing"))
    (failed,) = run(wanted, quiet).failed
    assert "needs an embedding model" in failed.why


def test_an_id_that_no_question_has_is_named_while_the_others_are_asked(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    run(order(tmp_path / "run", replace(EXPERIMENT, arms=(Arm(),), subset=("q02", "q99", "nine"), per_category=0)), quiet)

    assert [one.message for one in caplog.records if "--subset" in one.message] == [
        "no question has the id q99 or nine, which --subset names"
    ]


def _documents_alone(folder: Path, name: str) -> DataSource:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.corpus.jsonl").write_text('{"_id": "d1", "text": "The sky is blue."}\n')
    (folder / f"{name}.queries.jsonl").write_text("")
    return DataSource(name, "jsonl", folder / f"{name}.corpus.jsonl")


def test_data_without_a_question_is_refused_or_left_out_by_name(tmp_path: Path):
    silent = _documents_alone(tmp_path / "sets", "notes")

    with pytest.raises(InvalidInput, match="nothing to ask: no question with a known answer in notes"):
        run(order(tmp_path / "none", replace(EXPERIMENT, data=(silent,))), quiet)

    experiment = replace(EXPERIMENT, data=(*EXPERIMENT.data, silent), arms=(Arm(),))
    result = run(replace(order(tmp_path / "run", experiment), absent=("scifact",)), quiet)
    assert {cell.cell["data"]["name"] for cell in result.cells} == {"demo"}
    assert json.loads((result.folder / "environment.json").read_bytes())["absent"] == ["scifact", "notes"]


def test_a_run_does_not_go_on_with_documents_that_have_changed_since_it_began(tmp_path: Path):
    notes = _documents_alone(tmp_path / "sets", "notes")
    (tmp_path / "sets" / "notes.queries.jsonl").write_text('{"_id": "q1", "text": "What is blue?", "qrels": {"d1": 1}}\n')
    wanted = order(tmp_path / "run", replace(EXPERIMENT, data=(notes,)))
    run(wanted, quiet)
    run(wanted, quiet)

    with (tmp_path / "sets" / "notes.corpus.jsonl").open("a") as corpus:
        corpus.write('{"_id": "d2", "text": "The sea is blue."}\n')

    with pytest.raises(InvalidInput, match=r"other documents or questions than there are now \(notes-s1\); restore those"):
        run(wanted, quiet)


def test_what_can_be_known_to_fail_is_refused_before_anything_is_embedded(tmp_path: Path):
    told: list[str] = []

    def heard(_done: int, _total: int, what: str = "") -> None:
        told.append(what)

    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("mine")
    twice = replace(EXPERIMENT, data=(DataSource("demo", "demo"), DataSource("demo-single", "demo")))
    ways = (Retrieval("lexical", "lexical"), Retrieval("single-lexical", "lexical"))

    (begun := tmp_path / "begun").mkdir()
    (begun / f".experiment.json.1-ab{PART}").write_text("another process is about to begin the same run there")
    refuse_other_things(begun)
    with pytest.raises(InvalidInput, match="is not empty and holds no run"):
        run(order(tmp_path / "other"), heard)
    with pytest.raises(InvalidInput, match="two cells of small would be called demo-single-single-lexical-s1"):
        run(order(tmp_path / "run", replace(twice, retrieval=ways)), heard)

    assert told == []


def test_what_a_cell_remarks_stands_in_its_folder_and_not_on_the_terminal(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    lonely = replace(EXPERIMENT, arms=(), chosen=(Chosen((Arm("sharded", 4, replicas=1),), faults=(Fault(down=2),)),))

    result = run(order(tmp_path / "run", lonely), quiet)

    notes = result.folder / "cells" / "demo-sharded-4-round-robin-lexical-s1-r1-down2" / "notes.txt"
    assert "the hive was reached to" in notes.read_text()
    assert "the hive was reached to" not in capfd.readouterr().err


def test_a_text_too_long_for_a_fact_fails_no_cell_and_is_counted(tmp_path: Path):
    long = {"_id": "d1", "text": "Ines moors the ferry. " + "la " * 9_000}
    (tmp_path / "long.corpus.jsonl").write_text(json.dumps(long) + "\n")
    (tmp_path / "long.queries.jsonl").write_text('{"_id": "q1", "text": "Who moors the ferry?", "qrels": {"d1": 1}}\n')
    experiment = replace(EXPERIMENT, data=(DataSource("long", "auto", tmp_path / "long.corpus.jsonl"),), arms=(Arm(),))

    result = run(order(tmp_path / "run", experiment), quiet)

    assert {cell.status for cell in result.cells} == {"done"}
    assert result.cells[0].left_out == {LeftOut.LONG_DOCUMENT: 1}
    assert [json.loads(body)["found"] for body in rows(result.folder).values()] == [["d1"]] * 3


def test_without_a_model_everything_ranks_by_words_and_one_line_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    ways = (Retrieval(), Retrieval("meaning", "semantic"))

    result = run(order(tmp_path / "run", replace(EXPERIMENT, arms=(Arm(),), retrieval=ways)), quiet)

    assert [cell.id for cell in result.cells] == ["demo-single-lexical-s1", "demo-bm25-s1", "demo-random-s1"]
    assert [one.message for one in caplog.records if "by words alone" in one.message] == [
        "no embedding model, so everything ranks by words alone (lexical); hive-mind doctor says how to have one"
    ]


def test_a_model_that_nobody_named_is_missed_before_anything_is_done(tmp_path: Path):
    with pytest.raises(InvalidInput, match="small has answerer: model and judge: model, and no language model is named"):
        run(order(tmp_path / "run", replace(EXPERIMENT, answerer="model", judge="model")), quiet)
    assert not (tmp_path / "run").exists()
