"""`hive-mind export` and `hive-mind import`: all that a fleet knows in one file, to be kept, or restored into any topology."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.fleet import fleets
from hive_mind.cli.fleet.fleets import FleetFormat, show_as
from hive_mind.cli.learning.files import refuse_replacing
from hive_mind.cli.options import examples
from hive_mind.cli.output import say, show
from hive_mind.cli.running import command
from hive_mind.counted import counted
from hive_mind.runtime.erasure.copies import note_copy

if TYPE_CHECKING:
    from hive_mind.control.archives.archive import Archived

_EXPORT = examples("hive-mind export research.zip", "hive-mind export research.zip --fleet research")
_IMPORT = examples("hive-mind import research.zip", "hive-mind import research.zip --fleet copy")

ToFile = Annotated[Path, typer.Argument(metavar="FILE", help="The archive to write.")]
FromFile = Annotated[Path, typer.Argument(metavar="FILE", help="An archive that export wrote.")]
Root = Annotated[
    str, typer.Option("--root", help="Take it only if this root has signed it: the first digits of its key, as export shows it.")
]
NewName = Annotated[str, typer.Option("--fleet", help="Another name for it.", show_default="the one it had")]


group = typer.Typer()


@group.command("export", epilog=_EXPORT)
@command
async def export_fleet(file: ToFile, force: options.Force = False, *, at: fleets.OneFleet) -> None:
    """Write all that a fleet knows into one archive: its manifest, every agent's memory, and what the hive holds.

    The fleet may run meanwhile or be stopped.
    """
    from hive_mind.control.archives.archive import export

    folder = fleets.home_of(at.home)
    name = fleets.chosen_fleet(folder, at.fleet)
    refuse_replacing(file, force=force)
    note_copy(folder, file, "archive", name)
    async with fleets.opened(folder, name) as controller:
        archived = await export(folder.absolute(), name, file, call=controller.call)
    _print_archived(archived, f"fleet {name} is in {file}", at.output)


@group.command("import", epilog=_IMPORT)
@command
async def import_fleet(
    file: FromFile,
    fleet: NewName = "",
    root: Root = "",
    home: options.Home = None,
    output: fleets.Output = FleetFormat.TABLE,
) -> None:
    """Restore an archive into a home folder that has neither this fleet nor its agents. It is stopped until it is applied.

    To restore it into another topology, apply its manifest with that topology afterwards.
    """
    from hive_mind.control.archives.archive import import_

    archived = await import_(file, fleets.home_of(home).absolute(), fleet, root)
    _print_archived(archived, f"fleet {archived.fleet} is restored from {file}", output)
    if output.is_table:
        say("it is not running yet: hive-mind apply -f MANIFEST, or hive-mind rollout restart")


def _print_archived(archived: "Archived", what: str, output: FleetFormat) -> None:
    agents, lines = counted(len(archived.agents), "agent"), counted(archived.lines, "line")
    figures = f"{agents} with {lines} of memory, {counted(archived.assertions, 'assertion')} of the hive"
    by = f", signed by root {archived.root[:12]}" if archived.root else ""
    show_as(output, archived, [f"hive/{archived.fleet}"], lambda: show(f"{what}: {figures}{by}"))
