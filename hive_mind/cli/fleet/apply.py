"""`hive-mind apply` and `plan`: make a fleet what its manifest says: what will be done, how it goes, and what runs then."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hive_mind.cli import options
from hive_mind.cli.agent_config import set_by_signals
from hive_mind.cli.fleet import fleets
from hive_mind.cli.fleet.fleets import FleetFormat
from hive_mind.cli.fleet.shown.plan import show_plan
from hive_mind.cli.fleet.shown.status import fleet_line, show_agents, show_fleet_line
from hive_mind.cli.options import Group
from hive_mind.cli.output import plain, say
from hive_mind.cli.running import FAILED, Stopped
from hive_mind.control import TIMEOUT_S
from hive_mind.errors import HiveError, InvalidInput

if TYPE_CHECKING:
    from hive_mind.control.controller import ConvergenceResult, HiveController
    from hive_mind.control.manifests.reading import Source
    from hive_mind.control.planning.plan import Plan


Render = Annotated[
    Path | None,
    typer.Option(
        "--render", metavar="DIR", help="Write the files for Compose, Kubernetes or Azure to this folder, and do nothing else."
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the plan and do nothing, as hive-mind plan does.")]
Gate = Annotated[
    str,
    typer.Option(
        "--gate",
        metavar="FILE",
        help="Ask the questions of a file (or an experiment) first, and refuse what may find worse.",
    ),
]
GateData = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="Folder of the data sets that --gate's experiment names.")
]
# After a longer wait a person wonders whether anything happens.
_PROGRESS_S = 3.0


group = Group()


@group.called_as(
    "hive-mind apply -f manifests/flat.yaml",
    "hive-mind apply -f fleet.yaml --dry-run",
    "hive-mind apply -f fleet.yaml --gate questions.json",
    "hive-mind apply -f fleet.yaml --render objects/",
)
def apply(
    file: fleets.Manifest,
    allow_data_loss: fleets.DataLoss = False,
    timeout: fleets.Timeout = TIMEOUT_S,
    render: Render = None,
    dry_run: DryRun = False,
    gate: Gate = "",
    data: GateData = None,
    home: options.Home = None,
    output: fleets.Output = FleetFormat.TABLE,
) -> Coroutine[Any, Any, None]:
    """Make a fleet what its manifest says.

    It may be stopped and run again at any moment: it goes on where it was, and nothing is lost. Exit code 1: something did not
    become ready in time, and what that is; or --gate refused it, with the evidence, and nothing was done.
    """
    source, folder = fleets.source_of(file, home), fleets.home_of(home)
    if gate:
        from hive_mind.cli.fleet.apply_gate import pass_or_end

        pass_or_end(source, folder, gate, data)
    elif data is not None:
        raise InvalidInput("--data says where --gate finds its data sets: name the experiment with --gate, or leave out --data")
    if render is not None:
        from hive_mind.cli.fleet.rendering import render_into

        return render_into(source, render, folder)
    if dry_run:
        return show_planned(source, folder, output)
    return _apply(source, folder, Ways(timeout, output, is_losing_allowed=allow_data_loss))


@dataclass(frozen=True, slots=True)
class Ways:
    """How something is done, and how it is shown."""

    timeout_s: float
    output: FleetFormat
    is_losing_allowed: bool = False


async def _apply(source: "Source", home: Path, ways: Ways) -> None:
    name = source.manifest.metadata.name
    async with fleets.opened(home, name, is_reporting=True) as controller:

        def shown(plan: "Plan") -> None:
            if ways.output.is_table:
                show_plan(plan, name, ways.output)
                sys.stdout.flush()

        async with under_way(controller):
            outcome = await controller.apply(
                source, allow_data_loss=ways.is_losing_allowed, timeout_s=ways.timeout_s, on_plan=shown
            )
        await show_outcome(controller, outcome, ways.output)
        kind = source.manifest.spec.platform.kind
        if kind == "inprocess":
            await _stay(controller, name)
        elif kind == "local" and any(action.kind == "create" for action in outcome.actions):
            say("what crashes stays down until the next apply; hive-mind controller restarts it, and keeps watch", style="dim")


async def _stay(controller: "HiveController", fleet: str) -> None:
    """A fleet of this process runs as long as this process does."""
    stop, received = asyncio.Event(), list[signal.Signals]()
    sys.stdout.flush()
    say(f"fleet {fleet} runs in this process; Ctrl-C ends it")
    with set_by_signals(stop, received):
        await controller.watch(stop)
    if signal.SIGINT in received:
        raise Stopped(f"fleet {fleet} has ended; what it learned is kept")


@asynccontextmanager
async def under_way(controller: "HiveController") -> AsyncIterator[None]:
    """Show progress on stderr meanwhile. Ctrl-C leaves the work unfinished, and says how to resume."""
    progress = asyncio.create_task(_print_progress(controller))
    try:
        yield
    except asyncio.CancelledError:
        raise Stopped("stopped; what was started runs on and nothing is lost: run it again to go on") from None
    finally:
        progress.cancel()
        await asyncio.wait([progress])


async def _print_progress(controller: "HiveController") -> None:
    last_line = ""
    while True:
        await asyncio.sleep(_PROGRESS_S)
        # Something may just be replaced; the next look will do.
        with suppress(HiveError):
            line = fleet_line(await controller.status())
            if line != last_line:
                say(last_line := line, style="dim")


async def carry_out(at: fleets.OneFleet, change: "Callable[[HiveController], Awaitable[ConvergenceResult]]") -> None:
    """Change the fleet that is meant, tell how it goes, and show what came of it."""
    async with at.opened(is_reporting=True) as controller:
        async with under_way(controller):
            outcome = await change(controller)
        await show_outcome(controller, outcome, at.output)


async def show_outcome(controller: "HiveController", outcome: "ConvergenceResult", output: FleetFormat) -> None:
    """Show the actions taken and the processes running now. Ends with exit code 1 where something is not as it should be."""
    status = await controller.status()

    def show_table() -> None:
        show_fleet_line(status)
        show_agents(status.agents)

    names = [f"agent/{agent.name}" for agent in status.agents]
    plain_outcome = plain(outcome) | {"is_converged": outcome.is_converged}
    fleets.show_as(output, {"outcome": plain_outcome, "status": plain(status)}, names, show_table)
    if not outcome.is_converged:
        for problem in outcome.problems:
            say(f"not as it should be: {problem}", style="red")
        say("look closer with hive-mind status and hive-mind logs AGENT, or run it again to go on")
        raise typer.Exit(FAILED)


@group.called_as("hive-mind plan -f fleet.yaml", "hive-mind plan -f fleet.yaml -o json | jq '.actions[].kind'")
def plan(
    file: fleets.Manifest, home: options.Home = None, output: fleets.Output = FleetFormat.TABLE
) -> Coroutine[Any, Any, None]:
    """Show what apply would do, and do nothing.

    Every step is shown with what it does to memory. No step means that everything is as the manifest says.
    """
    return show_planned(fleets.source_of(file, home), fleets.home_of(home), output)


async def show_planned(source: "Source", home: Path, output: FleetFormat) -> None:
    """Print the plan for a manifest."""
    name = source.manifest.metadata.name
    async with fleets.opened(home, name) as controller:
        planned = await controller.plan(source)
    show_plan(planned, name, output)
