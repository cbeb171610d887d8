"""The agent that `serve` and `mcp` mean: one of a fleet that runs here, or one that is kept open from now on."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from hive_mind import __version__
from hive_mind.cli.fleet import fleets
from hive_mind.cli.fleet.agents import FleetAgent, fleet_agent
from hive_mind.cli.options import DEFAULT_AGENT
from hive_mind.cli.output import say
from hive_mind.cli.running import CommandError
from hive_mind.cli.serving.direct import is_to_be_started
from hive_mind.control import RESIDENT
from hive_mind.errors import InvalidInput
from hive_mind.runtime.settings import Settings

if TYPE_CHECKING:
    from hive_mind.control.controller import HiveController
    from hive_mind.mcp.results import AgentState, Status


class ResidentAgent(FleetAgent):
    """An agent whose process is started again when it has ended. See `mcp.results.ServedAgent`."""

    may_revive = True

    def __init__(self, controller: "HiveController", fleet: str, name: str, settings: Settings) -> None:
        super().__init__(controller, fleet, name, settings.timeout_s)
        self._settings = settings

    async def status(self) -> "Status":
        fleet = await self.controller.status()
        agent_view = next((agent for agent in fleet.agents if agent.name == self.name), None)
        stats = await self.call("stats")
        return {
            "agent": self.name,
            "fleet": self.fleet,
            "phase": agent_view.phase if agent_view else "",
            "facts": stats["facts"],
            "members_silent": list(stats.get("silent", ())),
            "problems": [problem for problem in (agent_view.last_error if agent_view else "", fleet.last_error) if problem],
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
        from hive_mind.control.resident import among_others

        contact = await asyncio.to_thread(self.contact) if self.fleet == RESIDENT else None
        if contact is None or contact.version == __version__:
            return
        say(f"the process of agent {self.name} runs version {contact.version or 'unknown'}: it is started anew", style="dim")
        outcome = await among_others(lambda: self.controller.restart(self.name))
        if not outcome.is_converged:
            raise CommandError(f"agent {self.name} can't be started anew: {'; '.join(outcome.problems)}")

    async def revive(self) -> None:
        from hive_mind.control.resident import keep_open

        if self.fleet == RESIDENT:
            await keep_open(self.controller, self.name, self._settings)


@asynccontextmanager
async def resident_agent(settings: Settings, fleet: str, agent: str, *, is_looking: bool = False) -> AsyncIterator[ResidentAgent]:
    """The agent that is meant; its process is started where it is in no fleet that runs. Raises `HiveError`.

    `is_looking`: see `fleet_agent`.
    """
    if fleet or not is_to_be_started(settings.home):
        async with fleet_agent(settings.home, fleet, agent, is_looking=is_looking, timeout_s=settings.timeout_s) as found_agent:
            if found_agent is not None:
                served = ResidentAgent(found_agent.controller, found_agent.fleet, found_agent.name, settings)
                await served.renew()
                yield served
                return
    name = agent or DEFAULT_AGENT
    loads = "" if settings.embed == "none" else f", which loads {settings.embed_model}"
    say(f"starting a process for agent {name}{loads} …", style="dim")
    # Said before what starts it is loaded, which takes most of a second.
    from hive_mind.control.resident import keep_open

    async with fleets.opened(settings.home, RESIDENT) as controller:
        outcome = await keep_open(controller, name, settings)
        if not outcome.is_converged:
            raise CommandError(f"agent {name} can't be kept open: {'; '.join(outcome.problems)}")
        yield ResidentAgent(controller, RESIDENT, name, settings)
