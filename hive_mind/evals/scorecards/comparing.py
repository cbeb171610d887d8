"""Two runs, or two cells, side by side: by how much each metric differs, and which of the differences are real.

Cells of the same name are compared, and cells that differ in their ranking alone; where each side has one cell only, those two.
Everything that can't be compared is named with its reason: questions that only one was asked or answered, cells that only one
has, cells without figures.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from hive_mind.errors import InvalidInput
from hive_mind.evals.running.reading import MeasuredCell, MeasuredRun, read_run
from hive_mind.evals.scorecards.metrics import chosen_metrics, groups_of_both, identical, paired
from hive_mind.measure.differences import MetricChange, Pairs, metric_changes
from hive_mind.measure.intervals import Estimate, defined, estimate, median_interval

TIMES = ("cpu_ms", "wall_ms")


@dataclass(frozen=True, slots=True)
class Side:
    """A run, or those of its cells that are meant. `name` is what it was called on the command line."""

    name: str
    run: MeasuredRun
    cells: tuple[MeasuredCell, ...]


@dataclass(frozen=True, slots=True)
class TimeChange:
    """Medians in milliseconds, and the median of the paired differences with its 95 % interval."""

    time: str
    before: float
    after: float
    difference: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class CellChange:
    """Two cells and the `questions` that both answered. `unpaired` names others by the reason why they count on neither side."""

    before: str
    after: str
    questions: int
    metrics: tuple[MetricChange, ...]
    times: tuple[TimeChange, ...]
    identical_top_k: Estimate | None
    unpaired: Mapping[str, tuple[str, ...]]
    has_other_data: bool = False
    """Whether documents or questions of the same data set are not what they were: then so may be the figures, for that alone."""


@dataclass(frozen=True, slots=True)
class RunChange:
    """Two runs. `left_out` are cells that can't be compared, with the reason. `tests` is the size of the family for Holm."""

    before: str
    after: str
    limit: int
    cells: tuple[CellChange, ...]
    left_out: tuple[tuple[str, str], ...]
    tests: int


def side_of(name: str) -> Side:
    """The meaning of `RUN` or `RUN:CELL`. Raises `InvalidInput` where there is no such run or cell."""
    path, _, cell = name.rpartition(":")
    if Path(name).is_dir() or not path:
        run = read_run(Path(name))
        return Side(name, run, run.cells)
    run = read_run(Path(path))
    return Side(name, run, (run.cell(cell),))


def compare_sides(before: Side, after: Side, wanted: Sequence[str] = ()) -> RunChange:
    """Compare all cells that both have. Raises `InvalidInput` if no cell is in both, or the cuts differ."""
    limit, other = before.run.experiment.limit, after.run.experiment.limit
    if limit != other:
        problem = f"{before.name} measured the first {limit} results and {after.name} the first {other}"
        raise InvalidInput(f"{problem}: run one of them again with the other's limit")
    pairs, left_out = paired_cells(before, after)
    if not pairs:
        raise InvalidInput(f"nothing to compare: {'; '.join(f'{id}: {why}' for id, why in left_out)}")
    every = [[*old.rows.values(), *new.rows.values()] for old, new in pairs]
    named = chosen_metrics([row for rows in every for row in rows], wanted) if wanted else ()
    names = [named or chosen_metrics(rows) for rows in every]
    columns = [(name, *_column(old, new, name)) for (old, new), some in zip(pairs, names, strict=True) for name in some]
    changes = metric_changes(columns)
    cells = []
    for (old, new), some in zip(pairs, names, strict=True):
        unpaired = _unpaired(before.name, old, new) | _unpaired(after.name, new, old)
        same = estimate(identical(new.rows, old.rows, limit), groups_of_both(new.rows, old.rows))
        both = len(_both(old, new))
        metrics, times = tuple(next(changes) for _ in some), tuple(_time_changes(old, new))
        is_other = has_other_data(before, after, old.id, new.id)
        cells.append(CellChange(old.id, new.id, both, metrics, times, same, unpaired, is_other))
    tests = sum(change.difference is not None for cell in cells for change in cell.metrics)
    return RunChange(before.name, after.name, limit, tuple(cells), tuple(left_out), tests)


def paired_cells(before: Side, after: Side) -> tuple[list[tuple[MeasuredCell, MeasuredCell]], list[tuple[str, str]]]:
    """Cells with figures: of one name, or alike but for their ranking, or the only ones; and the others, each with the reason."""
    old, new = ({cell.id: cell for cell in side.cells} for side in (before, after))
    both = [(old[id], new[id]) for id in old if id in new]
    if len(old) == len(new) == 1:
        both = list(zip(old.values(), new.values(), strict=True))
    else:
        both += _ranked_otherwise(before, after)
    met = {id for pair in both for id in (pair[0].id, pair[1].id)}
    left_out = [(id, f"only in {side.name}") for side, cells in ((before, old), (after, new)) for id in cells if id not in met]
    for pair in both:
        sides = zip((before, after), pair, strict=True)
        left_out += [(cell.id, f"no figures in {side.name}: {cell.why}") for side, cell in sides if not cell.is_done]
    return [pair for pair in both if all(cell.is_done for cell in pair)], left_out


def _ranked_otherwise(before: Side, after: Side) -> list[tuple[MeasuredCell, MeasuredCell]]:
    """Cells that have none of the same name, and one alone that is alike but for its ranking: two runs with another --mode."""
    met = {cell.id for cell in before.cells} & {cell.id for cell in after.cells}
    old, new = (_by_all_but_ranking(side, met) for side in (before, after))
    return [(old[key][0], new[key][0]) for key in old if len(old[key]) == len(new.get(key, ())) == 1]


def _by_all_but_ranking(side: Side, without: Set[str]) -> dict[tuple[object, ...], list[MeasuredCell]]:
    found: dict[tuple[object, ...], list[MeasuredCell]] = {}
    for cell in side.cells:
        if cell.id not in without:
            plan = side.run.planned[cell.id]
            found.setdefault((plan.data.name, plan.arm, plan.seed, plan.fault), []).append(cell)
    return found


def has_other_data(before: Side, after: Side, old: str, new: str) -> bool:
    """Whether two cells were asked of different documents, or questions with other labels, that go by the same name."""
    is_named_alike = before.run.planned[old].data.name == after.run.planned[new].data.name
    then, now = before.run.fingerprint(old), after.run.fingerprint(new)
    return is_named_alike and bool(then and now) and then != now


def _both(before: MeasuredCell, after: MeasuredCell) -> list[str]:
    answered = {row.question for row in before.answered}
    return sorted(row.question for row in after.answered if row.question in answered)


def _column(before: MeasuredCell, after: MeasuredCell, metric: str) -> tuple[Pairs, list[str]]:
    """New and old value of each question that both answered, and its group."""
    both = _both(before, after)
    new, old = ({one: cell.rows[one] for one in both} for cell in (after, before))
    return paired(new, old, metric), groups_of_both(new, old)


def _time_changes(before: MeasuredCell, after: MeasuredCell) -> Iterator[TimeChange]:
    both = _both(before, after)
    for name in TIMES if both else ():
        old, new = ([getattr(cell.times[one], name) for one in both] for cell in (before, after))
        parted = defined(b - a for a, b in zip(old, new, strict=True))
        yield TimeChange(name, float(median(old)), float(median(new)), float(median(parted)), *median_interval(parted))


def _unpaired(name: str, measured_cell: MeasuredCell, cell: MeasuredCell) -> dict[str, tuple[str, ...]]:
    """Questions that one side was asked alone, or has no result of."""
    alone = sorted(measured_cell.rows.keys() - cell.rows.keys())
    failed = sorted(row.question for row in measured_cell.rows.values() if row.error and row.question in cell.rows)
    found = {f"asked only in {name}": alone, f"without a result in {name}": failed}
    return {why: tuple(questions) for why, questions in found.items() if questions}
