"""The runs of an agent of a fleet, as its worker process has them: opened when they are needed, and closed with the agent.

Their questions to people lie in the agent's ledger. In a fleet with one desk they lie there, too; in a judged fleet the fact
judge carries them to and fro, else it is done here.

An agent that has no runs never loads their modules: half of the memory of a worker process.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hive_mind.agents.agent import LearningAgent
from hive_mind.credentials.redaction import Redaction
from hive_mind.ledger import Ledger
from hive_mind.llm.base import LanguageModel
from hive_mind.runtime.members.member import RunningMember
from hive_mind.runtime.process_identity import Identity, is_running
from hive_mind.runtime.secrets import resolved_here
from hive_mind.runtime.settings import Settings, environment_without_secrets, ledger_path, secret
from hive_mind.runtime.wiring import open_ledger, shared_ledger
from hive_mind.runtime.workers import contact_in
from hive_mind.runtime.workers.config import AgentConfig, WorkerConfig

if TYPE_CHECKING:
    from hive_mind.agents.desk import LedgerDesk
    from hive_mind.agents.notices import How, Notices
    from hive_mind.agents.runs.health_watch import HealthWatch
    from hive_mind.agents.runs.run_keeper import RunKeeper, Triggers
    from hive_mind.judge.items import Item

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
        self.notices: Notices | None = None
        """Of what waits at its desk, if anybody gets some, who is the `recipient`."""
        self.recipient: str | tuple[str, ...] = ()
        self._opening = asyncio.Lock()
        self._stack = AsyncExitStack()

    @property
    def trouble(self) -> str:
        stopped = [f"run {run} can't go on: {why}" for run, why in self._keeper.troubles.items()] if self._keeper else []
        troubles = [service.trouble for service in (self._triggers, self.watch) if service is not None and service.trouble]
        return next(iter((*stopped, *troubles)), "")

    @property
    def under_way(self) -> int:
        return len(self._keeper.under_way) if self._keeper else 0

    async def open_if_any(self) -> None:
        """Take up what has not ended, where the agent has a worker or ever had a run. Raises what a ledger raises."""
        has_desk = (self._config.notify.is_on or self._posts) and self._agent.name == self._config.review.desk.agent
        if self._agent_config.worker or self._duties or has_desk or self._has_ledger:
            await self.calls()

    async def calls(self) -> "RunKeeper":
        """Its runs, for requests about them. Raises as a ledger and a model do."""
        async with self._opening:
            if self._keeper is None:
                async with AsyncExitStack() as stack:
                    self._keeper = await self._opened(stack)
                    self._stack = stack.pop_all()
            return self._keeper

    async def queen_told(self, text: str, by: str, order: Mapping[str, Any]) -> dict[str, Any]:
        """A queen's reply. Raises `InvalidInput` where this agent is none."""
        await self.calls()
        assert self.watch is not None  # noqa: S101 - it is there with the runs
        return await self.watch.told(text, by, order)

    @asynccontextmanager
    async def desk(self) -> AsyncIterator["LedgerDesk | None"]:
        """Where people decide what this agent asks; None where it never asked anything. Raises what a ledger raises."""
        from hive_mind.agents.desk import LedgerDesk

        async with AsyncExitStack() as stack:
            ledger = self._keeper.parts.ledger if self._keeper else None
            if ledger is None and self._has_ledger:
                ledger = await shared_ledger(self._settings, self._agent.name)
                stack.push_async_callback(ledger.close)
            desk = LedgerDesk(ledger) if ledger else None
            if desk:
                await desk.expire()
            yield desk

    @property
    def desk_agent(self) -> str:
        return self._config.review.desk.agent or self._agent.name

    async def reply(self, token: str, by: str, because: str, text: str) -> tuple["How", "Item"]:
        """The decision and the item that a link is about; taken, where `by` says who replies.

        Raises `TokenRefused`, `InvalidInput` for an answer without a text, and what a ledger raises.
        """
        from hive_mind.agents.desk import LedgerDesk, key_of
        from hive_mind.agents.notices import KEY, decision_of, over, refuse_over, reply_of
        from hive_mind.clocks import wall_clock_ms

        ledger, now_ms = (await self.calls()).parts.ledger, wall_clock_ms()
        desk, reply = LedgerDesk(ledger), reply_of(await key_of(ledger, KEY, now_ms), token)
        view = refuse_over(reply, await desk.view(reply.item), now_ms)
        if by and not await desk.decide(decision_of(reply, by, because, text)):
            raise over()
        return reply.how, view.item

    async def hook(self, name: str, inputs: dict[str, object], id: str) -> str | None:
        """The run that a hook of this name begins; None where this agent has none such."""
        await self.calls()
        return await self._triggers.called(name, inputs, id) if self._triggers else None

    async def close(self) -> None:
        """Stop where each run is; what is just opened, once it is. Closing twice is fine."""
        async with self._opening:
            await self._stack.aclose()

    @property
    def _duties(self) -> tuple[str, ...]:
        duties = (("watcher", self._config.watch.watcher), ("queen", self._config.watch.queen))
        return tuple(duty for duty, agent in duties if agent == self._agent.name)

    @property
    def _has_ledger(self) -> bool:
        return self._settings.store != "memory" and ledger_path(self._settings, self._agent.name).exists()

    async def _opened(self, stack: AsyncExitStack) -> "RunKeeper":
        from hive_mind.agents.desk import LedgerDesk
        from hive_mind.agents.judging.hybrid_judge import run_judge
        from hive_mind.agents.judging.model_judge import JudgeModels
        from hive_mind.agents.runs.executor import stopped
        from hive_mind.agents.runs.fleet_tools import FleetDirectory, fleet_tools
        from hive_mind.agents.runs.health_watch import HealthWatch
        from hive_mind.agents.runs.run_keeper import RunKeeper, Triggers
        from hive_mind.agents.runs.shared_values import RegistryValues
        from hive_mind.runs.spec import WorkerSpec
        from hive_mind.runtime.workers.runs import allowed, open_parts
        from hive_mind.tools import McpServer

        config, agent, model_name = self._agent_config, self._agent, self._agent_config.model or self._settings.llm
        ledger = await shared_ledger(self._settings, agent.name)
        stack.push_async_callback(ledger.close)
        models = JudgeModels(self._model, self._settings.llm_retry, self._settings.token_budget)
        judge = await run_judge(self._config.review, ledger, models, model_name, self._member)
        model = await self._model(model_name) if model_name else None
        # Those that its worker names: nobody else's processes are started for it.
        named = [server for server in self._config.mcp if f"mcp:{server.name}/" in str(config.worker)]
        servers = [McpServer(server.name, server.command, server.url, server.env, server.idempotent) for server in named]
        fleet = FleetDirectory(agent.name, LedgerDesk(ledger), self._opened_of, self._config.watch.agents)
        tools = fleet_tools(fleet) if "queen" in self._duties else ()
        parts = await open_parts(self._settings, agent, ledger, judge, stack, model=model, tools=tools, mcp=servers)
        shared = RegistryValues(agent.name, self._member) if self._member is not None else None
        parts = allowed(replace(parts, fleet_values=shared, hidden=self._hidden), config.tools)
        keeper = RunKeeper(parts, WorkerSpec.model_validate(config.worker) if config.worker else None)
        stack.push_async_callback(keeper.close)
        await keeper.open()
        dead = partial(self._member.dead, self._is_running_here) if self._member else tuple
        self.watch = HealthWatch(self._config.watch, self._duties, fleet, keeper, dead)
        self._triggers = Triggers(config.triggers, keeper)
        for service in (self._triggers, self.watch):
            service.begin()
            stack.push_async_callback(service.close)
        stack.push_async_callback(stopped, self._begun_at_desk(ledger))
        return keeper

    def _begun_at_desk(self, ledger: Ledger) -> list["asyncio.Task[None]"]:
        """Send notices of what waits at the desk, and carry what its runs ask there. Raises `InvalidInput` and `ConfigError`."""
        from hive_mind.agents.judging.reviewing import run_desk
        from hive_mind.agents.notices import REPLIES, Notices, delivery
        from hive_mind.agents.runs.executor import kept_up

        agent, notify, at, tasks = self._agent.name, self._config.notify, self._config.review.desk, list[asyncio.Task[None]]()
        if notify.is_on and self.desk_agent == agent:
            url, link, *words = (
                resolved_here(text, home=self._settings.home) for text in (notify.url, notify.link, *notify.command)
            )
            self.recipient, link = url or tuple(words), f"{link.rstrip('/')}{REPLIES}/{agent}" if link else ""
            deliver = delivery(self.recipient, secret("HOOK_SECRET"), environment_without_secrets())
            self.notices = Notices(ledger, deliver, link=link, hours=notify.hours)
            following = kept_up(self.notices.follow, f"{agent}: notices can't be sent")
            tasks.append(asyncio.create_task(following, name=f"notices of {agent}"))
        if self._posts and self._member is not None and at.agent:
            carry = partial(run_desk, agent, at, ledger, self._member)
            carrying = kept_up(carry, f"{agent}: what its runs ask can't be carried to the desk")
            tasks.append(asyncio.create_task(carrying, name=f"questions of the runs of {agent}"))
        return tasks

    async def _opened_of(self, agent: str) -> Ledger | None:
        """The ledger of an agent of this home folder, shared; None where it has none."""
        if not ledger_path(self._settings, agent).exists():
            return None
        return await open_ledger(self._settings, agent, is_shared=True)

    def _is_running_here(self, process: str) -> bool:
        """Whether the process that said last how to reach it is on this machine now."""
        contact = contact_in(Path(self._config.run) / f"{process}.json")
        return contact is not None and is_running(Identity(contact.pid, contact.started))
