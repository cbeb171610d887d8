"""`hive-mind rollout`: restart a fleet, follow how it comes up, and go back to what was applied before."""

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hive_mind.cli.fleet import fleets
from hive_mind.cli.fleet.apply import carry_out
from hive_mind.cli.fleet.fleets import agent_names, show_as
from hive_mind.cli.fleet.shown.status import fleet_line, show_agents, show_fleet_line
from hive_mind.cli.options import examples
from hive_mind.cli.output import say, show, show_table
from hive_mind.cli.running import CommandError, command
from hive_mind.control import TIMEOUT_S

if TYPE_CHECKING:
    from hive_mind.control.state import FleetFolder

_POLL_S = 0.3

group = typer.Typer(name="rollout", no_args_is_help=True)

AgentName = Annotated[
    str, typer.Argument(metavar="AGENT", show_default="all", help="Only this agent's process.", autocompletion=agent_names)
]


def register(app: typer.Typer) -> None:
    """Add the group."""
    app.add_typer(group, rich_help_panel=fleets.PANEL, epilog=examples("hive-mind rollout restart", "hive-mind rollout undo"))


@group.callback()
def rollout() -> None:
    """Restart a fleet, watch it come up, or go back to an earlier manifest."""


@group.command(epilog=examples("hive-mind rollout restart", "hive-mind rollout restart ada"))
@command
async def restart(agent: AgentName = "", timeout_s: fleets.Timeout = TIMEOUT_S, *, at: fleets.OneFleet) -> None:
    """Stop and start processes, a few at a time, so that the others go on answering."""
    await carry_out(at, lambda opened: opened.restart(agent or None, timeout_s=timeout_s))


@group.command(epilog=examples("hive-mind rollout status --timeout 30"))
@command
async def status(timeout_s: fleets.Timeout = TIMEOUT_S, *, at: fleets.OneFleet) -> None:
    """Wait until every agent is ready, saying how far it is. Exit code 1 means that it did not come to that in time."""
    async with at.opened() as controller:
        until_s = asyncio.get_running_loop().time() + timeout_s
        told = ""
        while (now := await controller.status()).phase not in ("Ready", "Stopped"):
            if (line := fleet_line(now)) != told:
                say(told := line, style="dim")
            if asyncio.get_running_loop().time() > until_s:
                raise CommandError(f"not ready within {timeout_s:g} s: {now.last_error or line}")
            await asyncio.sleep(_POLL_S)

    def show_table_of() -> None:
        show_fleet_line(now)
        show_agents(now.agents)

    show_as(at.output, now, [f"hive/{now.name}"], show_table_of)


@group.command(epilog=examples("hive-mind rollout undo"))
@command
async def undo(allow_data_loss: fleets.DataLoss = False, timeout_s: fleets.Timeout = TIMEOUT_S, *, at: fleets.OneFleet) -> None:
    """Apply the manifest that was applied before the last one. Undo it again to come back."""
    await carry_out(at, lambda opened: opened.undo(allow_data_loss=allow_data_loss, timeout_s=timeout_s))


@group.command(epilog=examples("hive-mind rollout history", "hive-mind rollout history -o yaml"))
@command
async def history(at: fleets.OneFleet) -> None:
    """List the manifests that were applied and are kept, the last ten."""
    folder = fleets.folder_of(at.home, at.fleet)
    kept = [_revision(folder, number) for number in folder.kept_revisions()]

    def show_kept() -> None:
        rows = [(str(one["revision"]), one["applied"], one["topology"], str(one["agents"])) for one in kept]
        show_table(["revision", "applied", "topology", "agents"], rows, right=(0, 3))
        if not kept:
            show("nothing was applied yet")

    show_as(at.output, kept, [str(one["revision"]) for one in kept], show_kept)


def _revision(folder: "FleetFolder", number: int) -> dict[str, Any]:
    from hive_mind.control.manifests.expansion import expanded
    from hive_mind.control.manifests.reading import read_text

    text = folder.manifest_text(number)
    manifest = read_text(text, folder.path, f"revision {number}").manifest
    changed = (folder.revisions / f"{number:04d}.yaml").stat().st_mtime
    applied = datetime.fromtimestamp(changed, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return {
        "revision": number,
        "applied": applied,
        "topology": manifest.spec.topology.kind,
        "agents": len(expanded(manifest)),
        "manifest": text,
    }
