"""The gate: may what was measured in one run take the place of what was measured in another?

Refused is a drop that lies beyond the 95 % interval, in any metric of which more is better or worse. Of the metrics that are held
to more (`certain`), a drop that the interval leaves open is enough. A gate that can't judge does not pass: other questions or
documents, another cut, a cell that is missing, failed or has questions without a result, or without the answer
or the verdict that is judged.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hive_mind.counted import first_of
from hive_mind.evals.answers.scoring import ANSWERED, GROUNDED, lacks_verdict
from hive_mind.evals.running.reading import MeasuredCell
from hive_mind.evals.scorecards.comparing import CellChange, RunChange, Side, compare_sides, has_other_data, paired_cells
from hive_mind.measure.differences import SAME, MetricChange, sense_of

# More of these buys something, so they are judged only on request.
_ONLY_NAMED = ("messages", "bytes", "fan_out")


@dataclass(frozen=True, slots=True)
class Ground:
    """One reason to refuse: the cell, the metric, and the evidence in words."""

    cell: str
    metric: str
    told: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """`grounds`: why it is refused. `unjudged`: why nothing can be said, a line each; then it is not allowed either."""

    grounds: tuple[Ground, ...] = ()
    unjudged: tuple[str, ...] = ()
    changes: tuple[RunChange, ...] = ()
    """The changes looked at."""
    judged: int = 0
    """How many comparisons could have been a ground: of a metric that is good or bad to have more of, and is defined."""

    @property
    def allowed(self) -> bool:
        return not self.grounds and not self.unjudged

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
    lost = (*_undefined(judged, is_named=bool(metrics)), *_uncertain(change, certain))
    if any(one.metric in ANSWERED for _, one in judged):
        lost += tuple(_unanswered(baseline, candidate))
    if any(one.metric == GROUNDED for _, one in judged):
        lost += tuple(_without_verdict(baseline, candidate))
    if lost:
        return Judgement(unjudged=lost, changes=(change,))
    grounds = [_ground(cell, one, certain) for cell, one in judged]
    count = sum(one.sense != "neither" and one.difference is not None for _, one in judged)
    return Judgement(tuple(ground for ground in grounds if ground), changes=(change,), judged=count)


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


def _unanswered(baseline: Side, candidate: Side) -> Iterator[str]:
    """Questions that nobody worded an answer to: how good it would have been is not known, and the others may be easier."""
    for old, new in paired_cells(baseline, candidate)[0]:
        for name, cell in (("this run", new), ("the baseline", old)):
            if silent := sorted(row.question for row in cell.rows.values() if row.unanswered):
                yield f"{new.id}: {_questions(silent)} without an answer in {name}: {cell.rows[silent[0]].unanswered}"


def _without_verdict(baseline: Side, candidate: Side) -> Iterator[str]:
    """Answers that a judge was asked about in vain: the others may be those that are easy to judge."""
    for old, new in paired_cells(baseline, candidate)[0]:
        for name, cell in (("this run", new), ("the baseline", old)):
            if unjudged := sorted(row.question for row in cell.rows.values() if lacks_verdict(row.metrics)):
                yield f"{new.id}: {_questions(unjudged)} without the judge's verdict in {name}"


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


def _uncertain(change: RunChange, certain: Sequence[str]) -> Iterator[str]:
    """A cell without any of the metrics that are held to more could only pass for lack of evidence."""
    for cell in change.cells if certain else ():
        if not any(metric.difference for metric in cell.metrics if metric.metric.split("@")[0] in certain):
            yield f"{cell.after}: none of {', '.join(certain)} is defined for any question: the data has no labels for them"


def _ground(cell: CellChange, one: MetricChange, certain: Sequence[str]) -> Ground | None:
    if one.is_worse:
        return Ground(cell.after, one.metric, f"{one.metric} is worse: {evidence(one)}")
    if one.metric.split("@")[0] in certain and one.loss_max > SAME:
        return Ground(
            cell.after, one.metric, f"a loss of up to {one.loss_max:.3f} {one.metric} can't be ruled out: {evidence(one)}"
        )
    return None


def evidence(change: MetricChange) -> str:
    found = change.difference
    if found is None:
        return change.evidence()
    return change.evidence(f"p {_chance(found.p)}", f"with all comparisons {_chance(found.p_holm)}; {found.n} questions")


def _chance(p: float) -> str:
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def _questions(ids: Sequence[str]) -> str:
    return f"{'question' if len(ids) == 1 else 'questions'} {first_of(ids)}"
