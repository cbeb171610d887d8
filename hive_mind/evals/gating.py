"""Two runs, or two cells, side by side: by how much each metric differs, and which of the differences are real.

Cells of the same name are compared, and cells that differ in their ranking alone; where each side has one cell only, those two.
Everything that can't be compared is named with its reason: questions that only one was asked or answered, cells that only one
has, cells without figures.

The gate on top of it: may what was measured in one run take the place of what was measured in another?

Refused is a drop that lies beyond the 95 % interval, in any metric of which more is better or worse. Of the metrics that are held
to more (`certain`), a drop that the interval leaves open is enough. A gate that can't judge does not pass: other questions or
documents, another cut, a cell that is missing, failed or has questions without a result, or without the answer
or the verdict that is judged.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from hive_mind.counted import first_of
from hive_mind.errors import InvalidInput
from hive_mind.evals.experiments import Row
from hive_mind.evals.metrics import ANSWERS, GROUNDED, chosen_metrics, column, groups_of_both, identical, lacks_verdict, sense_of
from hive_mind.evals.running import MeasuredCell, MeasuredRun, read_run
from hive_mind.measure import Estimate, Ground, MetricChange, Verdict, defined, estimate, median_interval, metric_changes

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
    chosen = chosen_metrics([row for rows in every for row in rows], wanted) if wanted else ()
    names = [chosen or chosen_metrics(rows) for rows in every]
    columns = []
    for (old, new), metric_names in zip(pairs, names, strict=True):
        rows_now, rows_before = ({id: cell.rows[id] for id in _both(old, new)} for cell in (new, old))
        columns += [column(rows_now, rows_before, name) for name in metric_names]
    changes = metric_changes(columns)
    cells = []
    for (old, new), metric_names in zip(pairs, names, strict=True):
        unpaired = _unpaired(before.name, old, new) | _unpaired(after.name, new, old)
        same = estimate(identical(new.rows, old.rows, limit), groups_of_both(new.rows, old.rows))

        metrics, questions = tuple(next(changes) for _ in metric_names), _both(old, new)
        times = []
        for name in TIMES if questions else ():
            once, again = ([getattr(cell.times[question], name) for question in questions] for cell in (old, new))
            parted = defined(b - a for a, b in zip(once, again, strict=True))
            usual, now, moved = (float(median(values)) for values in (once, again, parted))
            times.append(TimeChange(name, usual, now, moved, *median_interval(parted)))
        is_other = has_other_data(before, after, old.id, new.id)
        cells.append(CellChange(old.id, new.id, len(questions), metrics, tuple(times), same, unpaired, is_other))
    tests = sum(change.difference is not None for cell in cells for change in cell.metrics)
    return RunChange(before.name, after.name, limit, tuple(cells), tuple(left_out), tests)


def paired_cells(before: Side, after: Side) -> tuple[list[tuple[MeasuredCell, MeasuredCell]], list[tuple[str, str]]]:
    """Cells with figures: of one name, or alike but for their ranking, or the only ones; and the others, each with the reason."""
    old, new = ({cell.id: cell for cell in side.cells} for side in (before, after))
    cell_pairs = [(old[id], new[id]) for id in old if id in new]
    if len(old) == len(new) == 1:
        cell_pairs = list(zip(old.values(), new.values(), strict=True))
    else:
        # Of none of the same name, those that one alone is alike to but for its ranking: two runs with another --mode.
        once, again = (_by_all_but_ranking(side, old.keys() & new.keys()) for side in (before, after))
        cell_pairs += [(cells[0], again[plan][0]) for plan, cells in once.items() if len(cells) == len(again.get(plan, ())) == 1]
    met = {id for pair in cell_pairs for id in (pair[0].id, pair[1].id)}
    left_out = [(id, f"only in {side.name}") for side, cells in ((before, old), (after, new)) for id in cells if id not in met]
    for pair in cell_pairs:
        sides = zip((before, after), pair, strict=True)
        left_out += [(cell.id, f"no figures in {side.name}: {cell.why}") for side, cell in sides if not cell.is_done]
    return [pair for pair in cell_pairs if all(cell.is_done for cell in pair)], left_out


def _by_all_but_ranking(side: Side, without: Set[str]) -> dict[tuple[object, ...], list[MeasuredCell]]:
    cells_by_plan: dict[tuple[object, ...], list[MeasuredCell]] = {}
    for cell in side.cells:
        if cell.id not in without:
            plan = side.run.planned[cell.id]
            cells_by_plan.setdefault((plan.data.name, plan.arm, plan.seed, plan.fault), []).append(cell)
    return cells_by_plan


def has_other_data(before: Side, after: Side, old: str, new: str) -> bool:
    """Whether two cells were asked of different documents, or questions with other labels, that go by the same name."""
    is_named_alike = before.run.planned[old].data.name == after.run.planned[new].data.name
    print_before, print_now = before.run.fingerprint(old), after.run.fingerprint(new)
    return is_named_alike and bool(print_before and print_now) and print_before != print_now


def _both(before: MeasuredCell, after: MeasuredCell) -> list[str]:
    answered = {row.question for row in before.answered}
    return sorted(row.question for row in after.answered if row.question in answered)


def _unpaired(name: str, measured_cell: MeasuredCell, cell: MeasuredCell) -> dict[str, tuple[str, ...]]:
    """Questions that one side was asked alone, or has no result of."""
    alone = sorted(measured_cell.rows.keys() - cell.rows.keys())
    failed = sorted(row.question for row in measured_cell.rows.values() if row.error and row.question in cell.rows)
    questions_by_reason = {f"asked only in {name}": alone, f"without a result in {name}": failed}
    return {why: tuple(questions) for why, questions in questions_by_reason.items() if questions}


# More of these buys something, so they are judged only on request.
_ONLY_NAMED = ("messages", "bytes", "fan_out")


@dataclass(frozen=True, slots=True)
class Judgement(Verdict):
    """The verdict on a run. A ground is of a metric, about a cell."""

    changes: tuple[RunChange, ...] = ()
    """The changes looked at."""
    judged: int = 0
    """How many comparisons could have been a ground: of a metric that is good or bad to have more of, and is defined."""

    @property
    def cells(self) -> tuple[CellChange, ...]:
        return tuple(cell for change in self.changes for cell in change.cells)

    def __add__(self, other: "Judgement") -> "Judgement":
        """Both of them: a refusal by one refuses."""
        changes, judged = self.changes + other.changes, self.judged + other.judged
        return Judgement(self.grounds + other.grounds, self.unjudged + other.unjudged, changes, judged)


def judge_run(baseline: Side, candidate: Side, metrics: Sequence[str] = (), *, certain: Sequence[str] = ()) -> Judgement:
    """Judge a run against another. Raises `InvalidInput` for a metric that neither has.

    Without `metrics` those are judged that are good or bad to have more of; messages and bytes only where they are named.
    """
    if unjudged := tuple(_unjudged(baseline, candidate)):
        return Judgement(unjudged=unjudged)
    change = compare_sides(baseline, candidate, metrics)
    judged = [(cell, metric) for cell in change.cells for metric in cell.metrics if metrics or metric.metric not in _ONLY_NAMED]
    lost = [*_undefined(judged, is_named=bool(metrics)), *_lacking(baseline, candidate, {one.metric for _, one in judged})]
    # A cell without any of the metrics that are held to more could only pass for lack of evidence.
    lost += [
        f"{cell.after}: none of {', '.join(certain)} is defined for any question: the data has no labels for them"
        for cell in change.cells
        if certain and not any(one.difference for one in cell.metrics if one.metric.split("@")[0] in certain)
    ]
    if lost:
        return Judgement(unjudged=tuple(lost), changes=(change,))
    losses = [(cell, one, one.loss(is_certain=one.metric.split("@")[0] in certain)) for cell, one in judged]
    grounds = (Ground(one.metric, f"{loss}: {evidence(one)}", cell.after) for cell, one, loss in losses if loss)
    count = sum(one.sense != "neither" and one.difference is not None for _, one in judged)
    return Judgement(tuple(grounds), changes=(change,), judged=count)


def _unjudged(baseline: Side, candidate: Side) -> Iterator[str]:
    k, other = baseline.run.experiment.limit, candidate.run.experiment.limit
    if k != other:
        yield f"the baseline measured the first {k} results of each question and this run the first {other}"
    pairs, left_out = paired_cells(baseline, candidate)
    yield from (f"{cell}: {why}" for cell, why in left_out)
    for old, new in pairs:
        reasons = list(_other_work(old, new))
        if not reasons and has_other_data(baseline, candidate, old.id, new.id):
            reasons = ["documents, questions or labels are not those of the baseline, though there are as many"]
        yield from (f"{new.id}: {why}" for why in reasons)


def _other_work(old: MeasuredCell, new: MeasuredCell) -> Iterator[str]:
    """Why two cells did not do the same work."""
    for name, measured_cell, there in (("this run", new, old), ("the baseline", old, new)):
        if alone := sorted(measured_cell.rows.keys() - there.rows.keys()):
            yield f"{_questions(alone)} asked only in {name}"
        if failed := sorted(row.question for row in measured_cell.rows.values() if row.error):
            yield f"{_questions(failed)} without a result in {name}: {measured_cell.rows[failed[0]].error}"
    if not old.answered and not new.answered:
        yield "no question was answered"
    documents = [cell.report.documents if cell.report else 0 for cell in (old, new)]
    if documents[0] != documents[1]:
        yield f"the baseline searched {documents[0]} documents and this run {documents[1]}"


def _lacking(baseline: Side, candidate: Side, judged: Set[str]) -> Iterator[str]:
    """Questions that nobody worded an answer to, and answers that a judge was asked about in vain: the others may be easier."""
    cases: list[tuple[str, Callable[[Row], bool]]] = []
    if judged & set(ANSWERS):
        cases.append(("an answer", lambda row: bool(row.unanswered)))
    if GROUNDED in judged:
        cases.append(("the judge's verdict", lambda row: lacks_verdict(row.metrics)))
    pairs = paired_cells(baseline, candidate)[0] if cases else ()
    for what, lacks in cases:
        for place, old, new in ((place, *pair) for pair in pairs for place in ("this run", "the baseline")):
            rows = (new if place == "this run" else old).rows
            if ids := sorted(row.question for row in rows.values() if lacks(row)):
                why = rows[ids[0]].unanswered
                yield f"{new.id}: {_questions(ids)} without {what} in {place}" + (f": {why}" if why else "")


def _undefined(judged: Sequence[tuple[CellChange, MetricChange]], *, is_named: bool) -> Iterator[str]:
    """Metrics that can't be judged, though they were named, or were there on one side."""
    for cell, change in judged:
        before, after = change.defined
        if change.sense != "neither" and change.difference is None and (before or after):
            yield f"{cell.after}: {change.metric} is defined for {before} questions of the baseline and {after} of this run"
    for name in dict.fromkeys(one.metric for _, one in judged) if is_named else ():
        if sense_of(name) == "neither":
            yield f"more of {name} is neither better nor worse, so it can't be judged"
        elif not any(any(one.defined) for _, one in judged if one.metric == name):
            yield f"{name} is defined for no question"


def evidence(change: MetricChange) -> str:
    difference = change.difference
    if difference is None:
        return change.evidence()
    return change.evidence(
        f"p {_chance(difference.p)}", f"with all comparisons {_chance(difference.p_holm)}; {difference.n} questions"
    )


def _chance(p: float) -> str:
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def _questions(ids: Sequence[str]) -> str:
    return f"{'question' if len(ids) == 1 else 'questions'} {first_of(ids)}"
