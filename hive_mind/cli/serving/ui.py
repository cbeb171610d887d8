"""`hive-mind ui`: pages in a browser, and the link that lets one in."""

import asyncio
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.fleet.agents import Agent, Fleet
from hive_mind.cli.options import Format, Group, settings_for
from hive_mind.cli.output import say, show, show_json
from hive_mind.cli.running import CommandError
from hive_mind.cli.serving.resident_agent import ResidentAgent, resident_agent
from hive_mind.console import PREFIX
from hive_mind.console.sessions import LINK_S

_ASK_S = 10.0

Evaluations = Annotated[
    Path,
    typer.Option("--evaluations", metavar="FOLDER", help="Folder of evaluation runs, to be shown too.", show_default="runs"),
]
Open = Annotated[bool, typer.Option("--open", help="Open the link in the browser of this machine.")]


group = Group()


@group.called_as("hive-mind ui", "hive-mind ui --open", "hive-mind ui --fleet town", "hive-mind ui --evaluations runs/today")
async def ui(
    open_: Open = False,
    agent: Agent = "",
    fleet: Fleet = "",
    evaluations: Evaluations = Path("runs"),
    home: options.Home = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Show in a browser what a fleet knows and why.

    Its agents, live; an answer with the parts of each score, and why a fact is not in it; a fact with its sources, its vouchers
    and its copies; what waits for a decision; runs, messages, evaluations.

    The process that has the memory open serves the pages, on this machine only; where there is none, one is started, and runs
    until hive-mind serve --stop. The link lets one browser in, once.
    """
    async with resident_agent(settings_for(home), fleet, agent, is_looking=True) as served:
        link = await _link(served, evaluations)
    if output is Format.JSON:
        show_json({"url": link, "good_for_s": LINK_S})
    else:
        show(link)
        say(f"good once, within {LINK_S / 60:g} minutes; hive-mind ui prints another one", style="dim")
    if open_ and not webbrowser.open(link):
        raise CommandError("no browser could be opened here: open the link yourself")


async def _link(served: ResidentAgent, evaluations: Path) -> str:
    """From the process that serves. Raises `CommandError`."""
    # It takes longer to load than most commands run.
    import aiohttp

    contact = await asyncio.to_thread(served.contact)
    if contact is None:
        raise CommandError(f"the processes of fleet {served.fleet} do not run on this machine: see docs/howto/console.md")
    address = f"http://127.0.0.1:{contact.port}"
    headers, timeout = {"Authorization": f"Bearer {contact.token}"}, aiohttp.ClientTimeout(total=_ASK_S)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.post(f"{address}{PREFIX}/link", headers=headers, json=_asked(evaluations)) as reply,
        ):
            if reply.status != 200:
                raise CommandError(f"{address} has no pages: the process was started by another version; restart it")
            return address + str((await reply.json())["path"])
    except (aiohttp.ClientError, TimeoutError) as error:
        raise CommandError(f"{address} does not answer: {error}") from error


def _asked(evaluations: Path) -> dict[str, str]:
    """The process may stand in another folder."""
    return {"evaluations": str(evaluations.absolute())}
