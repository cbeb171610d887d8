"""`hive-mind eval`: experiments, data that is made up, a run's report, how two runs differ, and which differences are real."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.evals import run
from hive_mind.cli.options import Format, Group, examples
from hive_mind.cli.output import Cell, Styled, plain, say, say_refused, show, show_json, show_prose, show_table
from hive_mind.cli.running import FAILED, USAGE
from hive_mind.counted import counted, first_of
from hive_mind.errors import InvalidInput
from hive_mind.measure import JUDGED_MIN

if TYPE_CHECKING:
    from hive_mind.evals.gating import CellChange
    from hive_mind.measure import MetricChange


first = Group()


@first.called_as("hive-mind eval list", "hive-mind eval list runs", "hive-mind eval list --explain", name="list")
def list_experiments(
    folder: Annotated[Path | None, typer.Argument(help="A folder of runs.", show_default="runs, where it is there")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Explain an experiment's file, field by field.")] = False,
    output: options.Output = Format.TEXT,
) -> None:
    """Show the built-in experiments, and the runs of a folder: which are finished, and which failed where."""
    from hive_mind.evals.experiments.form import explained
    from hive_mind.evals.experiments.reading import bundled, read_experiment
    from hive_mind.evals.running import runs_in

    if explain:
        if output is Format.JSON:
            show_json({"fields": [{"path": path, "means": means} for path, means in explained()]})
        else:
            show_table(("field", "means"), explained())
        return
    if folder is not None and not folder.is_dir():
        raise InvalidInput(f"there is no folder {folder}; give one that has runs, or none")
    runs = runs_in(folder or Path("runs"))
    experiments = [(name, read_experiment(name).about) for name in bundled()]
    if output is Format.JSON:
        show_json({"experiments": [{"name": name, "about": about} for name, about in experiments], "runs": runs})
        return
    show_table(("experiment", "about"), experiments)
    if undamaged := [run for run in runs if not run.damage]:
        lines = [(run.folder, run.experiment, run.started, *map(str, (run.done, run.failed, run.left))) for run in undamaged]
        show()
        show_table(("run", "of", "started", "cells", "failed", "left"), lines, right=(3, 4, 5))
    for listed in runs:
        if listed.damage:
            say(f"{listed.folder} can't be read: {listed.damage}", style="yellow")


@first.called_as(
    "hive-mind eval generate --turns 1000 --agents 20 --out sets",
    "hive-mind eval generate --turns 100000 --agents 1000 --seed 7 --out sets",
    "hive-mind eval retrieval --dataset jsonl --data sets --method keyword",
    name="generate",
)
def generate_dataset(
    out: Annotated[Path, typer.Option(help="Folder for NAME.corpus.jsonl and NAME.queries.jsonl.")],
    turns: Annotated[int, typer.Option(help="How many turns of dialogue.")] = 1000,
    agents: Annotated[int, typer.Option(help="How many agents say them.")] = 20,
    seed: Annotated[int, typer.Option(help="The same seed gives the same corpus.")] = 1,
    output: options.Output = Format.TEXT,
) -> None:
    """Make up a world that agents talk about for months, with questions whose answers are known, and write it as JSONL.

    docs/data-card.md describes what is in it.
    """
    from hive_mind.evals.datasets.jsonl import write_jsonl
    from hive_mind.evals.generating import generate

    dataset = generate(turns, agents, seed)
    corpus, queries = write_jsonl(dataset, out)
    if output is Format.JSON:
        counts = {"documents": dataset.documents, "questions": dataset.questions}
        show_json({"name": dataset.name, **counts, "corpus": str(corpus), "queries": str(queries)})
        return
    show(f"{corpus}: {dataset.documents} turns")
    show(f"{queries}: {counted(dataset.questions, 'question')}")


_LEGEND = """\
Paired by question: 95 % bootstrap interval (by conversation where the data has several) and randomisation test of the mean \
difference. Real is what stays below p = 0.05 \
after Holm's correction for all {tests} comparisons made here. Times: medians, and the median difference with its 95 % \
interval; they depend on the machine, so nothing is tested."""

RunA = Annotated[str, typer.Argument(metavar="RUN_A", help="A run's folder, or one of its cells as RUN:CELL.")]
RunB = Annotated[str, typer.Argument(metavar="RUN_B", help="The run to compare with, in the same form.")]
Metrics = Annotated[list[str] | None, typer.Option("--metric", help="Only these; ndcg means ndcg@k. May be repeated.")]


compared = Group()


Run = Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder, finished or not.")]


@compared.called_as("hive-mind eval report runs/today", "hive-mind eval report runs/today --output json")
async def report(run: Run, output: options.Output = Format.TEXT) -> None:
    """Compute everything again from a run's rows, timings and cell reports, and write scorecard.json, report.html and the rest.

    Cells that failed or are not finished are in it, with the reason.
    """
    from hive_mind.cli.evals.scorecard_table import show_report

    show_report(run, output)


@compared.called_as(
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
    for time in cell.times:
        figures = f"{time.before:.2f}", f"{time.after:.2f}", f"{time.difference:+.2f}", _interval(time.low, time.high, 2)
        rows.append([time.time, *figures, *[""] * 4])
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


@compared.called_as(
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
    elif judgement.unjudged:
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
    if few := [cell for cell in judgement.cells if cell.questions < JUDGED_MIN]:
        asked_there = f"{first_of([cell.after for cell in few])}: {counted(min(cell.questions for cell in few), 'question')}"
        say(f"note: {asked_there}: too few to see but a large drop; ask {JUDGED_MIN} or more", style="yellow")
    if not judgement.allowed:
        raise typer.Exit(USAGE if judgement.unjudged else FAILED)


_EPILOG = examples(
    "hive-mind eval list",
    "hive-mind eval run quick",
    "hive-mind eval run standard --data ../shared/data --out runs/before",
    "hive-mind eval compare runs/before runs/after",
    "hive-mind eval memory questions.json",
)

group = Group(
    name="eval",
    help="Compare topologies, sizes and ways to retrieve on questions with known answers.",
    no_args_is_help=True,
    epilog=_EPILOG,
)
# In the order in which one needs them.
for commands in (first, run.group, compared):
    group.add_typer(commands)
