"""`hive-mind rollout`, `scale` and `drain`: change what runs of a fleet, and go back."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hive_mind.cli.fleet import fleets
from hive_mind.cli.fleet.apply import carry_out
from hive_mind.cli.fleet.fleets import agent_names, process_names
from hive_mind.cli.options import Group, examples
from hive_mind.cli.output import show, show_table
from hive_mind.control import TIMEOUT_S

if TYPE_CHECKING:
    from hive_mind.control.state import FleetFolder


REVISION_TITLES = ("revision", "applied", "topology", "agents")

group = Group()
rollout_group = Group(
    name="rollout",
    no_args_is_help=True,
    epilog=examples("hive-mind rollout restart", "hive-mind rollout undo"),
)
group.add_typer(rollout_group)

AgentName = Annotated[
    str, typer.Argument(metavar="AGENT", show_default="all", help="Only this agent's process.", autocompletion=agent_names)
]


@rollout_group.callback()
def rollout() -> None:
    """Restart a fleet, or go back to an earlier manifest."""


@rollout_group.called_as("hive-mind rollout restart", "hive-mind rollout restart ada")
async def restart(agent: AgentName = "", timeout_s: fleets.Timeout = TIMEOUT_S, *, at: fleets.OneFleet) -> None:
    """Stop and start processes, a few at a time, so that the others go on answering."""
    await carry_out(at, lambda opened: opened.restart(agent or None, timeout_s=timeout_s))


@rollout_group.called_as("hive-mind rollout undo")
async def undo(allow_data_loss: fleets.DataLoss = False, timeout_s: fleets.Timeout = TIMEOUT_S, *, at: fleets.OneFleet) -> None:
    """Apply the manifest that was applied before the last one. A second undo takes that back."""
    await carry_out(at, lambda opened: opened.undo(allow_data_loss=allow_data_loss, timeout_s=timeout_s))


def revisions_of(folder: "FleetFolder") -> list[dict[str, Any]]:
    """The manifests that were applied and are kept, the last ten."""
    return [_revision(folder, number) for number in folder.kept_revisions()]


def show_revisions(revisions: list[dict[str, Any]]) -> None:
    rows = [tuple(str(revision[title]) for title in REVISION_TITLES) for revision in revisions]
    show_table(REVISION_TITLES, rows, right=(0, 3))
    if not revisions:
        show("nothing was applied yet")


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


Entry = Annotated[
    str,
    typer.Argument(metavar="ENTRY", help="Its name in the manifest, such as reader-{n}.", show_default="the only one"),
]
Count = Annotated[int, typer.Option("--replicas", min=1, max=1000, help="How many agents there should be.")]


@group.called_as("hive-mind scale reader-{n} --replicas 5", "hive-mind scale --replicas 5")
async def scale(
    replicas: Count,
    entry: Entry = "",
    allow_data_loss: fleets.DataLoss = False,
    timeout_s: fleets.Timeout = TIMEOUT_S,
    *,
    at: fleets.OneFleet,
) -> None:
    """Change how many agents an entry with a count stands for.

    Those that leave hand over what they hold first. The manifest the fleet keeps is changed; your own file is not, so change it
    too before you apply it again.
    """
    await carry_out(
        at, lambda opened: opened.scale(entry or None, replicas, allow_data_loss=allow_data_loss, timeout_s=timeout_s)
    )


Process = Annotated[
    str,
    typer.Argument(metavar="PROCESS", help="As shown by hive-mind get agents.", autocompletion=process_names),
]


@group.called_as("hive-mind drain ada")
async def drain(process: Process, timeout_s: fleets.Timeout = TIMEOUT_S, *, at: fleets.OneFleet) -> None:
    """Let a process finish and end. It stays away until the next apply or rollout restart."""
    await carry_out(at, lambda opened: opened.drain(process, timeout_s=timeout_s))
