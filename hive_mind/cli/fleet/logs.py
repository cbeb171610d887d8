"""`hive-mind logs`: what the process of an agent logged, and goes on to log, from its files: also where it crashed."""

import asyncio
import sys
from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind.cli import fleet as fleets
from hive_mind.cli import options
from hive_mind.cli.fleet import agent_names
from hive_mind.cli.options import Group
from hive_mind.cli.output import say, show
from hive_mind.errors import InvalidInput
from hive_mind.regex import regex

if TYPE_CHECKING:
    from hive_mind.control.state import FleetFolder


_TIME = regex(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,\d]*")


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line with the time that stands in it, "" for none, and whose it is."""

    time: str
    process: str
    text: str


async def latest_lines(folder: Path, processes: Iterable[str], count: int) -> list[LogLine]:
    """The last lines of all these processes together, the oldest first. `folder` is that of the fleet."""
    return await asyncio.to_thread(_latest, folder, tuple(processes), count)


def _latest(folder: Path, processes: tuple[str, ...], count: int) -> list[LogLine]:
    from hive_mind.control.processes import ProcessFiles
    from hive_mind.control.processes.log_reading import last_lines

    lines: list[LogLine] = []
    for process in processes:
        time = ""
        for text in last_lines(ProcessFiles(folder, process).log, count):
            # A line without a time, such as one of a traceback, belongs to the one before it.
            time = _time_in(text) or time
            lines.append(LogLine(time, process, text))
    return sorted(lines, key=lambda line: line.time)[-count:]


def _time_in(text: str) -> str:
    match = _TIME.search(text[:100])
    return match[0].replace(" ", "T").replace(",", ".") if match else ""


Agent = Annotated[
    str,
    typer.Argument(metavar="AGENT", help="An agent or a process.", show_default="all", autocompletion=agent_names),
]
Follow = Annotated[bool, typer.Option("--follow", "-f", help="Keep printing new lines until Ctrl-C.")]
Lines = Annotated[int, typer.Option("--lines", "--tail", "-n", min=0, max=100_000, help="How many of the last lines.")]


group = Group()


@group.called_as("hive-mind logs ada", "hive-mind logs ada -f -n 100", "hive-mind logs")
async def logs(
    agent: Agent = "", follow: Follow = False, lines: Lines = 50, fleet: fleets.Fleet = "", home: options.Home = None
) -> None:
    """Print what an agent's process logged, also of one that ended. Agents of one process share its log."""
    folder = fleets.folder_of(home, fleet)
    processes = processes_of(folder, agent)
    prefix = "" if len(processes) == 1 else "{}: "
    if not follow:
        for line in await latest_lines(folder.path, processes, lines):
            show(prefix.format(line.process) + line.text)
        return
    say(f"following {', '.join(processes)}; Ctrl-C ends it")
    # Not a TaskGroup: a reader that goes away ends one of them, and is no group of errors.
    await asyncio.gather(*(_follow(folder.path, process, lines, prefix.format(process)) for process in processes))


async def _follow(folder: Path, process: str, lines: int, prefix: str) -> None:
    from hive_mind.control.processes import ProcessFiles
    from hive_mind.control.processes.log_reading import follow

    async with aclosing(follow(ProcessFiles(folder, process).log, lines=lines)) as coming:
        async for text in coming:
            show(prefix + text)
            sys.stdout.flush()


def processes_of(folder: "FleetFolder", agent: str) -> list[str]:
    """The process of an agent, or the one called so, or all. Raises `InvalidInput` where there is none and never was."""
    from hive_mind.control.processes import ProcessFiles

    allocation = folder.state().allocation
    if not agent:
        return sorted(allocation)
    if agent in allocation:
        return [agent]
    names = [name for name, nodes in allocation.items() if any(agent in agents for agents in nodes.values())]
    # One that has left the fleet.
    if not names and ProcessFiles(folder.path, agent).log.exists():
        return [agent]
    if not names:
        raise InvalidInput(f"there is no agent and no process {agent!r}; hive-mind get agents lists them")
    return names
