"""`hive-mind scale`: more or fewer agents of one entry of the manifest, without editing it."""

from typing import Annotated

import typer

from hive_mind.cli.fleet import fleets
from hive_mind.cli.fleet.apply import carry_out
from hive_mind.cli.options import examples
from hive_mind.cli.running import command
from hive_mind.control import TIMEOUT_S

_EPILOG = examples("hive-mind scale reader-{n} --replicas 5", "hive-mind scale --replicas 5")

Entry = Annotated[
    str,
    typer.Argument(metavar="ENTRY", help="Its name in the manifest, such as reader-{n}.", show_default="the only one"),
]
Count = Annotated[int, typer.Option("--replicas", min=1, max=1000, help="How many agents there are to be.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=_EPILOG, rich_help_panel=fleets.PANEL)(scale)


@command
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
