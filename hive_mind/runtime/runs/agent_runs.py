"""The runs of an agent of a fleet, as its worker process has them: opened when they are needed, and closed with the agent.

Their questions to people lie in the agent's ledger. In a fleet with one desk they lie there, too; in a judged fleet the fact
judge carries them to and fro, else it is done here.

An agent that has no runs never loads their modules: half of the memory of a worker process.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hive_mind.agents.agent import LearningAgent
from hive_mind.credentials.redaction import Redaction
from hive_mind.errors import HiveError
from hive_mind.ledger.base import Ledger
from hive_mind.llm.base import LanguageModel
from hive_mind.runtime.agent_files import ledger_path
from hive_mind.runtime.members.member import RunningMember
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import shared_ledger
from hive_mind.runtime.workers.config import AgentConfig, WorkerConfig

if TYPE_CHECKING:
    from hive_mind.agents.desk import LedgerDesk
    from hive_mind.agents.replies import How
    from hive_mind.judge.items import Item
    from hive_mind.runtime.runs.health_watch import HealthWatch
    from hive_mind.runtime.runs.notifying import DeskNotices
    from hive_mind.runtime.runs.run_calls import RunCalls
    from hive_mind.runtime.runs.run_keeper import RunKeeper
    from hive_mind.runtime.runs.triggers import Triggers
    from hive_mind.tools.base import McpServer

_log = logging.getLogger(__name__)

_AGAIN_S = 5.0
OpenModel = Callable[[str], Awaitable[LanguageModel]]


class AgentRuns:
    """Of one agent. Everything that is asked of its runs opens them. `hidden`: of the credentials that its process has."""

    def __init__(
        self,
        config: WorkerConfig,
        agent_config: AgentConfig,
        settings: Settings,
        agent: LearningAgent,
        member: RunningMember | None,
        model: OpenModel,
        hidden: Redaction,
    ) -> None:
        self._config, self._agent_config, self._settings, self._hidden = config, agent_config, settings, hidden
        self._agent, self._member, self._model = agent, member, model
        self._posts = config.review.facts == "off"
        """Whether nobody else carries items to the desk of the fleet."""
        self._keeper: RunKeeper | None = None
        self._triggers: Triggers | None = None
        self.watch: HealthWatch | None = None
        """The watch beside them, once they are open."""
        self._ledger: Ledger | None = None
        self._post: asyncio.Task[None] | None = None
        self.notices: DeskNotices | None = None
        """Of what waits at its desk, if anybody gets some."""
        self._opening = asyncio.Lock()
        self._stack = AsyncExitStack()

    @property
    def trouble(self) -> str:
        """Why a run can't go on, or ""."""
        stopped = [f"run {run} can't go on: {why}" for run, why in self._keeper.troubles.items()] if self._keeper else []
        troubles = [service.trouble for service in (self._triggers, self.watch) if service is not None and service.trouble]
        return next(iter((*stopped, *troubles)), "")

    @property
    def under_way(self) -> int:
        """At how many runs something is done now."""
        return len(self._keeper.under_way) if self._keeper else 0

    async def open_if_any(self) -> None:
        """Take up what has not ended, where the agent has a worker or ever had a run. Raises what a ledger raises."""
        watch = self._config.watch
        if (
            self._agent_config.worker
            or self._agent.name in (watch.watcher, watch.queen)
            or ((self._config.notify.is_on or self._posts) and self._agent.name == self._config.review.desk.agent)
            or (self._is_kept and ledger_path(self._settings, self._agent.name).exists())
        ):
            await self.calls()

    async def calls(self) -> "RunCalls":
        """The requests to its runs. Raises as a ledger and a model do."""
        from hive_mind.runtime.runs.run_calls import RunCalls

        async with self._opening:
            keeper = self._keeper or await self._opened()
        return RunCalls(keeper, keeper.parts.toolbox_of("", keeper.parts.files("", "")), self.watch)

    async def events(self, since: int) -> AsyncIterator[bytes]:
        """The events in them behind this position. Raises as a ledger does."""
        from hive_mind.runtime.runs.event_streams import events_of

        return events_of((await self.calls()).ledger, since)

    @asynccontextmanager
    async def desk(self) -> AsyncIterator["LedgerDesk | None"]:
        """Where people decide what this agent asks; None where it never asked anything. Raises what a ledger raises."""
        from hive_mind.agents.desk import LedgerDesk

        if self._ledger is None and not (self._is_kept and ledger_path(self._settings, self._agent.name).exists()):
            yield None
            return
        ledger = self._ledger or await self._open_ledger()
        try:
            desk = LedgerDesk(ledger)
            await desk.expire()
            yield desk
        finally:
            if ledger is not self._ledger:
                await ledger.close()

    @property
    def desk_agent(self) -> str:
        return self._config.review.desk.agent or self._agent.name

    async def reply(self, token: str, by: str, because: str, text: str) -> tuple["How", "Item"]:
        """The decision and the item that a link is about; taken, where `by` says who replies.

        Raises `TokenRefused`, `InvalidInput` for an answer without a text, and what a ledger raises.
        """
        from hive_mind.agents.desk import LedgerDesk, key_of
        from hive_mind.agents.replies import KEY, decision_of, over, refuse_over, reply_of
        from hive_mind.clocks import wall_clock_ms

        await self.calls()
        assert self._ledger is not None  # noqa: S101 - it is open with the runs
        now_ms, desk = wall_clock_ms(), LedgerDesk(self._ledger)
        reply = reply_of(await key_of(self._ledger, KEY, now_ms), token)
        view = refuse_over(reply, await desk.view(reply.item), now_ms)
        if by and not await desk.decide(decision_of(reply, by, because, text)):
            raise over()
        return reply.how, view.item

    async def hook(self, name: str, inputs: dict[str, object], id: str) -> str | None:
        """The run that a hook of this name begins; None where this agent has none such."""
        await self.calls()
        return await self._triggers.called(name, inputs, id) if self._triggers else None

    async def close(self) -> None:
        """Stop where each run is. Closing twice is fine."""
        if self.watch is not None:
            await self.watch.close()
        if self._triggers is not None:
            await self._triggers.close()
        if self.notices is not None:
            await self.notices.close()
        if self._keeper is not None:
            await self._keeper.close()
        if self._post is not None:
            self._post.cancel()
            await asyncio.wait([self._post])
        await self._stack.aclose()
        if self._ledger is not None:
            await self._ledger.close()

    @property
    def _is_kept(self) -> bool:
        return self._settings.store != "memory"

    async def _opened(self) -> "RunKeeper":
        from hive_mind.agents.judging.hybrid_judge import run_judge
        from hive_mind.agents.judging.model_judge import JudgeModels
        from hive_mind.agents.runs.shared_values import RegistryValues
        from hive_mind.runs.graphs.spec import WorkerSpec
        from hive_mind.runtime.runs.health_watch import HealthWatch, queens_tools
        from hive_mind.runtime.runs.notifying import DeskNotices
        from hive_mind.runtime.runs.run_keeper import RunKeeper
        from hive_mind.runtime.runs.triggers import Triggers
        from hive_mind.runtime.workers.runs import allowed, run_parts, served_tools

        config, agent, model_name = self._agent_config, self._agent, self._agent_config.model or self._settings.llm
        ledger = self._ledger = await self._open_ledger()
        models = JudgeModels(self._model, self._settings.llm_retry, self._settings.token_budget)
        judge = await run_judge(self._config.review, ledger, models, model_name, self._member)
        model = await self._model(model_name) if model_name else None
        tools = queens_tools(self._config.watch, self._settings, agent.name, ledger)
        served = await served_tools(self._servers(), self._stack)
        parts = run_parts(self._settings, agent.name, agent.memory, agent.reader, ledger, model, (*tools, *served))
        worker = WorkerSpec.model_validate(config.worker) if config.worker else None
        shared = RegistryValues(agent.name, self._member) if self._member is not None else None
        parts = replace(parts, judge=judge, fleet_values=shared, hidden=self._hidden)
        keeper = RunKeeper(allowed(parts, config.tools), worker)
        await keeper.open()
        watch = self.watch = HealthWatch(
            self._config.watch, self._settings, agent.name, ledger, keeper, self._member, Path(self._config.run)
        )
        watch.begin()
        if self._config.notify.is_on and self.desk_agent == agent.name:
            self.notices = DeskNotices(self._config.notify, self._settings, agent.name, ledger)
            self.notices.begin()
        if config.triggers:
            self._triggers = Triggers(config.triggers, keeper)
            self._triggers.begin()
        if self._posts and self._member is not None and self._config.review.desk.agent:
            self._post = asyncio.create_task(self._carry(ledger, self._member), name=f"questions of the runs of {agent.name}")
        self._keeper = keeper
        return keeper

    def _servers(self) -> Iterator["McpServer"]:
        """Those that its worker names: nobody else's processes are started for it."""
        from hive_mind.tools.base import McpServer

        worker_path = str(self._agent_config.worker)
        for config in self._config.mcp:
            if f"mcp:{config.name}/" in worker_path:
                yield McpServer(config.name, config.command, config.url, config.env, config.idempotent)

    async def _open_ledger(self) -> Ledger:
        return await shared_ledger(self._settings, self._agent.name)

    async def _carry(self, ledger: Ledger, member: RunningMember) -> None:
        from hive_mind.agents.judging.reviewing import run_desk

        while True:
            try:
                await run_desk(self._agent.name, self._config.review.desk, ledger, member)
            except* HiveError as failed:
                _log.error("%s: what its runs ask can't be carried to the desk: %s", self._agent.name, failed.exceptions[0])
            await asyncio.sleep(_AGAIN_S)
