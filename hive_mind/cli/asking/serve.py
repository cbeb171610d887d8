"""`hive-mind serve` and `ui`: keep an agent's memory open, so that commands, clients and browsers need not."""

import asyncio
import webbrowser
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind import __version__
from hive_mind.cli import fleet as fleets
from hive_mind.cli import options
from hive_mind.cli.asking.asked import (
    Agent,
    AnyEmbeddingAgent,
    Fleet,
    FleetAgent,
    fleet_agent,
    is_to_be_started,
    refuse_kept_open,
    say_without_effect,
)
from hive_mind.cli.options import DEFAULT_AGENT, Format, Group, refuse_ineffective, settings_for
from hive_mind.cli.output import say, show, show_json, show_result
from hive_mind.cli.running import CommandError, Stopped
from hive_mind.console import LINK_S, PREFIX
from hive_mind.control import RESIDENT
from hive_mind.counted import counted
from hive_mind.errors import InvalidInput, reason_of
from hive_mind.runtime.settings import ANSWERING_GIVEN, Settings

if TYPE_CHECKING:
    from hive_mind.control.controller import HiveController
    from hive_mind.mcp import AgentState, Status


# Read by a model; `hive-mind status` has all of them.
_PROBLEMS_MAX = 10


class ResidentAgent(FleetAgent):
    """An agent whose process is started again when it has ended. See `mcp.ServedAgent`."""

    may_revive = True

    def __init__(self, controller: "HiveController", fleet: str, name: str, settings: Settings) -> None:
        super().__init__(controller, fleet, name, settings.timeout_s)
        self._settings = settings

    async def status(self) -> "Status":
        fleet = await self.controller.status()
        agent_view = next((agent for agent in fleet.agents if agent.name == self.name), None)
        stats = await self.call("stats")
        own_first = sorted(fleet.agents, key=lambda candidate: candidate.name != self.name)
        problems = [f"{candidate.name}: {candidate.last_error}" for candidate in own_first if candidate.last_error]
        return {
            "agent": self.name,
            "fleet": self.fleet,
            "phase": agent_view.phase if agent_view else "",
            "facts": stats["facts"],
            "members_silent": list(stats.get("silent", ())),
            "problems": problems[:_PROBLEMS_MAX],
        }

    async def status_of(self, agent: str) -> "AgentState":
        fleet = await self.controller.status()
        if (agent_view := next((candidate for candidate in fleet.agents if candidate.name == agent), None)) is None:
            raise InvalidInput(f"fleet {self.fleet} has no agent {agent[:40]!r}")
        return {
            "agent": agent_view.name,
            "fleet": self.fleet,
            "phase": agent_view.phase,
            "group": agent_view.group,
            "facts": agent_view.facts,
            "pending": agent_view.pending,
            "problems": [agent_view.last_error] if agent_view.last_error else [],
        }

    async def address(self) -> tuple[str, str]:
        """Where it is asked over HTTP, and the file that has the token; "" for both where it runs elsewhere."""
        contact = await asyncio.to_thread(self.contact)
        if contact is None:
            return "", ""
        return f"http://127.0.0.1:{contact.port}/v1/agents/{self.name}", str(self.contact_file())

    async def renew(self) -> None:
        """Start a resident process anew that runs another version of this package."""
        from hive_mind.control.controller import among_others

        contact = await asyncio.to_thread(self.contact) if self.fleet == RESIDENT else None
        if contact is None or contact.version == __version__:
            return
        say(f"the process of agent {self.name} runs version {contact.version or 'unknown'}: it is started anew", style="dim")
        outcome = await among_others(lambda: self.controller.restart(self.name))
        if not outcome.is_converged:
            raise CommandError(f"agent {self.name} can't be started anew: {'; '.join(outcome.problems)}")

    async def revive(self) -> None:
        from hive_mind.control.controller import keep_open

        if self.fleet == RESIDENT:
            await keep_open(self.controller, self.name, self._settings)


@asynccontextmanager
async def resident_agent(
    settings: Settings, fleet: str, agent: str, *, is_looking: bool = False, opening: Sequence[str] = ()
) -> AsyncIterator[ResidentAgent]:
    """The agent that is meant; its process is started where it is in no fleet that runs. Raises `HiveError`.

    `is_looking`: see `fleet_agent`; `opening`: see `asked_agent`.
    """
    if fleet or not is_to_be_started(settings.home):
        async with fleet_agent(settings.home, fleet, agent, is_looking=is_looking, timeout_s=settings.timeout_s) as found_agent:
            if found_agent is not None:
                served = ResidentAgent(found_agent.controller, found_agent.fleet, found_agent.name, settings)
                await served.renew()
                await say_without_effect(served, opening)
                yield served
                return
    name = agent or DEFAULT_AGENT
    refuse_kept_open(settings, name)
    loads = "" if settings.embed == "none" else f", which loads {settings.embed_model}"
    say(f"starting a process for agent {name}{loads} …", style="dim")
    # Said before what starts it is loaded, which takes most of a second.
    from hive_mind.control.controller import keep_open

    async with fleets.opened(settings.home, RESIDENT) as controller:
        try:
            outcome = await keep_open(controller, name, settings)
        except asyncio.CancelledError:
            raise Stopped(f"stopped; the process of agent {name} may run by now: hive-mind serve --stop ends it") from None
        if not outcome.is_converged:
            raise CommandError(f"agent {name} can't be kept open: {'; '.join(outcome.problems)}")
        yield ResidentAgent(controller, RESIDENT, name, settings)


group = Group()


@group.called_as("hive-mind serve", "hive-mind serve --agent ines", "hive-mind serve --stop")
async def serve(
    agent: Annotated[str, typer.Option("--agent", "-a", help="The agent of the memory.", show_default="default")] = "",
    stop: Annotated[bool, typer.Option("--stop", help="End that process; what its agents know stays.")] = False,
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
        refuse_ineffective("--stop", embed=embed, model=model)
        has_stopped = await _stop(settings.home)
        nothing = f"nothing runs in {settings.home}: nothing to stop"
        show_result(output, {"stopped": has_stopped}, "stopped; what its agents know stays" if has_stopped else nothing)
        return
    how = [*AnyEmbeddingAgent(embed=embed, model=model).opening(), ANSWERING_GIVEN]
    async with resident_agent(settings, "", agent, opening=how) as served:
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


_ASK_S = 10.0


@group.called_as("hive-mind ui", "hive-mind ui --open", "hive-mind ui --fleet town", "hive-mind ui --evaluations runs/today")
async def ui(
    open_: Annotated[bool, typer.Option("--open", help="Open the link in the browser of this machine.")] = False,
    agent: Agent = "",
    fleet: Fleet = "",
    evaluations: Annotated[
        Path,
        typer.Option("--evaluations", metavar="FOLDER", help="Folder of evaluation runs, to be shown too.", show_default="runs"),
    ] = Path("runs"),
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
    show_result(output, {"url": link, "good_for_s": LINK_S}, link)
    if output is Format.TEXT:
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
            session.post(f"{address}{PREFIX}/link", headers=headers, json=_link_request(evaluations)) as reply,
        ):
            if reply.status != 200:
                raise CommandError(f"{address} has no pages: the process was started by another version; restart it")
            return address + str((await reply.json())["path"])
    except (aiohttp.ClientError, TimeoutError) as error:
        raise CommandError(f"{address} does not answer: {reason_of(error)}") from error


def _link_request(evaluations: Path) -> dict[str, str]:
    """The process may stand in another folder."""
    return {"evaluations": str(evaluations.absolute())}
