"""`hive-mind serve`: keep an agent's memory open, so that commands and clients need not."""

from pathlib import Path
from typing import Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.fleet import fleets
from hive_mind.cli.options import Format, Group, settings_for
from hive_mind.cli.output import say, show, show_json
from hive_mind.cli.running import CommandError
from hive_mind.cli.serving.resident_agent import resident_agent
from hive_mind.control import RESIDENT
from hive_mind.counted import counted

Agent = Annotated[str, typer.Option("--agent", "-a", help="The agent of the memory.", show_default="default")]
Stop = Annotated[bool, typer.Option("--stop", help="End that process; what its agents know stays.")]


group = Group()


@group.called_as("hive-mind serve", "hive-mind serve --agent ines", "hive-mind serve --stop")
async def serve(
    agent: Agent = "",
    stop: Stop = False,
    home: options.Home = None,
    embed: options.Embed = None,
    model: options.Model = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Keep an agent open in a background process.

    ask, learn and mcp find it and use it: nothing has to be loaded again, and any number of clients work at once. Agents of a
    running fleet are served already.
    """
    settings = settings_for(home, embed, model)
    if stop:
        has_stopped = await _stop(settings.home)
        if output is Format.JSON:
            show_json({"stopped": has_stopped})
        else:
            show("stopped; what its agents know stays" if has_stopped else f"nothing runs in {settings.home}: nothing to stop")
        return
    async with resident_agent(settings, "", agent) as served:
        status, (url, token_in) = await served.status(), await served.address()
    if output is Format.JSON:
        show_json({**status, "url": url, "token_in": token_in})
        return
    show(f"agent {served.name} of fleet {served.fleet} is {status['phase']} and holds {counted(status['facts'], 'fact')}")
    if url:
        show(f"programs ask it at {url}, with the token in {token_in}")
    say("hive-mind ask, learn and mcp use it from now on; hive-mind serve --stop ends it", style="dim")


async def _stop(home: Path) -> bool:
    """Whether something was to be stopped. Raises `CommandError` where it can't be."""
    if RESIDENT not in fleets.fleets_in(home):
        return False
    async with fleets.opened(home, RESIDENT) as controller:
        outcome = await controller.delete()
    if not outcome.is_converged:
        raise CommandError("; ".join(outcome.problems))
    return bool(outcome.actions)
