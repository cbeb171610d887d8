"""`hive-mind eval run`: an experiment from its file to its report."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.evals.report import show_report
from hive_mind.cli.options import Format, Group, settings_for
from hive_mind.cli.output import ProgressPrinter, progress, say
from hive_mind.cli.running import FAILED, Stopped
from hive_mind.errors import InvalidInput
from hive_mind.evals import JOBS

if TYPE_CHECKING:
    from hive_mind.evals.experiments.reading import ReadExperiment
    from hive_mind.evals.experiments.values import Experiment


class ModeName(StrEnum):
    """How to rank, whatever the experiment says."""

    HYBRID = "hybrid"
    SEMANTIC = "semantic"
    LEXICAL = "lexical"
    RECENT = "recent"


group = Group()


@group.called_as(
    "hive-mind eval run quick",
    "hive-mind eval run standard --data ../shared/data --out runs/today",
    "hive-mind eval run mine.yaml --subset q01,q02 --mode lexical --no-synthesis",
    name="run",
)
def run_experiment(
    experiment: Annotated[str, typer.Argument(help="A file, or one that comes along: standard, quick.")],
    data: Annotated[Path | None, typer.Option(help="Folder of the data sets the experiment names.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the run; one that was interrupted goes on.", show_default="runs/NAME-TIME")
    ] = None,
    subset: Annotated[str, typer.Option(help="Only these questions, ids with commas.")] = "",
    limit: Annotated[int | None, typer.Option("--limit", "-k", min=1, max=1000, help="Measure the first k.")] = None,
    mode: Annotated[ModeName | None, typer.Option(help="Rank this way in every arm.")] = None,
    synthesis: Annotated[bool, typer.Option("--synthesis/--no-synthesis", help="Write answers from what is found.")] = True,
    judge: Annotated[bool, typer.Option("--judge/--no-judge", help="Have answers judged, where the experiment does.")] = True,
    questions: Annotated[Path | None, typer.Option(help="A question file instead of the data's own questions.")] = None,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="Processes.")] = JOBS,
    cache: Annotated[Path, typer.Option(help="Folder of vectors, so that nothing is embedded twice.")] = Path(".cache/eval"),
    home: options.Home = None,
    embed: options.Embed = None,
    model: options.Model = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Compare arms on data sets: quality, messages, bytes, time and cost, with intervals.

    Every question of every arm is a line in the run's folder, and every figure of the report is computed from those. Exit code 1
    when an arm failed, and the report says why.
    """
    from hive_mind.evals.experiments.reading import read_experiment
    from hive_mind.evals.running.harness import RunOrder, default_folder, run

    read_form = read_experiment(experiment, data)
    _print_absent(read_form)
    plan = _asked(read_form.experiment, subset, limit, mode, questions)
    plan = replace(plan, answerer=plan.answerer if synthesis else "none")
    plan = replace(plan, judge=plan.judge if judge and synthesis else "none")
    folder = out or default_folder(plan.name)
    order = RunOrder(plan, folder, settings_for(home, embed, model), cache, jobs, tuple(sys.argv[1:]), read_form.absent)
    with reports(goes_on("" if out else f" with --out {folder}")) as report:
        result = run(order, report)
    show_report(result.folder, output)
    if result.failed:
        raise typer.Exit(FAILED)


def _asked(
    experiment: "Experiment", subset: str, limit: int | None, mode: ModeName | None, questions: Path | None
) -> "Experiment":
    """The experiment with what the command line says instead. Raises `InvalidInput`."""
    from hive_mind.evals.experiments.values import Retrieval

    if subset:
        experiment = replace(experiment, subset=tuple(id.strip() for id in subset.split(",") if id.strip()))
    if limit:
        experiment = replace(experiment, limit=limit)
    if mode:
        first = experiment.retrieval[0]
        experiment = replace(experiment, retrieval=(Retrieval(mode.value, mode.value, first.ranking),))
    if questions:
        if not questions.is_file():
            raise InvalidInput(f"there is no file {questions}; give --questions a question file")
        experiment = replace(
            experiment, data=tuple(replace(source, questions=questions.absolute()) for source in experiment.data)
        )
    return experiment


def _print_absent(experiment: "ReadExperiment") -> None:
    if experiment.absent:
        say(f"note: left out, because their files are not there: {', '.join(experiment.absent)} (see --data)", style="yellow")


def goes_on(reason: str = "") -> str:
    """How to continue a run that was stopped; `more` is the further option that the same command needs."""
    return f"what was asked so far is kept, and the same command{reason} goes on"


@contextmanager
def reports(next_command: str) -> Iterator[ProgressPrinter]:
    """A bar for a person; for a log, a line for each cell that ends. Ctrl-C says that it stopped, and `then` of what was done."""
    last_done = -1.0

    def line(done: float, total: int, what: str = "") -> None:
        nonlocal last_done
        if done != last_done and total and what:
            last_done = done
            say(f"{done:g} of {total}: {what}")

    try:
        with progress("cells") if sys.stderr.isatty() else nullcontext(line) as report:
            yield report
    except KeyboardInterrupt:
        raise Stopped(f"stopped; {next_command}") from None
