"""`hive-mind eval report|compare|gate`: a run's report, how two runs differ, and which differences are real."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.options import Format, Group
from hive_mind.cli.output import Cell, Styled, plain, say, say_refused, show, show_json, show_prose, show_table
from hive_mind.cli.running import FAILED, USAGE
from hive_mind.counted import counted, first_of

if TYPE_CHECKING:
    from hive_mind.evals.gating import CellChange, Judgement, RunChange
    from hive_mind.measure.differences import MetricChange


_LEGEND = """\
Paired by question: 95 % bootstrap interval (by conversation where the data has several) and randomisation test of the mean \
difference. Real is what stays below p = 0.05 \
after Holm's correction for all {tests} comparisons made here. Times: medians, and the median difference with its 95 % \
interval; they depend on the machine, so nothing is tested."""

RunA = Annotated[str, typer.Argument(metavar="RUN_A", help="A run's folder, or one of its cells as RUN:CELL.")]
RunB = Annotated[str, typer.Argument(metavar="RUN_B", help="The run to compare with, in the same form.")]
Metrics = Annotated[list[str] | None, typer.Option("--metric", help="Only these; ndcg means ndcg@k. May be repeated.")]


group = Group()


Run = Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder, finished or not.")]


@group.called_as("hive-mind eval report runs/today", "hive-mind eval report runs/today --output json")
async def report(run: Run, output: options.Output = Format.TEXT) -> None:
    """Compute everything again from a run's rows, timings and cell reports, and write scorecard.json, report.html and the rest.

    Cells that failed or are not finished are in it, with the reason.
    """
    show_report(run, output)


def show_report(run: Path, output: Format) -> None:
    """Make scorecard and report of a run, and show the first. Raises `InvalidInput` where one can't be made."""
    from hive_mind.cli.evals.scorecard_table import show_scorecard
    from hive_mind.evals.report import write_report
    from hive_mind.evals.scorecard import write_scorecard

    card = write_scorecard(run)
    page = write_report(run)
    if output is Format.JSON:
        show_json(card)
    else:
        show_scorecard(card)
    say(f"report: {page}")


@group.called_as(
    "hive-mind eval compare runs/before runs/after",
    "hive-mind eval compare runs/all:demo-single-hybrid-s1 runs/all:demo-flat-10-round-robin-hybrid-s1",
    "hive-mind eval compare runs/before runs/after --metric ndcg --metric messages",
)
async def compare(a: RunA, b: RunB, metric: Metrics = None, output: options.Output = Format.TEXT) -> None:
    """Compare two runs cell by cell, or two cells, and say which differences are real.

    Questions are paired; those that only one side was asked or answered are counted and named.
    """
    from hive_mind.evals.gating import compare_sides, side_of

    change = compare_sides(side_of(a), side_of(b), metric or ())
    if output is Format.JSON:
        show_json(plain(change))
        return
    show_change(change)


def show_change(change: "RunChange") -> None:
    for cell in change.cells:
        _show_cell(cell)
        show()
    if change.left_out:
        show("not compared", style="yellow")
        show_table(["cell", "why"], change.left_out)
        show()
    show_prose(_LEGEND.format(tests=change.tests), style="dim")


def _show_cell(cell: "CellChange") -> None:
    from hive_mind.cli.evals.scorecard_table import show_wide_table
    from hive_mind.evals.report.selecting import share

    name = cell.before if cell.before == cell.after else f"{cell.before} → {cell.after}"
    same = f", {share(cell.identical_top_k.mean)} with the same facts in the same order" if cell.identical_top_k else ""
    show(f"{name}: {counted(cell.questions, 'question')}{same}", style="bold")
    titles = ["", "before", "after", "change", "95 % interval", "p", "p (Holm)", "questions", ""]
    rows = [_row(metric) for metric in cell.metrics if any(metric.defined)]
    rows += [
        [
            change.time,
            f"{change.before:.2f}",
            f"{change.after:.2f}",
            f"{change.difference:+.2f}",
            _interval(change.low, change.high, 2),
            *[""] * 4,
        ]
        for change in cell.times
    ]
    show_wide_table(titles, rows)
    if cell.has_other_data:
        show(
            "documents, questions or labels of this data set are not the same in both: that alone may be the change",
            style="yellow",
        )
    for why, questions in cell.unpaired.items():
        show(f"{len(questions)} {why}: {first_of(questions, 5)}", style="yellow")


def _row(change: "MetricChange") -> list[Cell]:
    from hive_mind.evals.metrics import metric_name
    from hive_mind.evals.report.selecting import chance

    difference = change.difference
    if difference is None or change.before is None or change.after is None:
        reason = f"defined before for {change.defined[0]} questions, after for {change.defined[1]}, for none on both sides"
        return [metric_name(change.metric), *["–"] * 6, "0", reason]
    return [
        metric_name(change.metric),
        f"{change.before:.3f}",
        f"{change.after:.3f}",
        f"{difference.difference:+.3f}",
        _interval(difference.low, difference.high, 3),
        chance(difference.p),
        chance(difference.p_holm),
        str(difference.n),
        _verdict(change),
    ]


def _verdict(change: "MetricChange") -> Cell:
    difference = change.difference
    if difference is None or difference.has_too_few_questions:
        return "too few questions" if difference else ""
    match difference.verdict(change.sense):
        case "better":
            return Styled("really better", "green")
        case "worse":
            return Styled("really worse", "red")
        case "higher" | "lower":
            return "really different"
    return ""


def _interval(low: float | None, high: float | None, digits: int) -> str:
    return "–" if low is None or high is None else f"{low:+.{digits}f} to {high:+.{digits}f}"


JudgedRun = Annotated[str, typer.Argument(metavar="RUN", help="The run to judge, or one of its cells as RUN:CELL.")]
Against = Annotated[str, typer.Option("--against", metavar="BASELINE", help="The baseline run, in the same form.")]


@group.called_as(
    "hive-mind eval gate runs/today --against runs/baseline",
    "hive-mind eval gate runs/today --against runs/baseline --metric recall --metric completeness",
    "hive-mind eval gate runs/all:demo-flat-10-round-robin-hybrid-s1 --against runs/all:demo-single-hybrid-s1",
)
async def gate(run: JudgedRun, against: Against, metric: Metrics = None, output: options.Output = Format.TEXT) -> None:
    """Judge a run against a baseline.

    Exit code 0: no metric dropped beyond its 95 % interval. 1: one did, with the evidence. 2: it can't be judged, because
    questions, documents or k differ, or a cell is missing, failed or has questions without a result, an answer or a
    verdict; that does not pass either.
    """
    from hive_mind.evals.gating import judge_run, side_of

    judgement = judge_run(side_of(against), side_of(run), metric or ())
    if output is Format.JSON:
        grounds = [{"cell": ground.about, "metric": ground.kind, "told": ground.message} for ground in judgement.grounds]
        show_json(plain(judgement) | {"grounds": grounds, "allowed": judgement.allowed})
    else:
        show_judgement(judgement, run, against)
    if not judgement.allowed:
        raise typer.Exit(USAGE if judgement.unjudged else FAILED)


def show_judgement(judgement: "Judgement", run: str, against: str) -> None:
    if judgement.unjudged:
        hint = "measure both with the same experiment and data, until every cell is done"
        say_refused(f"{run} can't be judged against {against}, so it does not pass:", judgement.unjudged, hint)
    elif judgement.grounds:
        reasons = (f"{ground.about}: {ground.message}" for ground in judgement.grounds)
        say_refused(f"refused: {run} is worse than {against}", reasons, "see every difference with hive-mind eval compare")
    else:
        passed = (
            f"no drop beyond a 95 % interval in {judgement.judged} comparisons of {len(judgement.cells)} cells with {against}"
        )
        show(f"{run} passes: {passed}", style="green")
