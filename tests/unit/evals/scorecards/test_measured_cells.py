"""A damaged run is an error that names file and line, never a figure over what was left of it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.evals.running import read_run
from tests.unit.evals.scorecards.written_runs import SINGLE_ID, row, written_run

CELL = f"cells/{SINGLE_ID}"


def test_a_run_is_read_as_it_was_written(tmp_path: Path):
    asked = [row("q1", metrics={"m": 0.5}), row("q2", error="timed out")]

    cell = read_run(written_run(tmp_path / "run", {SINGLE_ID: asked})).cell(SINGLE_ID)

    assert list(cell.rows.values()) == asked
    assert [one.question for one in cell.answered] == ["q1"]


def test_rows_of_a_cell_that_is_not_finished_are_not_looked_at(tmp_path: Path):
    run = written_run(tmp_path / "run", {SINGLE_ID: None})
    (run / CELL / "rows.jsonl").write_bytes(b'{"question": "q1"}\n{"quest')

    cell = read_run(run).cell(SINGLE_ID)

    assert not cell.is_done
    assert not cell.rows


ROWS, TIMES, REPORT = (f"{CELL}/{name}" for name in ("rows.jsonl", "times.jsonl", "cell.json"))


@pytest.mark.parametrize(
    ("file", "damage", "told"),
    [
        (ROWS, lambda body: body[:-4], rf"{SINGLE_ID}/rows.jsonl:2: .*truncated"),
        (ROWS, lambda body: body.splitlines(keepends=True)[0], r"rows.jsonl has 1 question and cell.json says 2: delete"),
        (ROWS, lambda body: body + body.splitlines(keepends=True)[0], r"rows.jsonl:3: question 'q1' is there twice"),
        (
            ROWS,
            lambda body: body.replace(b'"m":1.0', b'"m":"good"'),
            r"rows.jsonl:1: Expected `float \| null`, got `str` - at `\$.metrics",
        ),
        (ROWS, lambda body: body.replace(b"q2", b"q\xff"), r"rows.jsonl:2: .*damaged"),
        (ROWS, None, r"rows.jsonl is missing"),
        (TIMES, lambda body: body.splitlines(keepends=True)[1], r"times.jsonl has no times of question 'q1'"),
        (
            TIMES,
            lambda body: body + b'{"question": "q9", "cpu_ms": 1, "wall_ms": 1}\n',
            r"times.jsonl has times of question 'q9', which was not asked",
        ),
        (REPORT, lambda _: b"", r"cell.json: Input data was truncated"),
        ("environment.json", None, r"environment.json is missing"),
        ("experiment.json", lambda body: body.replace(b'"data"', b'"date"'), r"experiment.json is not an experiment: .*`data`"),
    ],
)
def test_a_damaged_run_is_an_exact_error(file: str, damage: Callable[[bytes], bytes] | None, told: str, tmp_path: Path):
    run = written_run(tmp_path / "run", {SINGLE_ID: [row("q1", metrics={"m": 1.0}), row("q2")]})
    if damage:
        (run / file).write_bytes(damage((run / file).read_bytes()))
    else:
        (run / file).unlink()

    with pytest.raises(InvalidInput, match=told):
        read_run(run)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("notes-flat-10-round-robin-hybrid-s1", r"is of cell 'notes-single-hybrid-s1', and its folder is called 'notes-flat-"),
        ("letters-single-hybrid-s1", r"letters-single-hybrid-s1 is not a cell of .*experiment.json"),
    ],
)
def test_a_folder_by_a_wrong_name_is_an_error(name: str, told: str, tmp_path: Path):
    run = written_run(tmp_path / "run", {SINGLE_ID: [row("q1")]})
    (run / CELL).rename(run / "cells" / name)

    with pytest.raises(InvalidInput, match=told):
        read_run(run)


def test_a_cell_that_is_not_there_is_told_with_those_that_are(tmp_path: Path):
    run = read_run(written_run(tmp_path / "run", {SINGLE_ID: [row("q1")]}))

    with pytest.raises(InvalidInput, match=rf"has no cell 'flat'; it has: {SINGLE_ID}, "):
        run.cell("flat")
