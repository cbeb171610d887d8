"""What the server needs of the process that has the memory open."""

from typing import Any, Protocol

from hive_mind.mcp.results import Status


class ServedAgent(Protocol):
    """One agent, wherever it runs."""

    async def call(self, what: str, **fields: object) -> Any:
        """Put a request of `runtime.calls` to it. Raises `HiveError`."""
        ...

    async def status(self) -> Status:
        """How it and its fleet are."""
        ...
