"""Which agent of a running fleet `ask` and `learn` mean, and how it is asked.

A fleet's agents have their databases open, so they are asked where they run. Where no fleet runs in the home folder nothing here
costs more than a look at a folder, and the agent's database is opened as ever.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hive_mind.cli import options
from hive_mind.cli.fleet import fleets
from hive_mind.cli.fleet.fleets import fleet_names
from hive_mind.cli.options import DEFAULT_AGENT, Format, settings_for
from hive_mind.cli.output import say
from hive_mind.cli.running import CommandError
from hive_mind.control import RESIDENT
from hive_mind.errors import InvalidInput
from hive_mind.runtime import CALL_S
from hive_mind.runtime.settings import Settings

if TYPE_CHECKING:
    from hive_mind.control.controller import HiveController
    from hive_mind.control.status.fleet_status import FleetStatus

Agent = Annotated[
    str,
    typer.Option(
        "--agent",
        "-a",
        help="The agent; each has a database of its own.",
        show_default="one that is ready, where a fleet runs here; else default",
        autocompletion=fleets.agent_names,
    ),
]
Fleet = Annotated[
    str,
    typer.Option("--fleet", help="An agent of this fleet.", show_default="the one that runs here", autocompletion=fleet_names),
]


@dataclass(frozen=True, slots=True)
class AnyAgent:
    """An agent, wherever its memory is open, and in which form the result is printed."""

    agent: Agent = ""
    fleet: Fleet = ""
    home: options.Home = None
    output: options.Output = Format.TEXT

    def settings(self) -> Settings:
        """See `settings_for`; without a model, for what embeds nothing."""
        return settings_for(self.home, embed="none")


@dataclass(frozen=True, slots=True)
class AnyEmbeddingAgent:
    """The same, with the model that embeds for an agent that is opened here."""

    agent: Agent = ""
    fleet: Fleet = ""
    home: options.Home = None
    embed: options.Embed = None
    model: options.Model = None
    output: options.Output = Format.TEXT

    def settings(self) -> Settings:
        return settings_for(self.home, self.embed, self.model)


@dataclass(frozen=True, slots=True)
class FleetAgent:
    """One agent of a fleet that runs."""

    controller: "HiveController"
    fleet: str
    name: str

    async def call(self, what: str, /, **fields: object) -> Any:
        """Put a request to it, see `runtime.calls`. Raises `BackendError`."""
        return await self.controller.call(self.name, what, timeout_s=CALL_S, **fields)


@asynccontextmanager
async def fleet_agent(home: Path, fleet: str, agent: str, *, is_looking: bool = False) -> AsyncIterator[FleetAgent | None]:
    """The agent of a running fleet that is meant, told in one line; None where it is one that has no fleet around it.

    `is_looking`: it need not be ready, because it is looked at, and nothing is asked.
    Raises `InvalidInput` for a fleet that is not there or has no such agent, `CommandError` for one that does not run.
    """
    if fleet and fleet not in fleets.fleets_in(home):
        raise InvalidInput(f"there is no fleet {fleet!r} in {home}; its fleets: {', '.join(fleets.fleets_in(home)) or 'none'}")
    names = [fleet] if fleet else [name for name in fleets.fleets_in(home) if not fleets.is_stopped(home, name)]
    async with AsyncExitStack() as stack:
        running: list[tuple[HiveController, FleetStatus]] = []
        for name in names:
            controller = await stack.enter_async_context(fleets.opened(home, name))
            status = await controller.status()
            if any(process.pid for process in status.processes):
                running.append((controller, status))
        if fleet and not running:
            raise CommandError(f"fleet {fleet!r} does not run: hive-mind apply -f MANIFEST")
        found = _meant(running, agent, is_named=bool(fleet), is_looking=is_looking)
        if names:
            say(_used(found, running, agent), style="dim")
        elif rest := [name for name in fleets.fleets_in(home) if name != RESIDENT]:
            at_rest = f"{', '.join(rest)} was stopped, hive-mind rollout restart starts it again"
            say(f"using agent {agent or DEFAULT_AGENT}, which is in no running fleet: {at_rest}", style="dim")
        yield found


def _meant(
    running: "Sequence[tuple[HiveController, FleetStatus]]", agent: str, *, is_named: bool, is_looking: bool
) -> FleetAgent | None:
    if agent:
        for controller, status in running:
            if any(one.name == agent for one in status.agents):
                return FleetAgent(controller, status.name, agent)
        if is_named:
            raise InvalidInput(f"fleet {running[0][1].name!r} has no agent {agent!r}; hive-mind get agents lists them")
        return None
    others = [one for one in running if one[1].name != RESIDENT]
    if len(others) != 1:
        return _meant(running, DEFAULT_AGENT, is_named=False, is_looking=is_looking)
    controller, status = others[0]
    ready = [one.name for one in status.agents if one.is_ready]
    if is_looking:
        there = {process.name for process in status.processes if process.pid}
        ready += [one.name for one in status.agents if one.process in there]
    if not ready:
        raise CommandError(f"no agent of fleet {status.name!r} is ready ({status.phase}): hive-mind status says why")
    return FleetAgent(controller, status.name, ready[0])


def _used(found: FleetAgent | None, running: "Sequence[tuple[HiveController, FleetStatus]]", agent: str) -> str:
    if found is not None:
        return f"using agent {found.name} of fleet {found.fleet}"
    alone = f"using agent {agent or DEFAULT_AGENT}, which is in no running fleet"
    if len(running) > 1 and not agent:
        alone += f"; --fleet {' or '.join(status.name for _, status in running)} asks a fleet"
    return alone
