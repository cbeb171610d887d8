"""The host of a worker: its agents with their readers, sources, runs and judges, and the language models that they share.

References of the configuration are resolved here, when the worker starts; their values are nowhere shown.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from hive_mind import backends
from hive_mind.agents.agent import LearningAgent
from hive_mind.api.request import REQUEST_BYTES_MAX
from hive_mind.bus import EventBus
from hive_mind.bus.address import address_of
from hive_mind.cognition import Reader
from hive_mind.cognition.budget import Budget
from hive_mind.credentials.redaction import Redaction
from hive_mind.embed import Embedder
from hive_mind.errors import InvalidInput
from hive_mind.hive.topology.spec import is_shared
from hive_mind.llm.base import LanguageModel
from hive_mind.memory.base import Memory
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.memory.distributed import DistributedCognitiveMemory
from hive_mind.runtime.buses import open_buses
from hive_mind.runtime.members.host import Host
from hive_mind.runtime.members.member import RunningMember
from hive_mind.runtime.secrets import RedactingModel, resolved_here
from hive_mind.runtime.settings import LOCK_WAIT_S, Settings, database_path
from hive_mind.runtime.wiring import asking_reader, open_embedder, open_model, quoting_reader, shared_ledger, vector_arms
from hive_mind.runtime.workers.agent_runs import AgentRuns
from hive_mind.runtime.workers.agents import WorkerAgent
from hive_mind.runtime.workers.config import AgentConfig, McpConfig, ModelsConfig, WorkerConfig
from hive_mind.runtime.workers.sources_learned import LearnedSources

if TYPE_CHECKING:
    from hive_mind.agents.judging.reviewing import Reviewing


def with_values(config: WorkerConfig) -> WorkerConfig:
    """The configuration with its references resolved, not to be shown. Raises `ConfigError`, also for back ends there are not."""
    models, bus, home = config.models, config.bus, Path(config.home)
    worker_config = msgspec.structs.replace(
        config,
        bus=replace(bus, **_values(bus, home, "url", "searches", "credential", "searches_credential")),
        models=replace(models, **_values(models, home, "embed_url", "embed_key", "llm_url", "llm_key")),
        mcp=tuple(_served(mcp_config, home) for mcp_config in config.mcp),
        agents=tuple(_agent(agent, home) for agent in config.agents),
    )
    settings, models = settings_of(worker_config), ModelsConfig()
    backends.load("store", settings.store)
    if settings.embed != models.embed:
        backends.load("embed", settings.embed)
    vector_arms(settings)
    if worker_config.review.rules:
        from hive_mind.agents.judging.rules_at_work import rules_of

        rules_of(worker_config.review)
    placed = [name for node in worker_config.nodes for name in node.agents]
    names = {agent.name for agent in worker_config.agents}
    if len(names) < len(worker_config.agents) or sorted(placed) != sorted(names):
        raise InvalidInput("each agent of a worker has a name of its own and belongs to one of its nodes")
    for name in names:
        database_path(settings, name)
    if is_shared(worker_config.hive.topology):
        backends.load("bus", address_of(worker_config.bus.url).backend)
    return worker_config


def settings_of(config: WorkerConfig) -> Settings:
    models = asdict(config.models)
    # Keys are references, and resolved where they are used.
    del models["embed_key"], models["llm_key"]
    models["embed_model"] = models["embed_model"] or Settings().embed_model
    return Settings(home=Path(config.home), lock_wait_s=LOCK_WAIT_S, **models)


async def open_embedder_of(config: WorkerConfig) -> Embedder:
    """The embedder of all its agents. Raises `ConfigError`."""
    return await open_embedder(settings_of(config), config.models.embed_key)


async def open_bus_of(config: WorkerConfig) -> EventBus:
    """The bus of all its nodes. Raises `ConfigError` or `BackendError`."""
    bus, folder = config.bus, Path(config.home) / "hives" / config.hive.id
    return await open_buses(bus.url, bus.searches, folder, config.process, bus.credential, bus.searches_credential)


NewAgent = Callable[..., WorkerAgent]
"""Made like `WorkerAgent`."""


@dataclass(frozen=True, slots=True)
class Hosting:
    """How a worker opens what its configuration names, and what its agents can be asked.

    A process that measures its agents embeds nothing, counts what its bus carries, and answers more and larger requests.
    One that a person started ends with what it lacks; `gives_up_s`: how long it waits for its hive, None for as long as it runs.
    """

    embedder: Callable[[WorkerConfig], Awaitable[Embedder]] = open_embedder_of
    bus: Callable[[WorkerConfig], Awaitable[EventBus]] = open_bus_of
    agent: NewAgent = WorkerAgent
    request_bytes_max: int = REQUEST_BYTES_MAX
    gives_up_s: float | None = None


ORDINARY = Hosting()


class WorkerHost(Host[WorkerAgent]):
    """`config` has its values, which `hidden` takes out of what is kept. Each model is opened once, when it is first needed."""

    def __init__(self, config: WorkerConfig, embedder: Embedder, hidden: Redaction, new_agent: NewAgent) -> None:
        super().__init__(settings_of(config), embedder)
        self.owns(embedder)
        self.config, self._hidden, self._new_agent = config, hidden, new_agent
        self._models: dict[str, asyncio.Task[LanguageModel]] = {}
        self.notices: tuple[str, ...] = ()
        if embedder.dimension == 0 and self.settings.embed != "none":
            self.notices = (f"keyword search only: the embedding model {self.settings.embed_model!r} can't be had; see the log",)

    async def open_agent(self, config: AgentConfig) -> WorkerAgent:
        """An agent that is not awake yet. Raises `ConfigError` or `BackendError` where its language model can't be had."""
        node = self.nodes.get(next(node.name for node in self.config.nodes if config.name in node.agents))
        memory = self.memory_of(config.name, node, self.config.ranking)
        local = memory if isinstance(memory, CognitiveMemory) else memory.local
        learner = LearningAgent(config.name, memory, await self._reader(config, local))
        database = database_path(self.settings, config.name)
        is_kept = self.settings.store != "memory"
        sources = LearnedSources(database.with_name("sources.json") if is_kept else None, config.roots)
        runs = AgentRuns(self.config, config, self.settings, learner, node, self._model, self._hidden)
        reviewing = self._reviewing(config.name, memory, node)
        agent = self.agents[config.name] = self._new_agent(config, learner, node, sources, reviewing, runs, is_kept=is_kept)
        return agent

    async def close(self) -> None:
        for opening in self._models.values():
            await asyncio.wait([opening])
        await super().close()

    def _reviewing(self, agent: str, memory: Memory, node: RunningMember | None) -> "Reviewing | None":
        if self.config.review.facts == "off" or node is None or not isinstance(memory, DistributedCognitiveMemory):
            return None
        from hive_mind.agents.judging.model_judge import JudgeModels
        from hive_mind.agents.judging.reviewing import Reviewing

        models = JudgeModels(self._model, self.settings.llm_retry, self.settings.token_budget)
        return Reviewing(self.config.review, agent, memory, node, partial(shared_ledger, self.settings, agent), models)

    async def _reader(self, config: AgentConfig, local: CognitiveMemory) -> Reader:
        name = config.model or self.settings.llm
        if not name:
            return quoting_reader(self.settings)
        model = await self._model(name)
        return asking_reader(self.settings, model, Budget(self.settings.token_budget), local, config.prompt)

    async def _model(self, name: str) -> LanguageModel:
        if name not in self._models or (self._models[name].done() and self._models[name].exception()):
            self._models[name] = asyncio.create_task(self._open_model(name))
        return await asyncio.shield(self._models[name])

    async def _open_model(self, name: str) -> LanguageModel:
        model = await open_model(replace(self.settings, llm=name), self.config.models.llm_key)
        self.owns(model)
        return RedactingModel(model, self._hidden)


def _served(server: McpConfig, home: Path) -> McpConfig:
    env = {name: resolved_here(value, home=home) for name, value in server.env.items()}
    return replace(server, env=env, url=resolved_here(server.url, home=home))


def _agent(agent: AgentConfig, home: Path) -> AgentConfig:
    triggers = tuple(msgspec.structs.replace(trigger, **_values(trigger, home, "token")) for trigger in agent.triggers)
    return msgspec.structs.replace(agent, **_values(agent, home, "prompt"), triggers=triggers)


def _values(part: object, home: Path, *fields: str) -> dict[str, Any]:
    return {field: resolved_here(getattr(part, field), home=home) for field in fields}
