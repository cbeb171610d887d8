"""`hive-mind top`: a fleet on one screen, drawn anew every second; or once, for a file or a pipe."""

import asyncio
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind.cli.fleet import fleets
from hive_mind.cli.fleet.fleets import FleetFormat, show_as
from hive_mind.cli.fleet.shown.live import LOG_LINES, PROCESS_FIGURES, PROCESS_TITLES, Rates, process_rows, watched
from hive_mind.cli.fleet.shown.log_lines import LogLine, latest_lines
from hive_mind.cli.fleet.shown.status import show_agents, show_fleet_line
from hive_mind.cli.options import Group
from hive_mind.cli.output import plain, show, show_table

if TYPE_CHECKING:
    from hive_mind.control.controller import HiveController
    from hive_mind.control.status.fleet_status import FleetStatus

Once = Annotated[bool, typer.Option("--once", help="Print it once, after a second of watching; the default without a terminal.")]


group = Group()


@group.called_as("hive-mind top", "hive-mind top --once")
async def top(once: Once = False, every: fleets.Every = 1.0, *, at: fleets.OneFleet) -> None:
    """Watch a fleet: processes with memory, CPU and messages per second, agents, and the last lines of their logs."""
    async with at.opened() as controller:
        if at.output.is_table and sys.stdout.isatty() and not once:
            await watched(controller, every, controller.folder.path)
        await _show_once(controller, every, at.output, controller.folder.path)


async def _show_once(controller: "HiveController", every_s: float, output: FleetFormat, folder: Path) -> None:
    """Two looks, because rates need two."""
    rates, clock = Rates(), asyncio.get_running_loop().time
    rates.see(await controller.status(), clock())
    await asyncio.sleep(every_s)
    status = await controller.status()
    rates.see(status, clock())
    lines = await latest_lines(folder, [process.name for process in status.processes], LOG_LINES)
    value = {"status": plain(status), "cpu": rates.cpu, "messages_per_s": rates.messages}
    value["lines"] = [asdict(line) for line in lines]
    show_as(output, value, [process.name for process in status.processes], lambda: _show(status, rates, lines))


def _show(status: "FleetStatus", rates: Rates, lines: list[LogLine]) -> None:
    show_fleet_line(status)
    show()
    show_table(PROCESS_TITLES, process_rows(status, rates), right=PROCESS_FIGURES)
    show()
    show_agents(status.agents)
    if lines:
        show("\nlast lines", style="bold")
        show_table(["", ""], [(line.process, line.text) for line in lines])
