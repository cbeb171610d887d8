"""`hive-mind status`, `top` and `logs`: a fleet as it is now: agents, facts, lag, messages, memory, CPU, and what was logged.

A screen is drawn anew in place on a terminal, and never scrolls. Where not all has room, what is in trouble is shown first.
Logs are read from their files: also that of a process that crashed.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rich.console import Console, RenderableType
from rich.console import Group as Stack
from rich.live import Live
from rich.text import Text

from hive_mind.cli import fleet as fleets
from hive_mind.cli import options
from hive_mind.cli.fleet import (
    AGENT_FIGURES,
    AGENT_TITLES,
    FleetFormat,
    agent_names,
    agent_rows,
    fleet_line,
    megabytes,
    phase_cell,
    show_agents,
    show_as,
    show_conditions,
    show_fleet_line,
)
from hive_mind.cli.options import Group
from hive_mind.cli.output import Cell, plain, printable, say, show, show_table
from hive_mind.cli.printing import table_of
from hive_mind.cli.running import FAILED, Stopped
from hive_mind.errors import InvalidInput
from hive_mind.regex import regex

if TYPE_CHECKING:
    from hive_mind.control.controller import HiveController
    from hive_mind.control.state import FleetFolder
    from hive_mind.control.status import FleetStatus, ProcessView


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line with the time that stands in it, "" for none, and whose it is."""

    time: str
    process: str
    text: str


PROCESS_TITLES = ("process", "phase", "pid", "agents", "memory", "cpu", "messages/s", "restarts", "error")
PROCESS_FIGURES = (2, 3, 4, 5, 6, 7)
LOG_LINES = 8


class Rates:
    """Changes per second between two looks. The first look gives nothing."""

    def __init__(self) -> None:
        self._before: tuple[float, Mapping[str, ProcessView]] | None = None
        self.cpu: dict[str, float] = {}
        self.messages: dict[str, float] = {}

    def see(self, status: "FleetStatus", now_s: float) -> None:
        """Take a look. A process that was started again in between begins anew."""
        current = {process.name: process for process in status.processes}
        if self._before is not None:
            then_s, before = self._before
            same = [(now, before[name]) for name, now in current.items() if name in before and before[name].pid == now.pid]
            took_s = max(now_s - then_s, 1e-3)
            self.cpu = {now.name: max(now.cpu_s - process_view.cpu_s, 0.0) / took_s for now, process_view in same}
            self.messages = {now.name: max(now.messages - process_view.messages, 0) / took_s for now, process_view in same}
        self._before = now_s, current


async def watched(controller: "HiveController", every_s: float, folder: Path | None = None) -> NoReturn:
    """Show how it is, again and again, until it is cancelled. With the fleet's folder also what was logged."""
    try:
        console = Console(highlight=False, markup=False, emoji=False)
        with Live(console=console, screen=True, auto_refresh=False, vertical_overflow="crop") as live:
            rates, clock = Rates(), asyncio.get_running_loop().time
            while True:
                status = await controller.status()
                rates.see(status, clock())
                processes = [process.name for process in status.processes]
                lines = await latest_lines(folder, processes, LOG_LINES) if folder is not None else []
                live.update(picture(status, rates, lines, console.height), refresh=True)
                await asyncio.sleep(every_s)
    except asyncio.CancelledError:
        raise Stopped(f"stopped watching; fleet {controller.folder.fleet} is as it was") from None


def picture(status: "FleetStatus", rates: Rates, lines: Sequence[LogLine], height: int) -> RenderableType:
    """The whole screen, in this many lines."""
    now = f"{datetime.now(UTC):%H:%M:%S} UTC"
    wrong = [Text(line, style="red") for line in status.broken]
    texts = [Text(printable(f"{line.process}  {line.text}"), "dim", no_wrap=True, overflow="ellipsis") for line in lines]
    logged = [Text(), Text("last lines", style="bold"), *texts] if lines else []
    # Titles, and the empty lines between tables.
    left = height - len(wrong) - len(logged) - 5
    processes, agents = process_rows(status, rates), agent_rows(status.agents)
    top = fitting(processes, [process.is_ready for process in status.processes], max(left - len(agents), left // 2))
    bottom = fitting(agents, [agent.is_ready for agent in status.agents], left - len(top))
    return Stack(
        Text(f"{fleet_line(status)} · {now}", style="bold"),
        *wrong,
        Text(),
        table_of(PROCESS_TITLES, top, right=PROCESS_FIGURES),
        Text(),
        table_of(AGENT_TITLES, bottom, right=AGENT_FIGURES),
        *logged,
    )


def fitting(rows: Sequence[tuple[Cell, ...]], are_ready: Sequence[bool], room: int) -> list[tuple[Cell, ...]]:
    """As many as there is room for: first those that are not ready. The last line says how many are missing."""
    if len(rows) <= room:
        return list(rows)
    order = sorted(range(len(rows)), key=lambda number: (are_ready[number], number))
    numbers = order[: max(room - 1, 0)]
    last_row = (f"and {len(rows) - len(numbers)} more", *("" for _ in rows[0][1:]))
    return [*(rows[number] for number in sorted(numbers)), last_row]


def process_rows(status: "FleetStatus", rates: Rates) -> list[tuple[Cell, ...]]:
    """A line for each process; of rates nothing where there was only one look."""
    agents = Counter(agent.process for agent in status.agents)
    return [
        (
            process.name,
            phase_cell(process.phase),
            str(process.pid or ""),
            str(agents[process.name]),
            megabytes(process.memory_bytes),
            _share(rates.cpu.get(process.name)),
            "" if (rate := rates.messages.get(process.name)) is None else f"{rate:.1f}",
            str(process.restarts),
            process.last_error,
        )
        for process in status.processes
    ]


def _share(cores: float | None) -> str:
    return "" if cores is None else f"{cores:.0%}"


Once = Annotated[bool, typer.Option("--once", help="Print it once, after a second of watching; the default without a terminal.")]


group = Group()


@group.called_as("hive-mind top", "hive-mind top --once")
async def top(once: Once = False, every: fleets.Every = 1.0, *, at: fleets.OneFleet) -> None:
    """Watch a fleet: processes with memory, CPU and messages per second, agents, and the last lines of their logs."""
    async with at.opened() as controller:
        if at.output.is_table and sys.stdout.isatty() and not once:
            await watched(controller, every, controller.folder.path)
        # Two looks, because rates need two.
        rates, clock = Rates(), asyncio.get_running_loop().time
        rates.see(await controller.status(), clock())
        await asyncio.sleep(every)
        status = await controller.status()
        rates.see(status, clock())
        lines = await latest_lines(controller.folder.path, [process.name for process in status.processes], LOG_LINES)
        document = {"status": plain(status), "cpu": rates.cpu, "messages_per_s": rates.messages}
        document["lines"] = [asdict(line) for line in lines]
        show_as(at.output, document, [process.name for process in status.processes], lambda: _show(status, rates, lines))


def _show(status: "FleetStatus", rates: Rates, lines: list[LogLine]) -> None:
    show_fleet_line(status)
    show()
    show_table(PROCESS_TITLES, process_rows(status, rates), right=PROCESS_FIGURES)
    show()
    show_agents(status.agents)
    if lines:
        show("\nlast lines", style="bold")
        show_table(["", ""], [(line.process, line.text) for line in lines])


@group.called_as("hive-mind status", "hive-mind status --watch", "hive-mind status -o json | jq .phase")
async def status(watch: fleets.Watch = False, every: fleets.Every = 1.0, *, at: fleets.OneFleet) -> None:
    """Show how a fleet is: its phase, its conditions, and every agent.

    Exit code 1 means that something is broken: the phase is then Degraded, and the conditions say why.
    """
    async with at.opened() as controller:
        if watch and at.output.is_table and sys.stdout.isatty():
            await watched(controller, every)
        show_status(now := await controller.status(), at.output)
        while watch:
            sys.stdout.flush()
            await asyncio.sleep(every)
            show_status(now := await controller.status(), at.output)
    if now.phase == "Degraded":
        raise typer.Exit(FAILED)


def show_status(status: "FleetStatus", output: FleetFormat) -> None:
    """The fleet, its conditions and its agents, in the form that was asked for."""

    def show_table() -> None:
        show_fleet_line(status)
        show_conditions(status.conditions)
        show()
        show_agents(status.agents)

    show_as(output, status, [f"hive/{status.name}"], show_table)


_TIME = regex(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,\d]*")


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
            match = _TIME.search(text[:100])
            time = match[0].replace(" ", "T").replace(",", ".") if match else time
            lines.append(LogLine(time, process, text))
    return sorted(lines, key=lambda line: line.time)[-count:]


Agent = Annotated[
    str,
    typer.Argument(metavar="AGENT", help="An agent or a process.", show_default="all", autocompletion=agent_names),
]
Follow = Annotated[bool, typer.Option("--follow", "-f", help="Keep printing new lines until Ctrl-C.")]
Lines = Annotated[int, typer.Option("--lines", "--tail", "-n", min=0, max=100_000, help="How many of the last lines.")]


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

    state = folder.state()
    if not agent:
        return sorted(state.allocation)
    if agent not in state.allocation and (process := state.hosts.get(agent)):
        return [process]
    # One without a place has left the fleet.
    if agent in state.allocation or ProcessFiles(folder.path, agent).log.exists():
        return [agent]
    raise InvalidInput(f"there is no agent and no process {agent!r}; hive-mind get agents lists them")
