"""`hive-mind backup` and `restore`: a second copy of an agent's memory, or of all that a fleet knows, and putting it back.

That of an agent is its database at one moment. That of a fleet is an archive: its manifest, every agent's memory, and what the
hive holds; so it can be restored into any topology.
"""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from zipfile import is_zipfile

import typer

from hive_mind import backends
from hive_mind.cli import options
from hive_mind.cli.fleet import fleets
from hive_mind.cli.learning.files import refuse_replacing
from hive_mind.cli.options import DEFAULT_AGENT, Format, Group, for_copying, refuse_ineffective, settings_for
from hive_mind.cli.output import plain, say, show, show_json
from hive_mind.counted import counted
from hive_mind.errors import InvalidInput
from hive_mind.runtime.agent_files import database_path, is_kept
from hive_mind.runtime.copies import note_copy
from hive_mind.runtime.settings import Settings

if TYPE_CHECKING:
    from hive_mind.control.archives.archive import Archived

Agent = Annotated[str, typer.Option("--agent", "-a", help="The memory of this agent alone.", show_default=DEFAULT_AGENT)]


group = Group()


@group.called_as(
    "hive-mind backup monday.sqlite", "hive-mind backup ada.sqlite --agent ada", "hive-mind backup research.zip --fleet research"
)
async def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where the copy goes; it must not be there yet.")],
    agent: Agent = "",
    fleet: Annotated[str, typer.Option("--fleet", help="All that this fleet knows.", autocompletion=fleets.fleet_names)] = "",
    force: Annotated[bool, typer.Option("--force", help="--fleet: replace the file if it is there.")] = False,
    home: options.Home = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Copy the memory of an agent, or of a whole fleet, to a file, even while it learns.

    That of an agent is a snapshot of one moment, checked before it gets its name; `facts export` writes the same as text. That of
    a fleet is an archive: its manifest, every agent's memory, and what the hive holds. The fleet may run meanwhile or be stopped.
    """
    settings = settings_for(home, embed="none")
    if fleet:
        refuse_ineffective("--fleet, which has all agents in it", agent=agent)
        await _archive(settings.home.absolute(), file, fleet, output, force=force)
        return
    refuse_ineffective("a copy of one agent", force=force)
    name = agent or DEFAULT_AGENT
    settings = for_copying(settings, name)
    if file.exists():
        raise InvalidInput(f"{file} is there already: give another name, or remove it")
    path = database_path(settings, name)
    if not is_kept(settings, name):
        raise InvalidInput(f"agent {name!r} has learned nothing yet: {path} is not there")
    note_copy(settings.home, file, "backup", name)
    facts = await asyncio.to_thread(backends.load("store", settings.store).backup, path, file)
    if output is Format.JSON:
        show_json({"file": str(file), "agent": name, "facts": facts, "bytes": file.stat().st_size})
    else:
        show(f"{file}: {counted(facts, 'fact')} of agent {name!r}, {file.stat().st_size >> 10:,} KB, checked")


@group.called_as(
    "hive-mind restore monday.sqlite --force", "hive-mind restore research.zip", "hive-mind restore research.zip --fleet copy"
)
async def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file that `backup` wrote.")],
    agent: Agent = "",
    force: Annotated[
        bool, typer.Option("--force", help="A copy of an agent: replace what it has now, which is kept beside it.")
    ] = False,
    fleet: Annotated[str, typer.Option("--fleet", help="A fleet: another name for it.", show_default="the one it had")] = "",
    root: Annotated[
        str,
        typer.Option("--root", help="A fleet: only if this root has signed it: the first digits of its key, as backup shows it."),
    ] = "",
    home: options.Home = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Put a copy back: as an agent's memory, or as a fleet.

    The agent must not be in use. Its former memory is kept beside it, under another name.

    A fleet is restored into a home folder that has neither this fleet nor its agents, and is stopped until it is applied. To
    restore it into another topology, apply its manifest with that topology afterwards.
    """
    settings = settings_for(home, embed="none")
    if not file.exists():
        raise InvalidInput(f"{file}: there is no such file; check the path")
    if is_zipfile(file):
        refuse_ineffective(f"{file}, which is a whole fleet", agent=agent, force=force)
        from hive_mind.control.archives.archive import import_

        archived = await import_(file, settings.home.absolute(), fleet, root)
        _show_archived(archived, f"fleet {archived.fleet} is restored from {file}", output)
        if output is Format.TEXT:
            say("it is not running yet: hive-mind apply -f MANIFEST, or hive-mind rollout restart")
        return
    refuse_ineffective(f"{file}, which is no archive of a fleet", fleet=fleet, root=root)
    await _restore_agent(settings, file, agent or DEFAULT_AGENT, output, force=force)


async def _restore_agent(settings: Settings, file: Path, agent: str, output: Format, *, force: bool) -> None:
    if is_kept(settings, agent) and not force:
        raise InvalidInput(f"agent {agent!r} has a memory already: replace it with --force; it is kept beside the copy")
    path = database_path(settings, agent)
    former = await asyncio.to_thread(backends.load("store", settings.store).restore, file, path)
    if output is Format.JSON:
        show_json({"file": str(file), "agent": agent, "former": str(former) if former else None})
        return
    show(f"{path}: as it was in {file}")
    if former:
        say(f"what was there is {former}")


async def _archive(home: Path, file: Path, fleet: str, output: Format, *, force: bool) -> None:
    from hive_mind.control.archives.archive import export

    name = fleets.chosen_fleet(home, fleet)
    refuse_replacing(file, force=force)
    note_copy(home, file, "archive", name)
    async with fleets.opened(home, name) as controller:
        archived = await export(home, name, file, call=controller.call)
    _show_archived(archived, f"fleet {name} is in {file}", output)


def _show_archived(archived: "Archived", sentence: str, output: Format) -> None:
    if output is Format.JSON:
        show_json(plain(archived))
        return
    agents, lines = counted(len(archived.agents), "agent"), counted(archived.lines, "line")
    by = f", signed by root {archived.root[:12]}" if archived.root else ""
    show(f"{sentence}: {agents} with {lines} of memory, {counted(archived.assertions, 'assertion')} of the hive{by}")
