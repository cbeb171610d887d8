"""From what cells wrote down to the scorecard: collects all columns of values, has their intervals made at once, deals them out.

A cell is compared with "single" of the same data, retrieval and seed while nothing is wrong; baselines rank in their own way, so
they are compared with the first single there is of the data and seed.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from hive_mind.evals.arms.node_per_agent import remains_of
from hive_mind.evals.experiments.values import BASELINES, RUNNING, Cell, Fault
from hive_mind.evals.metrics import column, groups_of_both, identical, metrics_of, value_of
from hive_mind.evals.rows import Learned, Row
from hive_mind.evals.running.reading import MeasuredCell, read_run
from hive_mind.evals.scorecards.card import FILE, AgainstSingle, CellCard, DataPart, Learning, RetrievalPart, Scorecard, System
from hive_mind.hive.topology.spec import SINGLE
from hive_mind.measure.differences import Difference, metric_changes
from hive_mind.measure.intervals import Estimate, estimates, middle
from hive_mind.replacing import write_whole
from hive_mind.retrieval.files.writing import writable

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
    beside = _differences(cells, references)
    cards = []
    for cell in run.cells:
        card = _begun(cell, run.planned[cell.id])
        if cell.is_done:
            card = _with_figures(card, cell, figures[cell.id])
        if reference := references.get(cell.id):
            against = AgainstSingle(reference, figures[cell.id].get(_IDENTICAL), beside.get(cell.id, {}))
            card = msgspec.structs.replace(card, against_single=against)
        cards.append(card)
    return Scorecard(run.experiment.name, run.experiment.limit, run.plain_experiment, run.environment, cards)


def write_scorecard(folder: Path) -> Scorecard:
    """Compute the scorecard of a run's folder and write it there.

    Raises `InvalidInput` for a damaged or missing file, and where it can't be written.
    """
    card = scorecard_of(folder)
    with writable(folder / FILE):
        write_whole(folder / FILE, msgspec.json.format(msgspec.json.encode(card)) + b"\n")
    return card


def references_of(planned: Mapping[str, Cell], done: Iterable[str]) -> dict[str, str]:
    """The single memory each cell is compared with. A cell that is one has none, nor has one for which none is done."""
    cells = [planned[id] for id in done]
    singles = [cell for cell in cells if cell.arm.kind == SINGLE and cell.fault == Fault()]
    found = {}
    for cell in cells:
        alike = [single for single in singles if (single.data, single.seed) == (cell.data, cell.seed)]
        exact = [one for one in alike if one.retrieval == cell.retrieval]
        reference = exact or (alike if cell.arm.kind in BASELINES else [])
        if reference and reference[0] != cell:
            found[cell.id] = reference[0].id
    return found


def usd_of(rows: Iterable[Row]) -> float | None:
    """Their total cost; None where it is unknown, or known only of some that cost tokens."""
    spent = [row.usd for row in rows if row.usd is not None or row.tokens_in or row.tokens_out]
    costs = [usd for usd in spent if usd is not None]
    return sum(costs) if costs and len(costs) == len(spent) else None


def _figures(done: Mapping[str, MeasuredCell], references: Mapping[str, str], limit: int) -> dict[str, Figures]:
    """Estimates by cell and by what they are of."""
    keyed = [(id, column) for id, cell in done.items() for column in _columns(cell)]
    for id, reference in references.items():
        both = done[id].rows, done[reference].rows
        keyed.append((id, (_IDENTICAL, identical(*both, limit), groups_of_both(*both))))
    found: dict[str, dict[Key, Estimate]] = {id: {} for id in done}
    made_estimates = estimates([values for _, (_, values, _) in keyed], [groups for _, (_, _, groups) in keyed])
    for (id, (key, _, _)), estimate in zip(keyed, made_estimates, strict=True):
        if estimate is not None:
            found[id][key] = estimate
    return dict(found)


def _columns(cell: MeasuredCell) -> Iterator[_Column]:
    rows = list(cell.rows.values())
    names = metrics_of(rows)
    parts = [((part, value), some) for part, values in _broken_out(rows).items() for value, some in values.items()]
    for key, some in [(("metrics",), rows), *parts]:
        groups = [row.group for row in some]
        for name in names:
            yield (*key, name), [value_of(row, name) for row in some], groups
    groups = [row.group for row in cell.answered]
    for name in _PER_QUESTION:
        yield ("system", name), [float(getattr(row, name)) for row in cell.answered], groups


def _broken_out(rows: Sequence[Row]) -> dict[str, dict[str, list[Row]]]:
    """Rows by part and value. A part without any question in the data is left out."""
    found: dict[str, dict[str, list[Row]]] = {}
    for part, attribute in PARTS.items():
        if any(getattr(row, attribute) for row in rows):
            values = found.setdefault(part, {})
            for row in sorted(rows, key=lambda row: str(getattr(row, attribute))):
                values.setdefault(getattr(row, attribute) or NOT_GIVEN, []).append(row)
    return found


def _differences(done: Mapping[str, MeasuredCell], references: Mapping[str, str]) -> dict[str, dict[str, Difference]]:
    """Of each cell against its reference, by metric: all of them one family."""
    keyed = [(id, name) for id in references for name in metrics_of(done[id].rows.values())]
    columns = [column(done[id].rows, done[references[id]].rows, name) for id, name in keyed]
    found: dict[str, dict[str, Difference]] = {}
    for (id, name), change in zip(keyed, metric_changes(columns), strict=True):
        if change.difference is not None:
            found.setdefault(id, {})[name] = change.difference
    return found


def _begun(cell: MeasuredCell, planned: Cell) -> CellCard:
    data, report, remains = planned.data, cell.report, remains_of(planned)
    card = CellCard(
        id=cell.id,
        data=DataPart(data.name, data.format, data.part, data.is_pooled),
        arm=planned.arm,
        retrieval=RetrievalPart(planned.retrieval.name, planned.retrieval.mode),
        seed=planned.seed,
        fault=planned.fault,
        status="unfinished",
        why=cell.why,
        stopped=list(remains.stopped) if remains else [],
        held=remains.held if remains else None,
    )
    if report is None:
        return card
    same = ("status", "documents", "questions", "left_out", "embedding", "answerer", "judge", "figures")
    return msgspec.structs.replace(card, **{name: getattr(report, name) for name in same})


def _with_figures(card: CellCard, cell: MeasuredCell, figures: Figures) -> CellCard:
    by: dict[str, dict[str, dict[str, Estimate]]] = {}
    for key, estimate in figures.items():
        if key[0] in PARTS:
            part, value, name = key
            by.setdefault(part, {}).setdefault(value, {})[name] = estimate
    return msgspec.structs.replace(
        card,
        groups=len({row.group for row in cell.rows.values() if row.group}),
        errors=dict(Counter(row.error for row in cell.rows.values() if row.error)),
        metrics={key[1]: one for key, one in figures.items() if key[0] == "metrics"},
        by=by,
        system=_system(cell, figures, is_running=card.arm.kind == RUNNING),
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
    usd = usd_of(answered)
    return System(
        **{name: figures["system", name] for name in _PER_QUESTION},
        cpu_ms=cpu,
        wall_ms=wall,
        tokens_in_total=sum(row.tokens_in for row in answered),
        tokens_out_total=sum(row.tokens_out for row in answered),
        usd_total=usd,
        usd=None if usd is None else usd / len(answered),
        learning=_learning(cell.report.learned),
    )


def _learning(learned: Learned) -> Learning:
    def per_fact(total: int | None) -> float | None:
        return None if total is None or not learned.facts else total / learned.facts

    same = {name: getattr(learned, name) for name in ("facts", "replica_lag_s", "cpu_s", "wall_s", "memory_per_agent_bytes")}
    return Learning(messages_per_fact=per_fact(learned.messages), bytes_per_fact=per_fact(learned.bytes), **same)
