"""`hive-mind delete`: stop a fleet. Its memory stays, unless it is to be purged."""

from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any

import typer

from hive_mind.cli import options
from hive_mind.cli.fleet import fleets
from hive_mind.cli.fleet.apply import under_way
from hive_mind.cli.fleet.fleets import fleet_names
from hive_mind.cli.options import Group, is_confirmed
from hive_mind.cli.output import say, show
from hive_mind.cli.running import CommandError
from hive_mind.control import TIMEOUT_S
from hive_mind.errors import InvalidInput

File = Annotated[str, typer.Option("--file", "-f", metavar="FILE", help="Its manifest.")]
Name = Annotated[str, typer.Argument(metavar="NAME", show_default="the one there is", autocompletion=fleet_names)]
Purge = Annotated[bool, typer.Option("--purge", help="Forget everything too: memory, journals, logs. For good.")]


group = Group()


@group.called_as(
    "hive-mind delete -f manifests/flat.yaml", "hive-mind delete research", "hive-mind delete research --purge --yes"
)
def delete(
    name: Name = "",
    file: File = "",
    purge: Purge = False,
    yes: options.Yes = False,
    timeout: fleets.Timeout = TIMEOUT_S,
    home: options.Home = None,
) -> Coroutine[Any, Any, None]:
    """Stop every process of a fleet, each after it has finished.

    Learned facts stay and are there again after the next apply. With --purge they are gone for good.
    """
    if name and file:
        raise InvalidInput("give the fleet's name or its manifest, not both")
    folder = fleets.home_of(home)
    fleet = fleets.chosen_fleet(folder, fleets.named_in(file) if file else name, named_by="")
    if purge and not yes and not is_confirmed("purge", f"stop fleet {fleet!r} and forget all it ever learned, for good?"):
        raise CommandError("nothing was done")
    return _delete(folder, fleet, timeout, is_purging=purge)


async def _delete(home: Path, fleet: str, timeout_s: float, *, is_purging: bool) -> None:
    async with fleets.opened(home, fleet, is_reporting=True) as controller, under_way(controller):
        outcome = await controller.delete(purge=is_purging, timeout_s=timeout_s)
    if not outcome.is_converged:
        raise CommandError(f"fleet {fleet} is not wholly stopped: {'; '.join(outcome.problems)}; run it again to go on")
    show(f"fleet {fleet} is stopped, and all it knew is gone" if is_purging else f"fleet {fleet} is stopped; its memory stays")
    if not is_purging:
        say(f"to run it again: hive-mind apply -f MANIFEST; to forget it: hive-mind delete {fleet} --purge")
