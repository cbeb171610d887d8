"""An agent of this home that runs in a process of a fleet, or in the resident one: how an evaluation reaches it."""

from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol


class AgentCall(Protocol):
    """Puts a request of `api.requests` to an agent."""

    def __call__(self, what: str, /, **fields: object) -> Awaitable[Any]:
        """Its reply. Raises `HiveError`."""
        ...


@asynccontextmanager
async def running_agent(home: Path, agent: str) -> AsyncIterator[AgentCall | None]:
    """The agent, in the first fleet of this home that runs and has it; None where none does."""
    # Loaded where an agent is looked for: they bring what knows fleets, and data sets of files need none of it.
    from hive_mind.control.controller import HiveController
    from hive_mind.control.state import fleets

    for fleet in fleets(home):
        async with HiveController.open(home, fleet) as controller:
            status = await controller.status()
            process = next((agent_view.process for agent_view in status.agents if agent_view.name == agent), None)
            if process is not None and any(process_view.pid for process_view in status.processes if process_view.name == process):
                yield partial(controller.call, agent)
                return
    yield None
