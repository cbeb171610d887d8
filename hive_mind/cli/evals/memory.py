"""`hive-mind eval memory`: how well one's own memory answers questions whose answers are known, asked where it is open."""

import asyncio
import sys
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.evals.report import show_report
from hive_mind.cli.evals.run import ModeName, goes_on, reports
from hive_mind.cli.fleet.agents import Agent, Fleet, fleet_agent
from hive_mind.cli.options import DEFAULT_AGENT, Format, Group, settings_for
from hive_mind.cli.output import say
from hive_mind.cli.running import FAILED
from hive_mind.errors import InvalidInput
from hive_mind.model.query import LIMIT

if TYPE_CHECKING:
    from hive_mind.evals.experiments.values import Experiment

_QUESTIONS_HELP = """\
A question file: {"questions": [{"id", "question", "relevant_knowledge_node_uuids": (ids of facts), \
"acceptable_answer_keywords"}]}."""


group = Group()


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
    from hive_mind.evals.running.harness import RunOrder, default_folder, run

    settings = settings_for(home, embed, model)
    name, is_running = asyncio.run(_meant(settings.home, fleet, agent))
    experiment = _experiment(name, questions, mode, limit, subset, synthesis=synthesis, is_running=is_running)
    folder = out or default_folder(experiment.name)
    order = RunOrder(experiment, folder, settings, Path(".cache/eval"), arguments=tuple(sys.argv[1:]))
    with reports(goes_on("" if out else f" with --out {folder}")) as report:
        result = run(order, report)
    show_report(result.folder, output)
    _say_what_was_reached(result.folder, name, is_running=is_running)
    if result.failed:
        raise typer.Exit(FAILED)


async def _meant(home: Path, fleet: str, agent: str) -> tuple[str, bool]:
    """The agent, and whether it runs in a process of its own."""
    async with fleet_agent(home, fleet, agent) as running:
        return (running.name, True) if running is not None else (agent or DEFAULT_AGENT, False)


def _experiment(
    agent: str, questions: Path, mode: ModeName, limit: int, subset: str, *, synthesis: bool, is_running: bool
) -> "Experiment":
    from hive_mind.evals.experiments.values import Arm, DataSource, Experiment, Retrieval

    if not questions.is_file():
        raise InvalidInput(f"there is no file {questions}; give a question file")
    return Experiment(
        "memory",
        (DataSource(agent, "memory", memory=agent, questions=questions.absolute()),),
        (Arm("running" if is_running else "single"),),
        (Retrieval(mode.value, mode.value),),
        limit=limit,
        answerer="quoting" if synthesis else "none",
        subset=tuple(id.strip() for id in subset.split(",") if id.strip()),
        has_baselines=False,
    )


def _say_what_was_reached(run: Path, agent: str, *, is_running: bool) -> None:
    from hive_mind.evals.running.reading import read_run

    if not is_running:
        say(f"asked: a copy of the facts of agent {agent}, which is in no running fleet")
        return
    rows = [row for cell in read_run(run).cells for row in cell.answered]
    if rows:
        mean, least = fmean(row.completeness for row in rows), min(row.completeness for row in rows)
        say(f"asked: agent {agent} where it runs; {mean:.1%} of its hive answered, {least:.1%} at least")
