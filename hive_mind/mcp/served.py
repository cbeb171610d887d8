"""What the server needs of the process that has the memory open."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from hive_mind.mcp.results import AgentState, Status

OnProgress = Callable[[int, int], Awaitable[None]]
"""Gets how much is done, of how much."""


class ServedAgent(Protocol):
    """One agent, wherever it runs."""

    async def call(self, what: str, progress: OnProgress | None = None, /, **fields: object) -> Any:
        """Put a request of `runtime.calls` to it. Raises `HiveError`."""
        ...

    async def status(self) -> Status:
        """How it and its fleet are."""
        ...

    async def status_of(self, agent: str) -> AgentState:
        """How an agent of its fleet is. Raises `InvalidInput` where there is none of this name."""
        ...
