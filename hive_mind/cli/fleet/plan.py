"""`hive-mind plan`, also called `diff`: what `apply` would do, and nothing done."""

from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from hive_mind.cli import options
from hive_mind.cli.fleet import fleets
from hive_mind.cli.fleet.fleets import FleetFormat
from hive_mind.cli.fleet.shown.plan import show_plan
from hive_mind.cli.options import examples
from hive_mind.cli.running import command

if TYPE_CHECKING:
    from hive_mind.control.manifests.reading import Source


def register(app: typer.Typer) -> None:
    """Add the command, under both names."""
    for name in ("plan", "diff"):
        epilog = examples(f"hive-mind {name} -f fleet.yaml", f"hive-mind {name} -f fleet.yaml -o json | jq '.actions[].kind'")
        app.command(name, epilog=epilog, rich_help_panel=fleets.PANEL)(plan)


@command
def plan(
    file: fleets.Manifest, home: options.Home = None, output: fleets.Output = FleetFormat.TABLE
) -> Coroutine[Any, Any, None]:
    """Show what apply would do, and do nothing.

    Every step is shown with what it does to memory. Not a single step means that everything is as the manifest says.
    """
    return show_planned(fleets.source_of(file, home), fleets.home_of(home), output)


async def show_planned(source: "Source", home: Path, output: FleetFormat) -> None:
    """Print the plan for a manifest."""
    name = source.manifest.metadata.name
    async with fleets.opened(home, name) as controller:
        planned = await controller.plan(source)
    show_plan(planned, name, output)
