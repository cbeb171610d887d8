"""Running an evaluation, cell by cell, and reading for it: the questions of its cells, before it, and its folder, after it,
strictly.

From a data source to the documents and questions of a cell: read or generated, pooled, with other questions, cut down. An
experiment's questions are chosen here and nowhere else, so that every arm of a data set is asked the same.

Of a folder come the records of each cell, or why there is nothing to count. A damaged file is an error that names the file and
the line. Figures over the readable rest would look like the whole.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from hive_mind.counted import counted
from hive_mind.errors import InvalidInput, reason_of
from hive_mind.evals.datasets import Dataset, LabelledQuestion, Scope, pooled
from hive_mind.evals.experiments import Cell, CellReport, DataSource, Experiment, Row, Timing, cells_of
from hive_mind.model.decoding import converted, json_decoder
from hive_mind.runtime.settings import Settings


async def asked_of(source: DataSource, seed: int, experiment: Experiment, settings: Settings) -> Dataset:
    """A data set with the questions that are asked of it. Raises `InvalidInput`."""
    dataset = await dataset_of(source, seed, settings)
    return cut(dataset, experiment.subset, experiment.per_category)


async def dataset_of(source: DataSource, seed: int, settings: Settings) -> Dataset:
    """Everything a source has. `seed` decides what is generated. Raises `InvalidInput`."""
    dataset = replace(await _read(source, seed, settings), name=source.name)
    if source.is_pooled and len(dataset.scopes) > 1:
        dataset = pooled(dataset)
    if source.questions is None:
        return dataset
    from hive_mind.evals.datasets.jsonl import with_questions

    return with_questions(dataset, source.questions)


def cut(dataset: Dataset, subset: Sequence[str] = (), per_category: int = 0) -> Dataset:
    """Only the named questions, and at most the given number of each category, evenly spread. Documents stay."""
    names = frozenset(subset)
    questions = [
        (scope.name, question)
        for scope in dataset.scopes
        for question in scope.questions
        if not names or names & _names(scope, question)
    ]
    if per_category:
        groups: dict[str, list[tuple[str, LabelledQuestion]]] = {}
        for scope, question in questions:
            groups.setdefault(question.category, []).append((scope, question))
        # Spread evenly: the first of them are all of one conversation.
        sizes = [(group, min(len(group), per_category)) for group in groups.values()]
        questions = [group[number * len(group) // count] for group, count in sizes for number in range(count)]
    keys = {(scope, question.id) for scope, question in questions}
    scopes = [
        replace(part, questions=tuple(question for question in part.questions if (part.name, question.id) in keys))
        for part in dataset.scopes
    ]
    return replace(dataset, scopes=tuple(part for part in scopes if part.questions))


def fingerprint(dataset: Dataset) -> str:
    """Identity of a data set: the same documents and questions, in the same order, have the same one."""
    return blake2b(msgspec.json.encode(dataset.scopes, order="deterministic"), digest_size=8).hexdigest()


def data_key(source: DataSource, seed: int) -> str:
    """The name of a data set beside its fingerprint in a run: a generated one has another name for each seed."""
    return f"{source.name}-s{seed}"


def unknown_ids(subset: Sequence[str], datasets: Iterable[Dataset]) -> list[str]:
    """Of the ids that should be asked, those that no question has."""
    question_ids = {
        id for dataset in datasets for scope in dataset.scopes for question in scope.questions for id in _names(scope, question)
    }
    return [id for id in subset if id not in question_ids]


def row_id(dataset: Dataset, scope: Scope, question: LabelledQuestion) -> str:
    return question.id if len(dataset.scopes) == 1 else f"{scope.name}/{question.id}"


async def _read(source: DataSource, seed: int, settings: Settings) -> Dataset:
    match source.format:
        case "generated":
            from hive_mind.evals.generating import generate

            return generate(source.turns, source.agents, seed)
        case "demo":
            from hive_mind.evals.demo import demo_dataset

            return demo_dataset()
        case "memory":
            from hive_mind.evals.datasets.load import load_memory

            return await load_memory(settings, source.memory)
    if source.path is None:
        raise InvalidInput(f"data set {source.name} has no path; give it one")
    from hive_mind.evals.datasets.load import load_dataset

    return load_dataset(source.path, source.part, source.format)


def _names(scope: Scope, question: LabelledQuestion) -> set[str]:
    """Valid names of a question: "26/q7" is also found as q7, whether its data set is pooled or not."""
    return {question.id, question.id.rpartition("/")[2], f"{scope.name}/{question.id}"}


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
    # A cell that the experiment does not have is of another run: side by side they would be taken for one.
    names = sorted(path.name for path in (folder / "cells").glob("*") if path.is_dir() and path.name not in planned)
    if names:
        raise InvalidInput(f"{folder / 'cells' / names[0]} is not a cell of {folder / EXPERIMENT}: move it away")
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
    remedy = f"delete {folder / CELL} and run it again"
    if len(rows) != report.questions:
        raise InvalidInput(f"{folder / ROWS} has {counted(len(rows), 'question')} and {CELL} says {report.questions}: {remedy}")
    untimed = [question for question, row in rows.items() if not row.error and question not in times]
    if untimed:
        rest = f" and {len(untimed) - 1} more" if len(untimed) > 1 else ""
        raise InvalidInput(f"{folder / TIMES} has no times of question {untimed[0]!r}{rest}: {remedy}")
    if strange := [question for question in times if question not in rows]:
        raise InvalidInput(f"{folder / TIMES} has times of question {strange[0]!r}, which was not asked: {remedy}")
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
    counts = Counter(report.status if report else "" for report in reports)
    started = str(environment.get("started", ""))
    return RunLine(str(folder), experiment.name, started, counts["done"], counts["failed"], counts[""])


def _experiment_of(plain: dict[str, Any], path: Path) -> Experiment:
    try:
        return converted(plain, Experiment, lambda kind, value: kind(value))
    except msgspec.ValidationError as error:
        raise InvalidInput(f"{path} is not an experiment: {error}; run again into another folder") from error


def _lines(path: Path, kind: type[_Line]) -> dict[str, _Line]:
    records: dict[str, _Line] = {}
    for number, line in enumerate(_bytes(path).split(b"\n"), 1):
        if not line.strip():
            continue
        record = _decoded(path, line, kind, number)
        if record.question in records:
            raise InvalidInput(f"{path}:{number}: question {record.question!r} is there twice: delete one of the lines")
        records[record.question] = record
    return records


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
        raise InvalidInput(f"{path} can't be read: {reason_of(error)}") from error
