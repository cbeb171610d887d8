"""The agent that `serve` and `mcp` mean: one of a fleet that runs here, or one that is kept open from now on."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from hive_mind import __version__
from hive_mind.cli.fleet import fleets
from hive_mind.cli.fleet.agents import FleetAgent, fleet_agent
from hive_mind.cli.options import DEFAULT_AGENT
from hive_mind.cli.output import say
from hive_mind.cli.running import CommandError
from hive_mind.cli.serving.direct import is_to_be_started
from hive_mind.control import RESIDENT
from hive_mind.errors import BackendUnavailable, InvalidInput
from hive_mind.runtime.requests import PUT_AGAIN
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.workers.status import Contact

if TYPE_CHECKING:
    from hive_mind.mcp.results import AgentState, OnProgress, Status

# One that was killed is started again, and has opened its memory by then.
_TRIES, _PAUSE_S = 60, 0.5


class ResidentAgent:
    """An agent whose process is started again when it has ended. See `mcp.results.ServedAgent`."""

    def __init__(self, found: FleetAgent, settings: Settings) -> None:
        self._found, self._settings = found, settings

    @property
    def name(self) -> str:
        return self._found.name

    @property
    def fleet(self) -> str:
        return self._found.fleet

    async def call(self, what: str, progress: "OnProgress | None" = None, /, **fields: object) -> Any:
        """Put a request of `runtime.calls` to it, again where the answer is lost: it has a key then. Raises `HiveError`."""
        if what in PUT_AGAIN:
            fields = {"key": uuid4().hex, **fields}
        for left in reversed(range(_TRIES)):
            try:
                return await self._found.call(what, progress, **fields)
            except BackendUnavailable:
                if not left:
                    raise
                await self._revive()
                await asyncio.sleep(_PAUSE_S)
        return None

    async def status(self) -> "Status":
        fleet = await self._found.controller.status()
        own = next((agent for agent in fleet.agents if agent.name == self.name), None)
        stats = await self.call("stats")
        return {
            "agent": self.name,
            "fleet": self.fleet,
            "phase": own.phase if own else "",
            "facts": stats["facts"],
            "members_silent": list(stats.get("silent", ())),
            "problems": [one for one in (own.last_error if own else "", fleet.last_error) if one],
        }

    async def status_of(self, agent: str) -> "AgentState":
        fleet = await self._found.controller.status()
        if (one := next((one for one in fleet.agents if one.name == agent), None)) is None:
            raise InvalidInput(f"fleet {self.fleet} has no agent {agent[:40]!r}")
        return {
            "agent": one.name,
            "fleet": self.fleet,
            "phase": one.phase,
            "group": one.group,
            "facts": one.facts,
            "pending": one.pending,
            "problems": [one.last_error] if one.last_error else [],
        }

    async def address(self) -> tuple[str, str]:
        """Where it is asked over HTTP, and the file that has the token; "" for both where it runs elsewhere."""
        contact = await self._contact()
        if contact is None:
            return "", ""
        return f"http://127.0.0.1:{contact.port}/v1/agents/{self.name}", str(self._found.contact_file())

    async def contact(self) -> tuple[str, str]:
        """The address of its process, and the token; "" for both where it runs elsewhere."""
        contact = await self._contact()
        return (f"http://127.0.0.1:{contact.port}", contact.token) if contact else ("", "")

    async def _contact(self) -> Contact | None:
        return await asyncio.to_thread(self._found.contact)

    async def renew(self) -> None:
        """Start a resident process anew that runs another version of this package."""
        from hive_mind.control.resident import among_others

        contact = await self._contact() if self.fleet == RESIDENT else None
        if contact is None or contact.version == __version__:
            return
        say(f"the process of agent {self.name} runs version {contact.version or 'unknown'}: it is started anew", style="dim")
        outcome = await among_others(lambda: self._found.controller.restart(self.name))
        if not outcome.is_converged:
            raise CommandError(f"agent {self.name} can't be started anew: {'; '.join(outcome.problems)}")

    async def _revive(self) -> None:
        from hive_mind.control.resident import keep_open

        if self.fleet == RESIDENT:
            await keep_open(self._found.controller, self.name, self._settings)


@asynccontextmanager
async def resident_agent(settings: Settings, fleet: str, agent: str, *, is_looking: bool = False) -> AsyncIterator[ResidentAgent]:
    """The agent that is meant; its process is started where it is in no fleet that runs. Raises `HiveError`.

    `is_looking`: see `fleet_agent`.
    """
    if fleet or not is_to_be_started(settings.home):
        async with fleet_agent(settings.home, fleet, agent, is_looking=is_looking, timeout_s=settings.timeout_s) as found:
            if found is not None:
                served = ResidentAgent(found, settings)
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
        yield ResidentAgent(FleetAgent(controller, RESIDENT, name, settings.timeout_s), settings)
