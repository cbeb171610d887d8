"""`hive-mind status`: how a fleet is, once or for as long as somebody looks."""

import asyncio
import sys
from typing import TYPE_CHECKING

import typer

from hive_mind.cli.fleet import fleets
from hive_mind.cli.fleet.fleets import FleetFormat, show_as
from hive_mind.cli.fleet.shown.live import watched
from hive_mind.cli.fleet.shown.status import show_agents, show_conditions, show_fleet_line
from hive_mind.cli.options import Group
from hive_mind.cli.output import show
from hive_mind.cli.running import FAILED

if TYPE_CHECKING:
    from hive_mind.control.status.fleet_status import FleetStatus


group = Group()


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
