"""Who learns: an agent of a fleet that runs, or the one whose database is here."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from hive_mind.cli.fleet.agents import fleet_agent
from hive_mind.cli.learning.learners import Learner, LocalLearner, RemoteLearner
from hive_mind.cli.options import DEFAULT_AGENT, for_reading
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_agent

OpenedLearner = AbstractAsyncContextManager[tuple[str, Learner]]


@asynccontextmanager
async def opened_learner(
    settings: Settings, agent: str, fleet: str, *, is_known: bool = False
) -> AsyncIterator[tuple[str, Learner]]:
    """Its name, and the one who learns; `is_known`: it has learned something before. Raises `InvalidInput` where it has not."""
    async with fleet_agent(settings.home, fleet, agent) as running:
        if running is not None:
            yield running.name, RemoteLearner(running)
            return
    name = agent or DEFAULT_AGENT
    async with await open_agent(for_reading(settings, name) if is_known else settings, name) as found:
        yield name, LocalLearner(found)
