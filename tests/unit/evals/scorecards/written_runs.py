"""Runs on disk, written as the harness writes them, with values of our choice: what scorecard, comparison and gate read."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from hive_mind.evals.experiments import Arm, Cell, CellReport, DataSource, Experiment, Row, Timing, cells_of
from hive_mind.evals.running.folder import CellFolder, as_json, open_run

SINGLE, FLAT = Arm(), Arm("flat", agents=10)
SINGLE_ID, FLAT_ID = "notes-single-hybrid-s1", "notes-flat-10-round-robin-hybrid-s1"
NOTES = Experiment("notes-and-hives", (DataSource("notes", "demo"),), (SINGLE, FLAT))

Rows = Sequence[Row]


def row(question: str, **fields: Any) -> Row:
    """A question that found one fact, unless told otherwise. Metrics may be given by their names without "@10"."""
    values = {"metrics": {}, "facts": ["f1"], "found": ["d1"]} | fields
    return Row(question=question, **values)


def rows(metric: str, values: Sequence[float | None], **fields: Any) -> list[Row]:
    """A row for each value: q01, q02 …"""
    return [row(f"q{number:02}", metrics={metric: value}, **fields) for number, value in enumerate(values, 1)]


def written_run(
    folder: Path,
    measured: Mapping[str, Rows | str | None],
    experiment: Experiment = NOTES,
    *,
    times: Callable[[str], tuple[float, float]] = lambda _: (1.0, 2.0),
    report: Mapping[str, Mapping[str, Any]] | None = None,
    data: Mapping[str, str] | None = None,
) -> Path:
    """Write a run. `measured`: by cell its rows, why it failed, or None for one that was begun and not finished.

    Cells that are not named were never begun, but for baselines, which every experiment has: they were asked one question.
    `data` are fingerprints of the data sets.
    """
    open_run(folder, experiment, {"hive_mind": "0.0", "cpu": "abacus", "data": dict(data or {})})
    for cell in cells_of(experiment):
        given: Rows | str | None = measured.get(cell.id, [row("q01")])
        if cell.id not in measured and cell.arm.kind not in ("bm25", "random"):
            continue
        told = (report or {}).get(cell.id, {})
        written = CellFolder.of(folder, cell.id)
        with written.pen() as pen:
            for one in given if given and not isinstance(given, str) else ():
                pen(one, Timing(one.question, *times(one.question)))
        if given is not None:
            written.finish(_report(cell, given, told))
    return folder


def _report(cell: Cell, given: Rows | str, told: Mapping[str, Any]) -> CellReport:
    if isinstance(given, str):
        return CellReport(cell.id, as_json(cell), "failed", given)
    done = CellReport(cell.id, as_json(cell), "done", documents=7, questions=len(given))
    return msgspec.structs.replace(done, **told)
