"""The runs of an agent in its worker: opened once, and nothing is left of them that failed to open, or were closed meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from hive_mind.credentials.redaction import Redaction
from hive_mind.errors import BackendUnavailable
from hive_mind.llm.base import LanguageModel
from hive_mind.llm.scripted import ScriptedModel
from hive_mind.runtime import wiring
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.workers.agent_runs import AgentRuns, OpenModel
from hive_mind.runtime.workers.config import AgentConfig
from tests.unit.runtime.worker_builders import config
from tests.unit.runtime.workers.test_replies import ASK


@asynccontextmanager
async def runs_with(folder: Path, model: OpenModel) -> AsyncIterator[AgentRuns]:
    """Of ada, who has a worker and a model."""
    settings = Settings(home=folder, embed="none")
    async with await wiring.open_agent(settings, "ada") as agent:
        before = asyncio.all_tasks()
        yield AgentRuns(config(folder), AgentConfig("ada", worker=ASK, model="m"), settings, agent, None, model, Redaction(()))
        assert {task.get_name() for task in asyncio.all_tasks() - before} == set()


async def test_runs_that_could_not_be_opened_are_opened_at_the_next_request(tmp_path: Path) -> None:
    # A judge that has no model asks people; a worker that has none can't begin.
    failures = [BackendUnavailable("m", "away")] * 2

    async def model(_: str) -> LanguageModel:
        if failures:
            raise failures.pop()
        return ScriptedModel()

    async with runs_with(tmp_path, model) as runs:
        with pytest.raises(BackendUnavailable, match="away"):
            await runs.calls()
        keeper = await runs.calls()
        assert await keeper.listed(0) == {"runs": [], "count": 0}
        assert await runs.calls() is keeper
        await runs.close()


async def test_runs_that_are_closed_while_they_open_are_closed_once_they_are_open(tmp_path: Path) -> None:
    is_opening, may_open = asyncio.Event(), asyncio.Event()

    async def model(_: str) -> LanguageModel:
        is_opening.set()
        await may_open.wait()
        return ScriptedModel()

    async with runs_with(tmp_path, model) as runs:
        opening = asyncio.create_task(runs.calls())
        await is_opening.wait()
        closing = asyncio.create_task(runs.close())
        await asyncio.sleep(0)
        may_open.set()
        await asyncio.gather(opening, closing)
