"""The agent that a command means, wherever its memory is open: in a process of a fleet, in the resident one, or in this one.

All are asked by the requests of `api.requests`, so no command knows the difference.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from hive_mind import __version__
from hive_mind.cli.fleet.agents import fleet_agent
from hive_mind.cli.options import DEFAULT_AGENT, for_reading
from hive_mind.cli.output import say
from hive_mind.cli.serving.direct import resident
from hive_mind.control import RESIDENT
from hive_mind.runtime.asking import ProcessAgent
from hive_mind.runtime.settings import Settings

if TYPE_CHECKING:
    from hive_mind.api.request import OnEvent, Progress
    from hive_mind.memory.base import Memory
    from hive_mind.ranking.pipeline import RankingSettings
    from hive_mind.runtime.calls import AgentCalls


class Called(Protocol):
    """A process or agent that answers the requests of `api.requests`."""

    async def call(self, request: str, progress: "Progress | None" = None, /, **fields: object) -> Any:
        """Put a request to it; `progress` gets how far it is, of one that reports. Raises `HiveError`."""
        ...


class AnsweringAgent(Called, Protocol):
    """One agent. `fleet` is "" where its memory is open in this process."""

    @property
    def name(self) -> str: ...

    @property
    def fleet(self) -> str: ...


class OpenedAgent:
    """One whose memory this process opens: to read it, which others may do meanwhile, and to write for one request at a time.

    `is_writing`: to write from the first request to the last.
    """

    fleet = ""

    def __init__(self, name: str, settings: Settings, ranking: "RankingSettings | None", *, is_writing: bool = False) -> None:
        self.name, self._settings, self._ranking, self._is_writing = name, settings, ranking, is_writing
        self._open, self._is_reading = AsyncExitStack(), not is_writing
        self._calls: AgentCalls | None = None
        self._memory: Memory | None = None
        self._seen: list[tuple[int, int]] = []

    async def call(self, request: str, progress: "Progress | None" = None, /, **fields: object) -> Any:
        """See `AnsweringAgent`. A reader sees what others have written before its request."""
        from hive_mind.api.requests import REQUESTS

        if self._is_writing:
            return await self._answered(request, progress, fields)
        is_reading = REQUESTS.entry(request).reads
        if not is_reading or self._seen != self._signature():
            await self._let_go(is_reading=is_reading)
        try:
            return await self._answered(request, progress, fields)
        finally:
            if not is_reading:
                await self._let_go(is_reading=True)

    async def _answered(self, request: str, progress: "Progress | None", fields: Mapping[str, object]) -> Any:
        self._calls = self._calls or await self._opened()
        # As it would come over a wire.
        return msgspec.to_builtins(await self._calls.answer(request, _as_event(progress), **fields))

    async def _let_go(self, *, is_reading: bool) -> None:
        """Close the database; the next request opens it, to read it or to write."""
        if self._memory is not None and self._settings.store != "memory":
            await self._memory.sleep()
        self._is_reading, self._seen = is_reading, self._signature()

    def _signature(self) -> list[tuple[int, int]]:
        """Of its file and the log of it: another one after any write."""
        from hive_mind.runtime.agent_files import database_path

        path = database_path(self._settings, self.name)
        files = (file for file in (path, path.with_name(f"{path.name}-wal")) if file.exists())
        return [(stat.st_mtime_ns, stat.st_size) for stat in map(Path.stat, files)]

    async def _opened(self) -> "AgentCalls":
        from hive_mind.runtime.calls import AgentCalls
        from hive_mind.runtime.wiring import open_agent

        agent = await open_agent(self._settings, self.name, self._ranking, is_reading=lambda: self._is_reading)
        self._memory = agent.memory
        return AgentCalls(await self._open.enter_async_context(agent), None, is_kept=True)

    async def __aenter__(self) -> "OpenedAgent":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()


def _as_event(progress: "Progress | None") -> "OnEvent | None":
    return progress and (lambda name, says: progress(says["done"], says["total"]) if name == "progress" else None)


@asynccontextmanager
async def agent_elsewhere(settings: Settings, fleet: str, agent: str) -> AsyncIterator[ProcessAgent | None]:
    """The agent that is meant, where its memory is open in another process, told in one line; None where it is not.

    Raises `HiveError`.
    """
    direct = None if fleet else await asyncio.to_thread(resident, settings.home, agent or DEFAULT_AGENT, settings.timeout_s)
    if direct is None:
        async with fleet_agent(settings.home, fleet, agent, timeout_s=settings.timeout_s) as running:
            yield running
        return
    say(f"using agent {direct.name} of fleet {direct.fleet}", style="dim")
    version = (await direct.contact_of(direct.name)).version
    if version != __version__:
        say(f"note: its process runs version {version or 'unknown'}: hive-mind serve starts it anew", style="yellow")
    yield direct


@asynccontextmanager
async def asked_agent(
    settings: Settings,
    fleet: str,
    agent: str,
    ranking: "RankingSettings | None" = None,
    *,
    may_begin: bool = False,
    is_writing: bool = False,
) -> AsyncIterator[AnsweringAgent]:
    """The agent that is meant. Of one that is opened here: its `ranking`, and see `OpenedAgent` for `is_writing`.

    `may_begin`: it may be one that knows nothing yet. Raises `HiveError`.
    """
    async with agent_elsewhere(settings, fleet, agent) as running:
        if running is not None:
            yield running
            return
    name = agent or DEFAULT_AGENT
    readable = settings if may_begin else for_reading(settings, name)
    async with OpenedAgent(name, readable, ranking, is_writing=is_writing) as opened:
        yield opened


def knows_it_all(agent: AnsweringAgent) -> bool:
    """Whether what it holds is all that it can be asked for: there is no hive around it."""
    return agent.fleet in ("", RESIDENT)
