"""The agent that a command means, wherever its memory is open: in a process of a fleet, in the resident one, or in this one.

All are asked by the requests of `runtime.calls`, so no command knows the difference.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from hive_mind import __version__
from hive_mind.cli.fleet.agents import fleet_agent
from hive_mind.cli.options import DEFAULT_AGENT, for_reading
from hive_mind.cli.output import say
from hive_mind.cli.serving.direct import resident
from hive_mind.control import RESIDENT
from hive_mind.runtime.settings import Settings

if TYPE_CHECKING:
    from hive_mind.ranking.pipeline import RankingSettings
    from hive_mind.runtime.calls import AgentCalls


class Called(Protocol):
    """A process or agent that answers the requests of `runtime.calls`."""

    async def call(self, what: str, /, **fields: object) -> Any:
        """Put a request to it. Raises `HiveError`."""
        ...


class AnsweringAgent(Called, Protocol):
    """One agent. `fleet` is "" where its memory is open in this process."""

    @property
    def name(self) -> str: ...

    @property
    def fleet(self) -> str: ...


class LocalAgent:
    """One whose memory this process has open."""

    fleet = ""

    def __init__(self, name: str, calls: "AgentCalls") -> None:
        self.name, self._calls = name, calls

    async def call(self, what: str, /, **fields: object) -> Any:
        """See `AnsweringAgent`; what comes back is what JSON would give."""
        from hive_mind.runtime.requests import Call

        return msgspec.to_builtins(await self._calls.do(msgspec.convert({"do": what, **fields}, Call)))


class OpenedAgent:
    """One whose memory this process opens: to read it, which others may do meanwhile, until something is to be written."""

    fleet = ""

    def __init__(self, name: str, settings: Settings, ranking: "RankingSettings | None") -> None:
        self.name, self._settings, self._ranking = name, settings, ranking
        self._open, self._is_reading = AsyncExitStack(), True
        self._agent: LocalAgent | None = None

    async def call(self, what: str, /, **fields: object) -> Any:
        """See `AnsweringAgent`."""
        from hive_mind.runtime.requests import READING

        is_reading = what in READING
        if self._agent is None or self._is_reading > is_reading:
            self._agent = None
            await self._open.aclose()
            self._agent, self._is_reading = await self._opened(is_reading=is_reading), is_reading
        return await self._agent.call(what, **fields)

    async def _opened(self, *, is_reading: bool) -> LocalAgent:
        from hive_mind.runtime.calls import AgentCalls
        from hive_mind.runtime.wiring import open_agent

        agent = await open_agent(self._settings, self.name, self._ranking, is_reading=is_reading)
        return LocalAgent(self.name, AgentCalls(await self._open.enter_async_context(agent), None, is_kept=True))

    async def __aenter__(self) -> "OpenedAgent":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()


@asynccontextmanager
async def asked_agent(
    settings: Settings, fleet: str, agent: str, ranking: "RankingSettings | None" = None
) -> AsyncIterator[AnsweringAgent]:
    """The agent that is meant; one line names it where it runs elsewhere. `ranking`: of one that is opened here.

    Raises `HiveError`.
    """
    found = None if fleet else await asyncio.to_thread(resident, settings.home, agent or DEFAULT_AGENT, settings.timeout_s)
    if found is not None:
        say(f"using agent {found.name} of fleet {found.fleet}", style="dim")
        if found.contact.version != __version__:
            say(
                f"note: its process runs version {found.contact.version or 'unknown'}: hive-mind serve starts it anew",
                style="yellow",
            )
        yield found
        return
    async with fleet_agent(settings.home, fleet, agent, timeout_s=settings.timeout_s) as running:
        if running is not None:
            yield running
            return
    name = agent or DEFAULT_AGENT
    async with OpenedAgent(name, for_reading(settings, name), ranking) as here:
        yield here


def knows_it_all(agent: AnsweringAgent) -> bool:
    """Whether what it holds is all that it can be asked for: there is no hive around it."""
    return agent.fleet in ("", RESIDENT)
