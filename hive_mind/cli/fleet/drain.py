"""`hive-mind drain`: take a process out, so that nothing depends on it any more."""

from typing import Annotated

import typer

from hive_mind.cli.fleet import fleets
from hive_mind.cli.fleet.apply import carry_out
from hive_mind.cli.fleet.fleets import process_names
from hive_mind.cli.options import examples
from hive_mind.cli.running import command
from hive_mind.control import TIMEOUT_S

Process = Annotated[
    str,
    typer.Argument(metavar="PROCESS", help="As shown by hive-mind get agents.", autocompletion=process_names),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=examples("hive-mind drain ada"), rich_help_panel=fleets.PANEL)(drain)


@command
async def drain(process: Process, timeout_s: fleets.Timeout = TIMEOUT_S, *, at: fleets.OneFleet) -> None:
    """Let a process finish and end. It stays away until the next apply or rollout restart."""
    await carry_out(at, lambda opened: opened.drain(process, timeout_s=timeout_s))
