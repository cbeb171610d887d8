"""The scorecard of a run: every figure of every cell, computed from its rows, timings and report, and from nothing else.

Table, report, comparison and gate draw from it. A cell that failed, or was never finished, is in it with its reason and without
figures: means over the questions it happened to answer would flatter it.

A cell is compared with "single" of the same data, retrieval and seed while nothing is wrong; baselines rank in their own way, so
they are compared with the first single there is of the data and seed. All columns of values have their intervals made at once.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from hive_mind.errors import InvalidInput, reason_of
from hive_mind.evals.arms.node_per_agent import remains_of
from hive_mind.evals.experiments import BASELINES, RUNNING, Arm, Cell, Fault, Mode, Row
from hive_mind.evals.metrics import column, groups_of_both, identical, metrics_of, value_of
from hive_mind.evals.running import MeasuredCell, read_run
from hive_mind.hive.topology.spec import SINGLE
from hive_mind.measure import JUDGED_MIN, Difference, Estimate, Middle, estimates, metric_changes, middle
from hive_mind.model.decoding import json_decoder
from hive_mind.retrieval import writable
from hive_mind.safe_files import write_whole

FILE = "scorecard.json"


class AgainstSingle(msgspec.Struct, frozen=True):
    """Beside one memory that has everything. `identical_top_k`: share of questions with its facts, in its order."""

    reference: str
    """The id of the cell it is compared with."""
    identical_top_k: Estimate | None
    metrics: dict[str, Difference] = {}


class Learning(msgspec.Struct, frozen=True):
    """Cost of learning. None: not measured in this place."""

    facts: int = 0
    messages_per_fact: float | None = None
    bytes_per_fact: float | None = None
    replica_lag_s: float | None = None
    cpu_s: float | None = None
    wall_s: float | None = None
    memory_per_agent_bytes: int | None = None


class System(msgspec.Struct, frozen=True):
    """Cost of answering, per question unless the name says otherwise. `usd` is None where no price is known."""

    messages: Estimate
    bytes: Estimate
    fan_out: Estimate
    completeness: Estimate
    cpu_ms: Middle
    wall_ms: Middle
    tokens_in_total: int = 0
    tokens_out_total: int = 0
    usd_total: float | None = None
    usd: float | None = None
    learning: Learning = Learning()


class DataPart(msgspec.Struct, frozen=True):
    """Which data a cell asked. Other fields of the experiment's data source are in `experiment`."""

    name: str
    format: str = "auto"
    part: str = ""
    is_pooled: bool = True


class RetrievalPart(msgspec.Struct, frozen=True):
    """How a cell ranked."""

    name: str = "hybrid"
    mode: Mode = "hybrid"


class CellCard(msgspec.Struct, frozen=True):
    """All figures of a cell. Only `status` "done" has any; `why` says why another one has none.

    `by` breaks the metrics out: "category", "intent" or "source" → value → metric. `errors` are questions without a result by
    their reason; they are part of `questions` and of no mean. `groups` counts the groups that questions come in, such as
    conversations: then intervals are drawn by group; 0 where there are none. `figures` are of the whole cell, such as cohesion.
    """

    id: str
    data: DataPart
    arm: Arm
    retrieval: RetrievalPart
    seed: int
    fault: Fault
    status: Literal["done", "failed", "unfinished"]
    why: str = ""
    documents: int = 0
    questions: int = 0
    groups: int = 0
    errors: dict[str, int] = {}
    left_out: dict[str, int] = {}
    embedding: str = ""
    answerer: str = ""
    judge: str = ""
    metrics: dict[str, Estimate] = {}
    by: dict[str, dict[str, dict[str, Estimate]]] = {}
    figures: dict[str, float | None] = {}
    system: System | None = None
    against_single: AgainstSingle | None = None
    stopped: list[str] = []
    """The nodes that the seed chose to stop; others would leave another part of the hive."""
    held: float | None = None
    """The share of the hive that the rest holds; None where none was stopped."""

    @property
    def has_too_few_questions(self) -> bool:
        return self.questions < JUDGED_MIN


class Scorecard(msgspec.Struct, frozen=True):
    """A whole run. `experiment` and `environment` are those files of its folder, as plain JSON; `limit` is k."""

    name: str
    limit: int
    experiment: dict[str, Any]
    environment: dict[str, Any]
    cells: list[CellCard]

    @property
    def done(self) -> list[CellCard]:
        return [cell for cell in self.cells if cell.status == "done"]

    @property
    def without_figures(self) -> list[CellCard]:
        return [cell for cell in self.cells if cell.status != "done"]


def read_scorecard(folder: Path) -> Scorecard:
    """The scorecard as it was written. Raises `InvalidInput` if it is missing or can't be read."""
    path = folder / FILE
    try:
        return json_decoder(Scorecard)(path.read_bytes())
    except FileNotFoundError:
        raise InvalidInput(f"{path} is not there: make it with hive-mind eval report {folder}") from None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"{path} can't be read ({reason_of(error)}): make it anew with hive-mind eval report {folder}"
        ) from error


PARTS = {"category": "category", "intent": "intent", "source": "source_bias"}
"""How metrics are broken out, and the field of a row that says where it belongs."""
NOT_GIVEN = "not given"
_PER_QUESTION = ("messages", "bytes", "fan_out", "completeness")
_IDENTICAL = ("identical_top_k",)

Key = tuple[str, ...]
"""The subject of an estimate: ("metrics", name), ("category", value, name), ("system", name) …"""
Figures = Mapping[Key, Estimate]
_Column = tuple[Key, list[float | None], list[str]]
"""Its subject, the value of each question, and each question's group."""


def scorecard_of(folder: Path) -> Scorecard:
    """Compute it. Raises `InvalidInput` for a damaged or missing file."""
    run = read_run(folder)
    cells = {cell.id: cell for cell in run.cells if cell.is_done}
    references = references_of(run.planned, cells)
    figures = _figures(cells, references, run.experiment.limit)
    # Of each cell against its reference, by metric: all of them one family.
    keyed = [(id, name) for id in references for name in metrics_of(cells[id].rows.values())]
    changes = metric_changes([column(cells[id].rows, cells[references[id]].rows, name) for id, name in keyed])
    differences: dict[str, dict[str, Difference]] = {}
    for (id, name), change in zip(keyed, changes, strict=True):
        if change.difference is not None:
            differences.setdefault(id, {})[name] = change.difference
    cards = []
    for cell in run.cells:
        against = None
        if reference := references.get(cell.id):
            against = AgainstSingle(reference, figures[cell.id].get(_IDENTICAL), differences.get(cell.id, {}))
        cards.append(_card(cell, run.planned[cell.id], figures.get(cell.id), against))
    return Scorecard(run.experiment.name, run.experiment.limit, run.plain_experiment, run.environment, cards)


def write_scorecard(folder: Path) -> Scorecard:
    """Compute the scorecard of a run's folder and write it there.

    Raises `InvalidInput` for a damaged or missing file, and where it can't be written.
    """
    card = scorecard_of(folder)
    with writable(folder / FILE):
        write_whole(folder / FILE, msgspec.json.format(msgspec.json.encode(card)) + b"\n")
    return card


def references_of(planned: Mapping[str, Cell], done_ids: Iterable[str]) -> dict[str, str]:
    """The single memory each cell is compared with. A cell that is one has none, nor has one for which none is done."""
    cells = [planned[id] for id in done_ids]
    singles = [cell for cell in cells if cell.arm.kind == SINGLE and cell.fault == Fault()]
    references = {}
    for cell in cells:
        alike = [single for single in singles if (single.data, single.seed) == (cell.data, cell.seed)]
        exact = [single for single in alike if single.retrieval == cell.retrieval]
        reference = exact or (alike if cell.arm.kind in BASELINES else [])
        if reference and reference[0] != cell:
            references[cell.id] = reference[0].id
    return references


def usd_of(rows: Iterable[Row]) -> float | None:
    """Their total cost; None where it is unknown, or known only of some that cost tokens."""
    spent = [row.usd for row in rows if row.usd is not None or row.tokens_in or row.tokens_out]
    costs = [usd for usd in spent if usd is not None]
    return sum(costs) if costs and len(costs) == len(spent) else None


def _figures(cells: Mapping[str, MeasuredCell], references: Mapping[str, str], limit: int) -> dict[str, Figures]:
    keyed = [(id, column) for id, cell in cells.items() for column in _columns(cell)]
    for id, reference in references.items():
        rows = cells[id].rows, cells[reference].rows
        keyed.append((id, (_IDENTICAL, identical(*rows, limit), groups_of_both(*rows))))
    estimates_by_cell: dict[str, dict[Key, Estimate]] = {id: {} for id in cells}
    made_estimates = estimates([values for _, (_, values, _) in keyed], [groups for _, (_, _, groups) in keyed])
    for (id, (key, _, _)), estimate in zip(keyed, made_estimates, strict=True):
        if estimate is not None:
            estimates_by_cell[id][key] = estimate
    return {**estimates_by_cell}


def _columns(cell: MeasuredCell) -> Iterator[_Column]:
    rows = list(cell.rows.values())
    names = metrics_of(rows)
    parts = [((part, value), part_rows) for part, values in _broken_out(rows).items() for value, part_rows in values.items()]
    for key, part_rows in [(("metrics",), rows), *parts]:
        groups = [row.group for row in part_rows]
        for name in names:
            yield (*key, name), [value_of(row, name) for row in part_rows], groups
    groups = [row.group for row in cell.answered]
    for name in _PER_QUESTION:
        yield ("system", name), [float(getattr(row, name)) for row in cell.answered], groups


def _broken_out(rows: Sequence[Row]) -> dict[str, dict[str, list[Row]]]:
    """Rows by part and value. A part without any question in the data is left out."""
    rows_by_part: dict[str, dict[str, list[Row]]] = {}
    for part, attribute in PARTS.items():
        if any(getattr(row, attribute) for row in rows):
            values = rows_by_part.setdefault(part, {})
            for row in sorted(rows, key=lambda row: str(getattr(row, attribute))):
                values.setdefault(getattr(row, attribute) or NOT_GIVEN, []).append(row)
    return rows_by_part


_OF_REPORT = ("status", "documents", "questions", "left_out", "embedding", "answerer", "judge", "figures")


def _card(cell: MeasuredCell, planned: Cell, figures: Figures | None, against: AgainstSingle | None) -> CellCard:
    """`figures` only of a cell that is done."""
    data, remains = planned.data, remains_of(planned)
    measured: dict[str, Any] = {"status": "unfinished"}
    if cell.report:
        measured = {name: getattr(cell.report, name) for name in _OF_REPORT}
    if figures is not None:
        rows, by = cell.rows.values(), dict[str, dict[str, dict[str, Estimate]]]()
        for key, estimate in figures.items():
            if key[0] in PARTS:
                part, value, name = key
                by.setdefault(part, {}).setdefault(value, {})[name] = estimate
        measured |= {
            "groups": len({row.group for row in rows if row.group}),
            "errors": dict(Counter(row.error for row in rows if row.error)),
            "metrics": {key[1]: estimate for key, estimate in figures.items() if key[0] == "metrics"},
            "by": by,
            "system": _system(cell, figures, is_running=planned.arm.kind == RUNNING),
        }
    return CellCard(
        id=cell.id,
        data=DataPart(data.name, data.format, data.part, data.is_pooled),
        arm=planned.arm,
        retrieval=RetrievalPart(planned.retrieval.name, planned.retrieval.mode),
        seed=planned.seed,
        fault=planned.fault,
        why=cell.why,
        against_single=against,
        stopped=list(remains.stopped) if remains else [],
        held=remains.held if remains else None,
        **measured,
    )


def _system(cell: MeasuredCell, figures: Figures, *, is_running: bool) -> System | None:
    """None where no question was answered, and of an agent that runs: its messages and its CPU are not seen from here."""
    answered = cell.answered
    if is_running:
        return None
    times = [cell.times[row.question] for row in answered]
    cpu, wall = middle(time.cpu_ms for time in times), middle(time.wall_ms for time in times)
    if cpu is None or wall is None or cell.report is None:
        return None
    usd, cost = usd_of(answered), cell.report.learned
    learning = {name: getattr(cost, name) for name in ("facts", "replica_lag_s", "cpu_s", "wall_s", "memory_per_agent_bytes")}
    for name in ("messages", "bytes"):
        total = getattr(cost, name)
        learning[f"{name}_per_fact"] = None if total is None or not cost.facts else total / cost.facts
    return System(
        **{name: figures["system", name] for name in _PER_QUESTION},
        cpu_ms=cpu,
        wall_ms=wall,
        tokens_in_total=sum(row.tokens_in for row in answered),
        tokens_out_total=sum(row.tokens_out for row in answered),
        usd_total=usd,
        usd=None if usd is None else usd / len(answered),
        learning=Learning(**learning),
    )
