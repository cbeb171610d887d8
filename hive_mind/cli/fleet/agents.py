"""Which agent of a running fleet `ask` and `learn` mean, and how it is asked.

A fleet's agents have their databases open, so they are asked where they run. Where no fleet runs in the home folder nothing here
costs more than a look at a folder, and the agent's database is opened as ever.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from hive_mind.cli import options
from hive_mind.cli.fleet import fleets
from hive_mind.cli.fleet.fleets import fleet_names
from hive_mind.cli.options import DEFAULT_AGENT, Format, settings_for
from hive_mind.cli.output import say
from hive_mind.cli.running import CommandError
from hive_mind.control import RESIDENT
from hive_mind.errors import InvalidInput
from hive_mind.model.decoding import json_decoder
from hive_mind.runtime.agent_files import is_kept
from hive_mind.runtime.asking import ProcessAgent
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.worker_http import SILENCE_S
from hive_mind.runtime.workers.status import Contact

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
    timeout: options.Timeout = None
    output: options.Output = Format.TEXT

    def settings(self) -> Settings:
        """See `settings_for`; without a model, for what embeds nothing."""
        return _patient(settings_for(self.home, embed="none"), self.timeout)


@dataclass(frozen=True, slots=True)
class AnyEmbeddingAgent:
    """The same, with the model that embeds for an agent that is opened here."""

    agent: Agent = ""
    fleet: Fleet = ""
    home: options.Home = None
    embed: options.Embed = None
    model: options.Model = None
    timeout: options.Timeout = None
    output: options.Output = Format.TEXT

    def settings(self) -> Settings:
        return _patient(settings_for(self.home, self.embed, self.model), self.timeout)


class FleetAgent(ProcessAgent):
    """One agent of a fleet that runs: its process may be another one at each request."""

    def __init__(self, controller: "HiveController", fleet: str, name: str, silence_s: float = SILENCE_S) -> None:
        super().__init__(fleet, name, None, silence_s)
        self.controller = controller

    async def contact_of(self, agent: str) -> Contact:
        return await self.controller.contact(agent)

    async def other(self) -> str:
        """Of a fleet that shares nothing there is none: another agent knows other things."""
        from hive_mind.hive.topology.spec import is_shared

        status = await self.controller.status()
        process = next((agent.process for agent in status.agents if agent.name == self.name), "")
        ready = (agent.name for agent in status.agents if agent.is_ready and agent.process != process)
        return next(ready, "") if is_shared(status.topology) else ""

    def contact(self) -> Contact | None:
        """How its process is reached by the fleet's own record; None where that runs elsewhere."""
        try:
            return json_decoder(Contact)(self.contact_file().read_bytes())
        except (OSError, msgspec.DecodeError, InvalidInput):
            return None

    def contact_file(self) -> Path:
        """Where that is written. Raises `InvalidInput` for an agent that the fleet has not."""
        return self.controller.folder.run / f"{self.controller.process_of(self.name)}.json"


def _patient(settings: Settings, timeout_s: float | None) -> Settings:
    return settings if timeout_s is None else replace(settings, timeout_s=timeout_s)


@asynccontextmanager
async def fleet_agent(
    home: Path, fleet: str, agent: str, *, is_looking: bool = False, timeout_s: float | None = None
) -> AsyncIterator[FleetAgent | None]:
    """The agent of a running fleet that is meant, told in one line; None where it is one that has no fleet around it.

    `is_looking`: it need not be ready, because it is looked at, and nothing is asked. `timeout_s`: how long its process may be
    silent; None for the setting.
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
        found_agent = _meant(running, agent, is_named=bool(fleet), is_looking=is_looking)
        if found_agent is not None:
            found_agent.silence_s = Settings.from_environment().timeout_s if timeout_s is None else timeout_s
        down = [name for name in names if name != RESIDENT and name not in [status.name for _, status in running]]
        if found_agent is None and down and not agent and not is_kept(Settings(home=home), DEFAULT_AGENT):
            raise CommandError(f"{_down(down)}; --agent NAME uses the memory of one agent alone, as it lies here")
        if names:
            say(_used(found_agent, running, agent) + (f": {_down(down)}" if down and found_agent is None else ""), style="dim")
        elif rest := [name for name in fleets.fleets_in(home) if name != RESIDENT]:
            at_rest = f"{', '.join(rest)} was stopped, hive-mind rollout restart starts it again"
            say(f"using agent {agent or DEFAULT_AGENT}, which is in no running fleet: {at_rest}", style="dim")
        yield found_agent


def _down(names: list[str]) -> str:
    """Fleets that should run and do not, after a power failure for instance, and what starts them."""
    those = f"fleet {names[0]} is" if len(names) == 1 else f"fleets {', '.join(names)} are"
    return f"{those} down (none of its processes runs): hive-mind rollout restart starts it again, its memory is kept"


def _meant(
    running: "Sequence[tuple[HiveController, FleetStatus]]", agent: str, *, is_named: bool, is_looking: bool
) -> FleetAgent | None:
    if agent:
        for controller, status in running:
            if any(agent_view.name == agent for agent_view in status.agents):
                return FleetAgent(controller, status.name, agent)
        if is_named:
            raise InvalidInput(f"fleet {running[0][1].name!r} has no agent {agent!r}; hive-mind get agents lists them")
        return None
    fleets_of_people = [fleet for fleet in running if fleet[1].name != RESIDENT]
    if len(fleets_of_people) != 1:
        return _meant(running, DEFAULT_AGENT, is_named=False, is_looking=is_looking)
    controller, status = fleets_of_people[0]
    ready = [agent_view.name for agent_view in status.agents if agent_view.is_ready]
    if is_looking:
        names = {process.name for process in status.processes if process.pid}
        ready += [agent_view.name for agent_view in status.agents if agent_view.process in names]
    if not ready:
        raise CommandError(f"no agent of fleet {status.name!r} is ready ({status.phase}): hive-mind status says why")
    return FleetAgent(controller, status.name, ready[0])


def _used(found_agent: FleetAgent | None, running: "Sequence[tuple[HiveController, FleetStatus]]", agent: str) -> str:
    if found_agent is not None:
        return f"using agent {found_agent.name} of fleet {found_agent.fleet}"
    alone = f"using agent {agent or DEFAULT_AGENT}, which is in no running fleet"
    if len(running) > 1 and not agent:
        alone += f"; --fleet {' or '.join(status.name for _, status in running)} asks a fleet"
    return alone
