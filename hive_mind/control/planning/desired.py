"""The settings of each part, of the sections of a manifest that inherit from them; and what depends on more than one section.

The desired processes: one configuration each, made from the manifest, what is remembered, and the sources as they are now.

Also decides whether facts have to move: nodes join and leave a hive while it runs, but its foundation (its topology, its
groups, its copies) holds until another one is founded from its journals, which is the next generation. References stay as they
are, but for files, which are named from everywhere.
"""

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec

from hive_mind.control.manifests import (
    Agent,
    HiveManifest,
    IdentityMode,
    ManifestSection,
    Mcp,
    Spec,
    Trigger,
)
from hive_mind.control.manifests.bus_checking import is_elsewhere
from hive_mind.control.manifests.expansion import expanded, names_of
from hive_mind.control.manifests.sources import roots_of
from hive_mind.control.planning.allocation import Allocation, Hives, allocate, founders_of, why_to_move
from hive_mind.control.platforms import Running
from hive_mind.control.state import FleetState
from hive_mind.errors import InvalidInput
from hive_mind.hive.membership import MembershipSettings
from hive_mind.hive.policy.node_policy import ExpirySettings, PolicySettings
from hive_mind.hive.query import ScatterSettings
from hive_mind.hive.replication import GossipSettings
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.topology.spec import SINGLE, is_shared, reads
from hive_mind.hive.trust.trust_book import TrustSettings
from hive_mind.judge.judgment import DeskConfig, ModelReviewConfig, ReviewConfig
from hive_mind.memory.gate import PromotionSettings
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.regex import regex
from hive_mind.runs import TriggerConfig
from hive_mind.runtime.settings import DEFAULT_EMBEDDING_MODEL
from hive_mind.runtime.workers.config import (
    QUOTA_OF_THE_PROVEN,
    STOP_TIMEOUT_S,
    AgentConfig,
    BusConfig,
    HiveConfig,
    IdentityConfig,
    McpConfig,
    ModelsConfig,
    NodeConfig,
    NotifyConfig,
    SeenConfig,
    SourceConfig,
    WatchConfig,
    WorkerConfig,
)

Tuned = TypeVar("Tuned")


def tuning(spec: Spec, quota_per_agent: int) -> HiveSettings:
    """How nodes behave; `quota_per_agent` where the manifest says nothing of it."""
    standing = PolicySettings(
        moderators=_moderators(spec),
        quota_per_agent=spec.trust.quota_per_agent or quota_per_agent,
        expiry=filled(ExpirySettings, spec.lifecycle),
        trust=filled(TrustSettings, spec.trust),
    )
    gossip, scatter = filled(GossipSettings, spec.gossip), filled(ScatterSettings, spec.retrieval)
    return filled(HiveSettings, spec.lifecycle, standing=standing, gossip=gossip, scatter=scatter)


def desk_of(spec: Spec) -> str:
    return spec.judge.desk or spec.queen.agent or names_of(spec.agents[0])[0]


def review(spec: Spec, nodes: Mapping[str, str]) -> ReviewConfig:
    """The judges of facts that leave home, and of runs; `nodes` are those of the agents. Without a judge no desk is needed."""
    # Questions of runs, and tickets about them, go to the queen's.
    desk = desk_of(spec) if bool(spec.judge.facts != "off" or spec.queen.agent or spec.judge.desk) else ""
    rules = tuple(rule.model_dump(mode="json", by_alias=True) for rule in spec.rules)
    at = DeskConfig(desk, nodes.get(desk, ""))
    return filled(ReviewConfig, spec.judge, rules=rules, desk=at, model=_judging_model(spec))


def watch(spec: Spec, agents: Iterable[str]) -> WatchConfig:
    """The watch over runs; `here`: the agents of a process, which learns of the others only if it has to look at them."""
    health, queen = spec.health, spec.queen.agent
    if not {health.agent, queen} & set(agents) - {""}:
        return WatchConfig()
    domains = {name: tuple(filter(None, (agent.domain,))) for agent in spec.agents for name in names_of(agent)}
    return filled(WatchConfig, health, watcher=health.agent, queen=queen, agents=domains)


def models(spec: Spec) -> ModelsConfig:
    """Back ends. Where nothing is embedded, nothing is said of how."""
    embedding = spec.embedding
    kinds = {"store": spec.store, "embed": embedding.kind, "ann": embedding.index, "answering": spec.answering}
    config = filled(ModelsConfig, embedding, spec.llm, **kinds)
    is_remote, model = embedding.kind == "openai", embedding.embed_model or DEFAULT_EMBEDDING_MODEL
    return replace(
        config,
        embed_model=model if embedding.kind != "none" else "",
        embed_url=config.embed_url if is_remote else "",
        embed_key=config.embed_key if is_remote else "",
    )


def _moderators(spec: Spec) -> tuple[str, ...]:
    """Where facts are judged, the desk is one, too: rules that people approve hold for all, and so does what they find wrong."""
    desk = {desk_of(spec)} if spec.judge.facts != "off" or spec.judge.desk else set()
    return tuple(sorted({*spec.trust.moderators, *desk}))


def _judging_model(spec: Spec) -> ModelReviewConfig:
    """The fleet's model judges facts; runs are judged by that of their agent, where none is named for judging."""
    judge = spec.judge
    return filled(ModelReviewConfig, judge, name=judge.name or (spec.llm.llm if judge.facts == "model" else ""))


def filled(kind: Callable[..., Tuned], *sections: ManifestSection, **values_given: object) -> Tuned:
    """Settings with the values of these sections' fields of the same names, and these others."""
    names = _names(kind)
    values = {name: getattr(section, name) for section in sections for name in names & type(section).model_fields.keys()}
    return kind(**values | values_given)


@cache
def _names(kind: Callable[..., object]) -> frozenset[str]:
    return frozenset(inspect.signature(kind).parameters)


Sources = Mapping[str, tuple[SourceConfig, ...]]
"""Files to learn by agent."""

"""Where agents are known, none needs more for long; a name that anybody may invent would make a limit pointless."""
_NO_RUNNING: Mapping[str, Running] = MappingProxyType({})
# `$${` stands for `${` itself.
_FILE = regex(r"(?<!\$)\$\{file:(?!/)([^{}]+)\}")


@dataclass(frozen=True, slots=True)
class Desired:
    """The desired state. `hive` is stored before anything starts: processes have the same one from then on."""

    fleet: str
    processes: Mapping[str, WorkerConfig]
    generation: int
    hive: HiveConfig
    allocation: Allocation
    moves: tuple[str, ...] = ()
    """Why facts have to move, in clauses; empty where they need not."""
    needs_redis: bool = False
    """Whether processes need the private Redis server of the fleet."""
    stop_timeout_s: float = STOP_TIMEOUT_S

    @property
    def move(self) -> bool:
        return bool(self.moves)

    @property
    def attached(self) -> dict[str, str]:
        return self.allocation.attached


def desired(
    manifest: HiveManifest,
    folder: object,
    home: object,
    state: FleetState,
    sources: Sources,
    *,
    running: Mapping[str, Running] = _NO_RUNNING,
    run: str = "",
) -> Desired:
    """`folder` is that of the manifest, `home` that of everything kept; both absolute paths. Raises `ManifestError`.

    `running`, where something may run: in which groups agents are, and which members nobody runs any more. `run`: where workers
    say where they are, if not in the fleet's folder.
    """
    agents = expanded(manifest, _groups_before(state, running))
    allocation = allocate(agents, manifest, state.allocation)
    identity = _identity(manifest, state)
    config = _hive(manifest, agents, allocation, state, identity)
    moves = why_to_move(Hives(state, config, allocation, running))
    generation = state.generation + 1 if moves else state.generation
    next_hive = _hive(manifest, agents, allocation, msgspec.structs.replace(state, generation=generation), identity)
    hive = next_hive if moves or state.hive is None else state.hive
    bus, needs_redis = _bus(manifest, allocation, str(folder), f"{home}/fleets/{manifest.metadata.name}", state.redis_port)
    judge, left = review(manifest.spec, allocation.attached), frozenset(state.left if not moves else ())
    every = _Shared(manifest, str(folder), sources, hive, left, judge, bus, str(home), run, identity)
    processes = {name: every.process(name, nodes, agents) for name, nodes in allocation.processes.items()}
    return Desired(
        fleet=manifest.metadata.name,
        processes=processes,
        generation=generation,
        hive=hive,
        allocation=allocation,
        moves=moves,
        needs_redis=needs_redis,
        stop_timeout_s=manifest.spec.platform.stop_timeout_s,
    )


def hive_id(fleet: str, generation: int) -> str:
    return fleet if generation == 1 else f"{fleet}.g{generation}"


@dataclass(frozen=True, slots=True)
class _Shared:
    """The configuration that all processes share."""

    manifest: HiveManifest
    folder: str
    sources: Sources
    hive: HiveConfig
    left: frozenset[str]
    review: ReviewConfig
    bus: BusConfig
    home: str
    run: str
    identity: IdentityMode

    def process(self, name: str, nodes: Mapping[str, tuple[str, ...]], agents: Iterable[Agent]) -> WorkerConfig:
        agent_names = {agent for names in nodes.values() for agent in names}
        specs = sorted((agent for agent in agents if agent.name in agent_names), key=lambda agent: agent.name)
        spec, fleet = self.manifest.spec, self.manifest.metadata.name
        config = models(self.manifest.spec)
        model = f"{self.folder}/{config.embed_model}" if config.embed_model.startswith(("./", "../")) else config.embed_model
        embed_key, llm_key = map(self._seen_from_here, (config.embed_key, config.llm_key))
        url, link, *command = map(self._seen_from_here, (spec.notify.url, spec.notify.link, *spec.notify.command))
        return WorkerConfig(
            fleet=fleet,
            process=name,
            home=self.home,
            run=self.run or f"{self.home}/fleets/{fleet}/run",
            hive=self.hive,
            nodes=tuple(self._node(node, names, specs) for node, names in nodes.items()),
            agents=tuple(self._agent(agent) for agent in specs),
            bus=self.bus,
            models=replace(config, embed_model=model, embed_key=embed_key, llm_key=llm_key),
            gate=filled(
                PromotionSettings, spec.promotion, allowed_instructions=tuple(sorted(spec.promotion.allowed_instructions))
            ),
            review=self.review,
            watch=watch(spec, agent_names),
            notify=NotifyConfig(url, tuple(command), link, spec.notify.hours),
            mcp=tuple(self._mcp(mcp) for mcp in spec.mcp),
            tuning=tuning(spec, self.hive.quota_per_agent),
            membership=filled(MembershipSettings, spec.gossip),
            ranking=filled(RankingSettings, spec.retrieval, refine_within_ms=spec.retrieval.deadline_ms),
            domain_routing=spec.topology.domain_routing,
            ask_deadline_ms=spec.retrieval.deadline_ms,
            seen=filled(SeenConfig, spec.observability),
            identity=IdentityConfig()
            if self.identity == "off"
            else IdentityConfig(self.identity, f"{self.home}/fleets/{fleet}/keys", encryption=spec.identity.encryption),
            env={key: self._seen_from_here(value) for agent in specs[:1] for key, value in sorted(agent.env.items())},
        )

    def _mcp(self, server: Mcp) -> McpConfig:
        env = {name: self._seen_from_here(value) for name, value in sorted(server.env.items())}
        url = self._seen_from_here(server.url)
        return McpConfig(server.name, tuple(server.command), url, env, tuple(server.idempotent))

    def _node(self, name: str, names: tuple[str, ...], agents: Iterable[Agent]) -> NodeConfig:
        is_joining = self.hive.topology != SINGLE and (name not in founders_of(self.hive) or name in self.left)
        return NodeConfig(name, names, next((agent.group for agent in agents if agent.name in names), ""), is_joining)

    def _agent(self, agent: Agent) -> AgentConfig:
        return AgentConfig(
            name=agent.name,
            domain=agent.domain,
            group=agent.group,
            prompt=self._seen_from_here(agent.prompt),
            model=agent.model,
            sources=self.sources.get(agent.name, ()),
            roots=roots_of(agent.sources, self.folder),
            worker=worker_with(agent.worker, agent.limits.model_dump(exclude_none=True)),
            tools=tuple(agent.tools),
            triggers=tuple(triggers(agent.triggers, self._seen_from_here)),
            sleep_after_s=agent.resources.sleep_after_s,
            memory_mb=agent.resources.memory_mb or 0,
            cpu=agent.resources.cpu or 0.0,
        )

    def _seen_from_here(self, text: str) -> str:
        return files_from(self.folder, text)


def _identity(manifest: HiveManifest, state: FleetState) -> IdentityMode:
    """The mode given; else the former one; else the one for a new fleet whose bus can be reached from other machines."""
    spec = manifest.spec
    if spec.topology.kind == SINGLE:
        return "off"
    if spec.identity.mode is not None:
        return spec.identity.mode
    if state.hive is not None and state.hive.topology != SINGLE:
        return "require" if state.hive.is_sealed else "off"
    return "require" if is_elsewhere(spec.bus.url) else "off"


def _quota(state: FleetState, identity: IdentityMode) -> int:
    """Facts each agent may share where the manifest says nothing: few in a new fleet that knows its agents; else as it was."""
    if state.hive is not None:
        return state.hive.quota_per_agent
    return QUOTA_OF_THE_PROVEN if identity == "require" else HiveConfig("").quota_per_agent


def _hive(
    manifest: HiveManifest, agents: Iterable[Agent], allocation: Allocation, state: FleetState, identity: IdentityMode
) -> HiveConfig:
    """The hive as it would be founded now. Settings without a meaning in its topology stay at their defaults."""
    topology, id = manifest.spec.topology, hive_id(manifest.metadata.name, state.generation)
    group_of, founders = {agent.name: agent.group for agent in agents}, dict[str, tuple[str, ...]]()
    common: dict[str, Any] = {"is_sealed": identity == "require", "quota_per_agent": _quota(state, identity)}
    for node, process in sorted(allocation.nodes.items()):
        group = next((group_of[agent] for agent in allocation.processes[process][node]), "")
        founders[group] = (*founders.get(group, ()), node)
    if not is_shared(topology.kind):
        return HiveConfig(id, topology.kind)
    domains = {group.name: tuple(sorted(set(group.domain))) for group in topology.groups if group.domain}
    domains_by_group = {group: words for group, words in sorted(domains.items()) if group in founders}
    settings = {"domains": domains_by_group, "broadcast_threshold": topology.broadcast_threshold, "replicas": topology.replicas}
    common |= {setting: value for setting, value in settings.items() if reads(topology.kind, setting)}
    return HiveConfig(id, topology.kind, founders, **common)


def _bus(manifest: HiveManifest, allocation: Allocation, folder: str, fleet: str, port: int) -> tuple[BusConfig, bool]:
    """The message bus, and whether it is a server of the fleet's own; `fleet` is its folder."""
    bus, is_alone = manifest.spec.bus, manifest.spec.platform.kind == "inprocess"
    if manifest.spec.topology.kind == SINGLE:
        return BusConfig(), False
    if bus.url:
        texts = (bus.url, bus.searches, bus.credential, bus.searches_credential)
        return BusConfig(*(files_from(folder, text) for text in texts)), False
    if manifest.spec.platform.kind == "compose":
        # Its own Redis, where it needs one, is its own business.
        return BusConfig(), False
    # Of two processes one may still have to leave when there is to be only one: they go on meeting where they met.
    if is_alone or (len(allocation.processes) == 1 and not port):
        return BusConfig(), False
    return BusConfig(f"redis://127.0.0.1:{port}/0", credential=_file(f"{fleet}/redis/password")), True


def _groups_before(state: FleetState, running: Mapping[str, Running]) -> dict[str, str]:
    """The group of each agent: where it runs, or else where the hive was founded with it."""
    founded = founders_of(state.hive)
    groups = {
        agent: founded[node]
        for nodes in state.allocation.values()
        for node, agents in nodes.items()
        for agent in agents
        if node in founded
    }
    # A process with the settings of a former generation says nothing of this one.
    present = [
        process.config
        for process in running.values()
        if process.config and state.hive and process.config.hive.id == state.hive.id
    ]
    return groups | {agent.name: agent.group for config in present for agent in config.agents}


def _file(path: str) -> str:
    """A reference to a file. Raises `InvalidInput`."""
    if "{" in path or "}" in path:
        raise InvalidInput(f"{path} has a brace, by which a reference to it would end: use a folder without one")
    return f"${{file:{path}}}"


def files_from(folder: str, text: str) -> str:
    """References to files, named from everywhere instead of from the manifest's folder."""
    return _FILE.sub(lambda match: _file(f"{folder}/{match[1]}"), text)


def worker_with(text: str, limits: Mapping[str, float]) -> dict[str, Any]:
    """The worker of a text of JSON, {} for none; `limits` take the place of its own, one by one."""
    if not text.startswith("{"):
        return {}
    worker: dict[str, Any] = json.loads(text)
    return worker | ({"limits": {**worker.get("limits", {}), **limits}} if limits else {})


def triggers(given_triggers: Iterable[Trigger], seen_from_here: Callable[[str], str]) -> Iterator[TriggerConfig]:
    for trigger in given_triggers:
        yield TriggerConfig(
            trigger.every_s or 0.0,
            trigger.cron,
            trigger.hook or "",
            trigger.events,
            seen_from_here(trigger.token),
            dict(trigger.inputs),
        )
