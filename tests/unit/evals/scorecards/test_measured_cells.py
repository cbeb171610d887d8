"""A damaged run is an error that names file and line, never a figure over what was left of it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.evals.running import read_run
from tests.unit.evals.scorecards.written_runs import SINGLE_ID, row, written_run

CELL = f"cells/{SINGLE_ID}"


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


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


def cut_last_line(run: Path) -> None:
    path = run / CELL / "rows.jsonl"
    path.write_bytes(path.read_bytes()[:-4])


def drop_a_row(run: Path) -> None:
    path = run / CELL / "rows.jsonl"
    path.write_bytes(b"".join(lines(path)[:-1]))


def drop_a_time(run: Path) -> None:
    path = run / CELL / "times.jsonl"
    path.write_bytes(b"".join(lines(path)[1:]))


def time_a_stranger(run: Path) -> None:
    with (run / CELL / "times.jsonl").open("ab") as file:
        file.write(b'{"question": "q9", "cpu_ms": 1, "wall_ms": 1}\n')


def ask_twice(run: Path) -> None:
    path = run / CELL / "rows.jsonl"
    path.write_bytes(b"".join([*lines(path), lines(path)[0]]))


def write_a_word_for_a_number(run: Path) -> None:
    path = run / CELL / "rows.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"m":1.0', b'"m":"good"'))


def spoil_the_encoding(run: Path) -> None:
    path = run / CELL / "rows.jsonl"
    path.write_bytes(path.read_bytes().replace(b"q2", b"q\xff"))


def rename_the_cell(run: Path) -> None:
    (run / CELL).rename(run / "cells" / "notes-flat-10-round-robin-hybrid-s1")


def add_a_strange_cell(run: Path) -> None:
    (run / "cells" / "letters-single-hybrid-s1").mkdir()


def lose_the_environment(run: Path) -> None:
    (run / "environment.json").unlink()


def lose_the_rows(run: Path) -> None:
    (run / CELL / "rows.jsonl").unlink()


def empty_the_report(run: Path) -> None:
    (run / CELL / "cell.json").write_bytes(b"")


def forget_the_data(run: Path) -> None:
    path = run / "experiment.json"
    path.write_bytes(path.read_bytes().replace(b'"data"', b'"date"'))


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (cut_last_line, rf"{SINGLE_ID}/rows.jsonl:2: .*truncated"),
        (drop_a_row, r"rows.jsonl has 1 question and cell.json says 2: delete"),
        (drop_a_time, r"times.jsonl has no times of question 'q1'"),
        (time_a_stranger, r"times.jsonl has times of question 'q9', which was not asked"),
        (ask_twice, r"rows.jsonl:3: question 'q1' is there twice"),
        (write_a_word_for_a_number, r"rows.jsonl:1: Expected `float \| null`, got `str` - at `\$.metrics"),
        (spoil_the_encoding, r"rows.jsonl:2: .*damaged"),
        (rename_the_cell, r"cell.json is of cell 'notes-single-hybrid-s1', and its folder is called 'notes-flat-"),
        (add_a_strange_cell, r"letters-single-hybrid-s1 is not a cell of .*experiment.json"),
        (lose_the_environment, r"environment.json is missing"),
        (lose_the_rows, r"rows.jsonl is missing"),
        (empty_the_report, r"cell.json: Input data was truncated"),
        (forget_the_data, r"experiment.json is not an experiment: .*`data`"),
    ],
)
def test_a_damaged_run_is_an_exact_error(damage: Callable[[Path], None], told: str, tmp_path: Path):
    run = written_run(tmp_path / "run", {SINGLE_ID: [row("q1", metrics={"m": 1.0}), row("q2")]})
    damage(run)

    with pytest.raises(InvalidInput, match=told):
        read_run(run)


def test_a_folder_that_is_no_run_is_told_so(tmp_path: Path):
    with pytest.raises(InvalidInput, match=r"is not a run: experiment.json is missing; begin one with hive-mind eval run"):
        read_run(tmp_path)


def test_a_cell_that_is_not_there_is_told_with_those_that_are(tmp_path: Path):
    run = read_run(written_run(tmp_path / "run", {SINGLE_ID: [row("q1")]}))

    with pytest.raises(InvalidInput, match=rf"has no cell 'flat'; it has: {SINGLE_ID}, "):
        run.cell("flat")
