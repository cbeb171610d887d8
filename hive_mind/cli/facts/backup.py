"""`hive-mind backup` and `restore`: a second copy of an agent's memory, taken while it is in use, and put back."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from hive_mind import backends
from hive_mind.cli import options
from hive_mind.cli.options import Format, examples, for_copying
from hive_mind.cli.output import say, show, show_json
from hive_mind.cli.running import command
from hive_mind.counted import counted
from hive_mind.errors import InvalidInput
from hive_mind.runtime.agent_files import database_path, is_kept
from hive_mind.runtime.erasure.copies import note_copy

Target = Annotated[Path, typer.Argument(metavar="FILE", help="Where the copy goes; it must not be there yet.")]
Copy = Annotated[Path, typer.Argument(metavar="FILE", help="The file that `backup` wrote.")]
Force = Annotated[bool, typer.Option("--force", help="Replace what the agent has now, which is kept beside it.")]


group = typer.Typer()


@group.command(epilog=examples("hive-mind backup monday.sqlite", "hive-mind backup ada.sqlite --agent ada"))
@command
async def backup(file: Target, at: options.OwnAgent) -> None:
    """Copy an agent's memory to a file, even while it learns.

    The copy is a snapshot of one moment, checked before it gets its name. `facts export` writes the same as text.
    """
    settings = for_copying(at.settings(), at.agent)
    if file.exists():
        raise InvalidInput(f"{file} is there already: give another name, or remove it")
    path = database_path(settings, at.agent)
    if not is_kept(settings, at.agent):
        raise InvalidInput(f"agent {at.agent!r} has learned nothing yet: {path} is not there")
    note_copy(settings.home, file, "backup", at.agent)
    facts = await asyncio.to_thread(backends.load("store", settings.store).backup, path, file)
    if at.output is Format.JSON:
        show_json({"file": str(file), "agent": at.agent, "facts": facts, "bytes": file.stat().st_size})
    else:
        show(f"{file}: {counted(facts, 'fact')} of agent {at.agent!r}, {file.stat().st_size >> 10:,} KB, checked")


@group.command(epilog=examples("hive-mind restore monday.sqlite --force"))
@command
async def restore(file: Copy, force: Force = False, *, at: options.OwnAgent) -> None:
    """Put a copy back as an agent's memory.

    The agent must not be in use. Its former memory is kept beside it, under another name.
    """
    settings = at.settings()
    if not file.exists():
        raise InvalidInput(f"{file}: there is no such file; check the path")
    if is_kept(settings, at.agent) and not force:
        raise InvalidInput(f"agent {at.agent!r} has a memory already: replace it with --force; it is kept beside the copy")
    path = database_path(settings, at.agent)
    former = await asyncio.to_thread(backends.load("store", settings.store).restore, file, path)
    if at.output is Format.JSON:
        show_json({"file": str(file), "agent": at.agent, "former": str(former) if former else None})
        return
    show(f"{path}: as it was in {file}")
    if former:
        say(f"what was there is {former}")
