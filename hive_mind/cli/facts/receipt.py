"""`hive-mind receipt verify`: whether a receipt of an erasure is genuine, and whether anybody is still owed."""

from pathlib import Path
from typing import Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.options import Format, examples, settings_for
from hive_mind.cli.output import plain, show, show_json
from hive_mind.cli.running import FAILED, command
from hive_mind.counted import counted
from hive_mind.runtime.erasure.receipts import is_own, read

File = Annotated[Path, typer.Argument(metavar="FILE", help="What `erase` wrote.")]

group = typer.Typer(name="receipt", help="Check the receipts of erasures.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the group."""
    app.add_typer(group)


@group.callback(epilog=examples("hive-mind receipt verify .hive/receipts/3f9a-1764.json"))
def receipt() -> None:
    """Check the receipts of erasures."""


@group.command(epilog=examples("hive-mind receipt verify 3f9a-1764.json"))
@command
async def verify(file: File, home: options.Home = None, output: options.Output = Format.TEXT) -> None:
    """Check that a receipt is as it was signed, and by whom. Fails where it is not, and where somebody is still owed."""
    found = read(file)
    by = "this home" if is_own(settings_for(home).home, found) else f"key {found.key_id[:12]}, which is not that of this home"
    if output is Format.JSON:
        show_json(plain(found) | {"key_id": found.key_id, "is_complete": found.is_complete})
    else:
        show(f"{file} is genuine, signed by {by}: {counted(len(found.confirmed), 'confirmation')}")
        for one in found.owed:
            show(f"  owed: {one.who}: {one.why}")
    if not found.is_complete:
        raise typer.Exit(FAILED)
