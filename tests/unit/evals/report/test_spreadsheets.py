"""The CSV files hold every row and every cell, and no spreadsheet runs what stands in them."""

import csv
from io import StringIO

import msgspec
import pytest

from hive_mind.evals.experiments import Arm, Fault, Row, Timing
from hive_mind.evals.report import cells_csv, questions_csv, safe
from hive_mind.evals.running import read_run
from hive_mind.evals.scorecard import read_scorecard, write_scorecard
from tests.unit.evals.report.invented import experiment, write_run

ARMS = (Arm("single"), Arm("sharded", 10))


def read(text):
    return list(csv.DictReader(StringIO(text, newline="")))


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\t=1", "\r=1", "\n1", "＝1"])
def test_text_like_a_formula_gets_an_apostrophe(text):
    assert safe(text) == f"'{text}"


@pytest.mark.parametrize("value", ["plain", "", "a=b", -1.5, 3, None])
def test_everything_else_stays_as_it_is(value):
    assert safe(value) == value


def test_every_question_of_every_cell_is_a_line_with_its_figures(tmp_path):
    folder = write_run(tmp_path / "run", experiment("Letters", arms=ARMS, faults=[Fault()]), questions=7)
    run = read_run(folder)

    lines = read(questions_csv(read_scorecard(folder), run))

    assert len(lines) == sum(len(cell.rows) for cell in run.cells) == 7 * len(run.cells)
    first = run.cells[0]
    row, line = next(iter(first.rows.values())), lines[0]
    assert (line["cell"], line["question"], line["arm_kind"]) == (first.id, row.question, "single")
    assert float(line["recall@10"]) == row.metrics["recall@10"]
    assert float(line["wall_ms"]) == first.times[row.question].wall_ms
    assert line["facts"].split() == row.facts


def test_a_question_without_a_result_has_no_costs_and_no_times(tmp_path):
    folder = write_run(tmp_path / "run", experiment("Letters", arms=ARMS, faults=[Fault()]), questions=2)
    rows, times = (next(folder.glob("cells/*single*")) / name for name in ("rows.jsonl", "times.jsonl"))
    rows.write_bytes(msgspec.json.encode(Row("q000", error="timed out")) + b"\n" + rows.read_bytes().splitlines(True)[1])
    times.write_bytes(msgspec.json.encode(Timing("q000", 0.0, 0.0)) + b"\n" + times.read_bytes().splitlines(True)[1])

    lines = read(questions_csv(write_scorecard(folder), read_run(folder)))
    failed, answered = (line for line in lines if line["arm_kind"] == "single")

    measured = ("messages", "bytes", "fan_out", "completeness", "cpu_ms", "wall_ms")
    assert [failed[name] for name in measured] == [""] * 6
    assert "" not in [answered[name] for name in measured]


def test_a_name_that_is_a_formula_is_defused_wherever_it_stands(tmp_path):
    wanted = experiment('=HYPERLINK("x")', arms=ARMS, faults=[Fault()])
    folder = write_run(tmp_path / "run", wanted, questions=3, words="=cmd|' /C calc'!A")
    card, run = read_scorecard(folder), read_run(folder)

    for text in (questions_csv(card, run), cells_csv(card)):
        values = [value for line in read(text) for value in line.values()]
        assert [value for value in values if value.startswith(("=", "+", "@"))] == []
    assert read(cells_csv(card))[0]["data"] == '\'=HYPERLINK("x")'


def test_a_failed_cell_is_a_line_with_its_reason_and_no_figures(tmp_path):
    wanted = experiment("Letters", arms=ARMS, faults=[Fault()])
    folder = write_run(tmp_path / "run", wanted, questions=5, failed={"sharded": "node 3 did not start"})

    by_kind = {line["arm_kind"]: line for line in read(cells_csv(read_scorecard(folder)))}

    assert (by_kind["sharded"]["why"], by_kind["sharded"]["recall@10 mean"]) == ("node 3 did not start", "")
    assert float(by_kind["single"]["recall@10 low"]) <= float(by_kind["single"]["recall@10 mean"])
