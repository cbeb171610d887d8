"""`hive-mind eval run|memory|retrieval`: an experiment, one's own memory or one data set, asked questions with known answers."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.asking.asked import Agent, Fleet, fleet_agent
from hive_mind.cli.options import DEFAULT_AGENT, ConfigFile, Format, Group, settings_for, ways_of
from hive_mind.cli.output import ProgressPrinter, figure, plain, progress, say, show, show_json, show_prose, show_table
from hive_mind.cli.running import FAILED, Stopped
from hive_mind.counted import counted
from hive_mind.errors import InvalidInput
from hive_mind.evals import JOBS
from hive_mind.evals.arms import DEALS, METHODS
from hive_mind.evals.datasets.load import FORMATS
from hive_mind.evals.experiments import Arm
from hive_mind.hive.topology.spec import NAMES, is_shared, reads
from hive_mind.model.query import LIMIT, METHOD
from hive_mind.runtime.members.fleet import GROUP_SIZE

if TYPE_CHECKING:
    from hive_mind.evals.experiments import Experiment
    from hive_mind.evals.running.harness import RetrievalLine, RunOrder, RunResult


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
    from hive_mind.evals.running.harness import RunOrder, default_folder

    read_form = read_experiment(experiment, data)
    if absent := read_form.absent:
        say(f"note: left out, because their files are not there: {', '.join(absent)} (see --data)", style="yellow")
    plan = _asked(read_form.experiment, subset, limit, mode, questions)
    plan = replace(plan, answerer=plan.answerer if synthesis else "none")
    plan = replace(plan, judge=plan.judge if judge and synthesis else "none")
    folder = out or default_folder(plan.name)
    order = RunOrder(plan, folder, settings_for(home, embed, model), cache, jobs, tuple(sys.argv[1:]), absent)
    if _ran(order, output, is_named=out is not None).failed:
        raise typer.Exit(FAILED)


def _ran(order: "RunOrder", output: Format, *, is_named: bool) -> "RunResult":
    from hive_mind.cli.evals.scorecard_table import show_report
    from hive_mind.evals.running.harness import run

    with reports(goes_on("" if is_named else f" with --out {order.folder}")) as report:
        result = run(order, report)
    show_report(result.folder, output)
    return result


def _ids(subset: str) -> tuple[str, ...]:
    return tuple(id.strip() for id in subset.split(",") if id.strip())


def _asked(
    experiment: "Experiment", subset: str, limit: int | None, mode: ModeName | None, questions: Path | None
) -> "Experiment":
    """The experiment with what the command line says instead. Raises `InvalidInput`."""
    from hive_mind.evals.experiments import Retrieval

    if subset:
        experiment = replace(experiment, subset=_ids(subset))
    if limit:
        experiment = replace(experiment, limit=limit)
    if mode:
        first = experiment.retrieval[0]
        experiment = replace(experiment, retrieval=(Retrieval(mode.value, mode.value, first.ranking),))
    if questions:
        if not questions.is_file():
            raise InvalidInput(f"there is no file {questions}; give --questions a question file")
        data = tuple(replace(source, questions=questions.absolute()) for source in experiment.data)
        experiment = replace(experiment, data=data)
    return experiment


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


_QUESTIONS_HELP = """\
A question file: {"questions": [{"id", "question", "relevant_knowledge_node_uuids": (ids of facts), \
"acceptable_answer_keywords"}]}."""


@group.called_as(
    "hive-mind eval memory questions.json",
    "hive-mind eval memory questions.json --agent ada --mode lexical",
    "hive-mind eval memory questions.json --out runs/today --output json",
    name="memory",
)
def memory(
    questions: Annotated[Path, typer.Argument(help=_QUESTIONS_HELP)],
    agent: Agent = "",
    fleet: Fleet = "",
    mode: Annotated[ModeName, typer.Option(help="How to rank.")] = ModeName.HYBRID,
    limit: Annotated[int, typer.Option("--limit", "-k", min=1, max=1000, help="Measure the first k.")] = LIMIT,
    subset: Annotated[str, typer.Option(help="Only these questions, ids with commas.")] = "",
    synthesis: Annotated[bool, typer.Option("--synthesis/--no-synthesis", help="Write answers from what is found.")] = True,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the run; one that was interrupted goes on.", show_default="runs/NAME-TIME")
    ] = None,
    home: options.Home = None,
    embed: options.Embed = None,
    model: options.Model = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Ask one's own memory questions with known answers, and measure what is found and answered.

    An agent that runs, alone or in a fleet, is asked in its process, and answers from the whole of its hive. Of one that does not
    run a copy of its facts is asked. hive-mind ask and facts search show the ids that a question file names.
    """
    from hive_mind.evals.running import read_run
    from hive_mind.evals.running.harness import RunOrder, default_folder

    settings = settings_for(home, embed, model)
    name, is_running = asyncio.run(_meant(settings.home, fleet, agent))
    experiment = _experiment(name, questions, mode, limit, subset, synthesis=synthesis, is_running=is_running)
    folder = out or default_folder(experiment.name)
    order = RunOrder(experiment, folder, settings, Path(".cache/eval"), arguments=tuple(sys.argv[1:]))
    result = _ran(order, output, is_named=out is not None)
    if not is_running:
        say(f"asked: a copy of the facts of agent {name}, which is in no running fleet")
    elif shares := [row.completeness for cell in read_run(folder).cells for row in cell.answered]:
        say(f"asked: agent {name} where it runs; {fmean(shares):.1%} of its hive answered, {min(shares):.1%} at least")
    if result.failed:
        raise typer.Exit(FAILED)


async def _meant(home: Path, fleet: str, agent: str) -> tuple[str, bool]:
    """The agent, and whether it runs in a process of its own."""
    async with fleet_agent(home, fleet, agent) as running:
        return (running.name, True) if running is not None else (agent or DEFAULT_AGENT, False)


def _experiment(
    agent: str, questions: Path, mode: ModeName, limit: int, subset: str, *, synthesis: bool, is_running: bool
) -> "Experiment":
    from hive_mind.evals.experiments import Arm, DataSource, Experiment, Retrieval

    if not questions.is_file():
        raise InvalidInput(f"there is no file {questions}; give a question file")
    return Experiment(
        "memory",
        (DataSource(agent, "memory", memory=agent, questions=questions.absolute()),),
        (Arm("running" if is_running else "single"),),
        (Retrieval(mode.value, mode.value),),
        limit=limit,
        answerer="quoting" if synthesis else "none",
        subset=_ids(subset),
        has_baselines=False,
    )


_COSTS = (
    ("identical_top10", ".4f"),
    ("messages_per_query", ".1f"),
    ("bytes_per_query", ".0f"),
    ("completeness", ".4f"),
    ("cpu_ms_per_query", ".2f"),
)
_LEGEND = """\
same as single: share of questions whose first {limit} facts are those of one memory that has everything, in order. \
messages, bytes: per question, replies included. reached: share of the hive that answered. CPU ms: median, of all members."""


class Scope(StrEnum):
    """Which documents a question is asked of."""

    PER_CONVERSATION = "per-conversation"
    POOLED = "pooled"


@group.called_as(
    "hive-mind eval retrieval --dataset locomo --data locomo10.json --method keyword",
    "hive-mind eval retrieval --dataset locomo --data locomo10.json --topology single,flat,federated,sharded --agents 10",
    "hive-mind eval retrieval --dataset jsonl --data sets/ --name notes --scope pooled --output json",
)
def retrieval(
    context: typer.Context,
    data: Annotated[Path, typer.Option(help="The data set's file or folder, or the folder of all of them and --name.")],
    dataset: Annotated[str, typer.Option(help=f"Its format: auto, {', '.join(FORMATS)}.")] = "jsonl",
    method: Annotated[str, typer.Option(help=f"One of {', '.join(METHODS)}.")] = METHOD,
    scope: Annotated[Scope, typer.Option(help="Ask each conversation alone, or all of them together.")] = Scope.PER_CONVERSATION,
    name: Annotated[str, typer.Option(help="Which set, where a folder holds several.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-k", min=1, max=1000, help="Measure the first k.")] = LIMIT,
    topology: Annotated[str, typer.Option(help=f"Several with commas: {', '.join(NAMES)}.")] = "single",
    agents: Annotated[int, typer.Option(min=1, max=1000, help="How many agents learn it, where there is a hive.")] = 10,
    deal: Annotated[str, typer.Option(help=f"Distribution of documents: {', '.join(DEALS)}.")] = Arm().deal,
    group_size: Annotated[int, typer.Option(min=1, help="Agents in a group of a federated hive.")] = GROUP_SIZE,
    down: Annotated[int, typer.Option(min=0, help="Stop this many nodes before asking.")] = 0,
    config: ConfigFile = None,
    cache: Annotated[Path | None, typer.Option(help="Folder of vectors to reuse, so that nothing is embedded twice.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the run, for eval report, compare and gate; one that was interrupted goes on.",
            show_default="nothing is kept",
        ),
    ] = None,
    embed: options.Embed = None,
    model: options.Model = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Store a data set's documents, ask its questions, and measure where the relevant documents rank.

    With --topology, side by side: one memory that has everything, and agents that share what each of them learned.
    """
    from hive_mind.evals.running.harness import RetrievalRun, evaluate

    arms = tuple(_arm(name.strip(), agents, deal, group_size) for name in topology.split(",") if name.strip())
    ways = ways_of(context, config, method, limit)
    run = RetrievalRun(dataset, data, ways.method, scope.value, name, ways.limit, cache, arms, down, ways.ranking)
    with reports(goes_on() if out else "nothing is kept without --out") as report:
        lines = evaluate(run, settings_for(None, embed, model), report, out, tuple(sys.argv[1:]))
    if output is Format.JSON:
        show_json({"rows": [plain(line) for line in lines]})
    elif len(lines) > 1 or is_shared(lines[0].topology):
        _show_topologies(lines, ways.limit)
    else:
        _show_line(lines[0], ways.limit)
    if unmeasured := next((line for line in lines if not line.questions), None):
        say(f"nothing was measured: no question is left ({_reasons(unmeasured)})", style="red")
        raise typer.Exit(FAILED)


def _arm(name: str, agents: int, deal: str, group_size: int) -> Arm:
    """A federated one has as few groups as possible, none with more agents than `group_size`."""
    if not is_shared(name):
        return Arm()
    if name not in NAMES:
        raise InvalidInput(f"there is no topology {name!r}; known: {', '.join(NAMES)}")
    return Arm(name, agents, -(-agents // group_size) if reads(name, "groups") else 0, deal=deal)


def _reasons(line: "RetrievalLine") -> str:
    reasons = (f"{count} {reason}" for reason, count in line.left_out_reasons.items())
    return "; ".join(reasons) or "the set has none with a relevant document"


def _show_heading(line: "RetrievalLine") -> None:
    by = f", embedded by {line.embedding}" if line.embedding else ""
    show(f"{line.dataset}, {line.scope}, {line.method}{by}", style="bold")
    sizes = f"{counted(line.documents, 'document')}, {counted(line.questions, 'question')} measured"
    show(f"{sizes}, {line.left_out} left out")


def _show_topologies(lines: "list[RetrievalLine]", limit: int) -> None:
    from hive_mind.cli.evals.scorecard_table import show_wide_table, stopped_note

    first = lines[0]
    _show_heading(first)
    titles = ["topology", "agents", *first.metrics, "same as single", "messages", "bytes", "reached", "CPU ms"]
    rows = []
    for line in lines:
        costs = (figure(getattr(line, name), form) for name, form in _COSTS)
        rows.append((line.topology, str(line.agents), *map(figure, line.metrics.values()), *costs))
    show_wide_table(titles, rows)
    show_prose(_LEGEND.format(limit=min(limit, 10)), style="dim")
    for line in lines:
        if line.held is not None:
            show_prose(stopped_note(line.topology, line.stopped, line.held), style="dim")


def _show_line(line: "RetrievalLine", limit: int) -> None:
    _show_heading(line)
    means = []
    for name, value in line.metrics.items():
        interval = line.intervals[name]
        means.append(figure(value) + (f" [{interval[0]:.3f}–{interval[1]:.3f}]" if interval else ""))
    rows = [("all questions", *means)]
    rows += [(category, *map(figure, values.values())) for category, values in line.by_category.items()]
    show_table(["", *line.metrics], rows, right=range(1, len(line.metrics) + 1))
    drawn = f"the {line.groups} conversations" if line.groups else "questions"
    show(f"In brackets: 95 % interval over {drawn}. Only the first {limit} found count.", style="dim")
