"""The folder of a run, read strictly: the records of each cell, or why there is nothing to count.

A damaged file is an error that names the file and the line. Figures over the readable rest would look like the whole.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from hive_mind.counted import counted
from hive_mind.errors import InvalidInput
from hive_mind.evals.experiments.values import Cell, Experiment, cells_of
from hive_mind.evals.rows import CellReport, Row, Timing
from hive_mind.evals.running.data import data_key
from hive_mind.model.decoding import converted, json_decoder

EXPERIMENT, ENVIRONMENT = "experiment.json", "environment.json"
ROWS, TIMES, CELL = "rows.jsonl", "times.jsonl", "cell.json"
NOTES = "notes.txt"
UNFINISHED = "it was not finished: the same hive-mind eval run with --out this folder goes on with it"
_Line = TypeVar("_Line", Row, Timing)


@dataclass(frozen=True, slots=True)
class MeasuredCell:
    """A cell of a run. Without a `report` it is unfinished; only one that is done has rows and times, by question."""

    id: str
    report: CellReport | None = None
    rows: Mapping[str, Row] = field(default_factory=dict)
    times: Mapping[str, Timing] = field(default_factory=dict)

    @property
    def is_done(self) -> bool:
        return self.report is not None and self.report.status == "done"

    @property
    def why(self) -> str:
        if self.report is None:
            return UNFINISHED
        return "" if self.is_done else self.report.why or "it failed and does not say why"

    @property
    def answered(self) -> list[Row]:
        return [row for row in self.rows.values() if not row.error]


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """A whole run: a cell for each that was planned, in that order, begun or not.

    `plain_experiment` is the experiment as plain JSON.
    """

    folder: Path
    experiment: Experiment
    plain_experiment: dict[str, Any]
    environment: dict[str, Any]
    planned: Mapping[str, Cell]
    cells: tuple[MeasuredCell, ...]

    def cell(self, id: str) -> MeasuredCell:
        """The cell of this id. Raises `InvalidInput` for an unknown one."""
        for cell in self.cells:
            if cell.id == id:
                return cell
        raise InvalidInput(f"{self.folder} has no cell {id!r}; it has: {', '.join(cell.id for cell in self.cells)}")

    def fingerprint(self, id: str) -> str:
        """Identity of a cell's documents and questions; "" in an earlier run, which has none."""
        cell = self.planned[id]
        return str((self.environment.get("data") or {}).get(data_key(cell.data, cell.seed), ""))


def read_run(folder: Path) -> MeasuredRun:
    """Read a run. Raises `InvalidInput` for a folder without a run, and for damaged or missing files."""
    if not (folder / EXPERIMENT).is_file():
        raise InvalidInput(f"{folder} is not a run: {EXPERIMENT} is missing; begin one with hive-mind eval run --out {folder}")
    plain, environment = (read_plain(folder / name) for name in (EXPERIMENT, ENVIRONMENT))
    experiment = _experiment_of(plain, folder / EXPERIMENT)
    planned = {cell.id: cell for cell in cells_of(experiment)}
    _refuse_strangers(folder, planned)
    cells = tuple(read_cell(folder / "cells" / id) for id in planned)
    return MeasuredRun(folder, experiment, plain, environment, planned, cells)


def read_cell(folder: Path) -> MeasuredCell:
    """One cell. Raises `InvalidInput`."""
    path, report = folder / CELL, report_in(folder)
    if report is None:
        return MeasuredCell(folder.name)
    if report.id != folder.name:
        raise InvalidInput(f"{path} is of cell {report.id!r}, and its folder is called {folder.name!r}: one of them was moved")
    if report.status != "done":
        return MeasuredCell(folder.name, report)
    rows, times = _lines(folder / ROWS, Row), _lines(folder / TIMES, Timing)
    _refuse_gaps(folder, report, rows, times)
    return MeasuredCell(folder.name, report, rows, times)


def report_in(cell: Path) -> CellReport | None:
    """How a cell went, by its folder; None while it is not finished. Raises `InvalidInput` for a damaged report."""
    path = cell / CELL
    return _decoded(path, _bytes(path), CellReport) if path.exists() else None


def read_plain(path: Path) -> dict[str, Any]:
    """A file of a run as plain JSON. Raises `InvalidInput`."""
    return _decoded(path, _bytes(path), dict[str, Any])


@dataclass(frozen=True, slots=True)
class RunLine:
    """One run: its cells that are done, have failed, and are left. `damage` says why it can't be read, where it can't be."""

    folder: str
    experiment: str = ""
    started: str = ""
    done: int = 0
    failed: int = 0
    left: int = 0
    damage: str = ""


def runs_in(folder: Path) -> list[RunLine]:
    """The runs of a folder, or the folder itself where it is one, by the time they began. Other folders are skipped.

    A run that is damaged is one of them: it may be an evaluation of hours, of which a file can be restored.
    """
    paths = [folder] if (folder / EXPERIMENT).is_file() else sorted(path.parent for path in folder.glob(f"*/{EXPERIMENT}"))
    return sorted((_line(path) for path in paths), key=lambda line: (line.started, line.folder))


def _line(folder: Path) -> RunLine:
    try:
        experiment = _experiment_of(read_plain(folder / EXPERIMENT), folder / EXPERIMENT)
        environment = read_plain(folder / ENVIRONMENT)
        reports = [report_in(folder / "cells" / cell.id) for cell in cells_of(experiment)]
    except InvalidInput:
        return RunLine(str(folder), damage=f"hive-mind eval report {folder} says what is damaged")
    done_count, failed_count = (
        sum(1 for report in reports if report and report.status == status) for status in ("done", "failed")
    )
    started = str(environment.get("started", ""))
    return RunLine(str(folder), experiment.name, started, done_count, failed_count, len(reports) - done_count - failed_count)


def _experiment_of(plain: dict[str, Any], path: Path) -> Experiment:
    try:
        return converted(plain, Experiment, lambda kind, value: kind(value))
    except msgspec.ValidationError as error:
        raise InvalidInput(f"{path} is not an experiment: {error}; run again into another folder") from error


def _refuse_strangers(folder: Path, planned: Mapping[str, Cell]) -> None:
    """A cell that the experiment does not have is of another run: side by side they would be taken for one."""
    names = sorted(path.name for path in (folder / "cells").glob("*") if path.is_dir() and path.name not in planned)
    if names:
        raise InvalidInput(f"{folder / 'cells' / names[0]} is not a cell of {folder / EXPERIMENT}: move it away")


def _refuse_gaps(folder: Path, report: CellReport, rows: Mapping[str, Row], times: Mapping[str, Timing]) -> None:
    remedy = f"delete {folder / CELL} and run it again"
    if len(rows) != report.questions:
        raise InvalidInput(f"{folder / ROWS} has {counted(len(rows), 'question')} and {CELL} says {report.questions}: {remedy}")
    untimed = [question for question, row in rows.items() if not row.error and question not in times]
    if untimed:
        rest = f" and {len(untimed) - 1} more" if len(untimed) > 1 else ""
        raise InvalidInput(f"{folder / TIMES} has no times of question {untimed[0]!r}{rest}: {remedy}")
    if strange := [question for question in times if question not in rows]:
        raise InvalidInput(f"{folder / TIMES} has times of question {strange[0]!r}, which was not asked: {remedy}")


def _lines(path: Path, kind: type[_Line]) -> dict[str, _Line]:
    records: dict[str, _Line] = {}
    for number, line in _numbered(path):
        record = _decoded(path, line, kind, number)
        if record.question in records:
            raise InvalidInput(f"{path}:{number}: question {record.question!r} is there twice: delete one of the lines")
        records[record.question] = record
    return records


def _numbered(path: Path) -> Iterator[tuple[int, bytes]]:
    return ((number, line) for number, line in enumerate(_bytes(path).split(b"\n"), 1) if line.strip())


_Any = TypeVar("_Any")


def _decoded(path: Path, body: bytes, kind: type[_Any], line: int = 0) -> _Any:
    where = f"{path}:{line}" if line else str(path)
    try:
        return json_decoder(kind)(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{where}: {error}: it is damaged; {_mended(path)}") from error


def _mended(path: Path) -> str:
    if path.name in (EXPERIMENT, ENVIRONMENT):
        return "restore it, or run again into another folder"
    return f"restore it, or delete {path.parent} and run again"


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InvalidInput(f"{path} is missing; {_mended(path)}") from None
    except OSError as error:
        raise InvalidInput(f"{path} can't be read: {error.strerror}") from error
