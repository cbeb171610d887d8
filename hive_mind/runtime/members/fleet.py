"""Several agents of one process over one hive: which nodes there are, and which agent is attached to which.

Flat: one node for all agents. Federated: a node per group. Sharded: a node per agent, each an owner of some of the facts. Single:
no hive at all. The agents are the same in each of them and can't tell.
"""

import asyncio
from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

from hive_mind import backends
from hive_mind.bus.address import address_of
from hive_mind.bus.base import BusSettings, EventBus
from hive_mind.embed.base import Embedder
from hive_mind.errors import InvalidInput
from hive_mind.hive.node import HiveNode
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.topology.base import Topology
from hive_mind.hive.topology.federated import BROADCAST_THRESHOLD
from hive_mind.hive.topology.placement import PARTITIONS, REPLICAS
from hive_mind.hive.topology.spec import SINGLE, Founding, TopologyName, spec_of
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.memory.distributed import DistributedCognitiveMemory
from hive_mind.memory.gate.promotion_settings import PromotionSettings
from hive_mind.opening import opening
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.runtime.members.nodes import Borrowed, News, make_node, open_journal
from hive_mind.runtime.node.base import RunnerSettings
from hive_mind.runtime.node.runner import NodeRunner
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import memory_with, open_embedder

# The one node of a flat hive in one process.
GROUP_SIZE = 5
"""Agents of a group, where groups are made and not named."""
_SHARED_NODE = "hive"
_POLL_S = 0.001


@dataclass(frozen=True, slots=True)
class FleetPlan:
    """Agents and how they are arranged. `groups` are agents by group, for federated; without them, groups of `group_size`."""

    topology: TopologyName
    agents: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    group_size: int = GROUP_SIZE
    domains: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Words by group; questions with such words are put to that group first."""
    broadcast_threshold: float = BROADCAST_THRESHOLD
    replicas: int = REPLICAS
    partitions: int = PARTITIONS
    gate: PromotionSettings = field(default_factory=PromotionSettings)
    hive: HiveSettings = field(default_factory=HiveSettings)
    runner: RunnerSettings = field(default_factory=RunnerSettings)
    ranking: RankingSettings = field(default_factory=RankingSettings)

    def grouped(self) -> Mapping[str, tuple[str, ...]]:
        """Agents by group."""
        if self.groups:
            return self.groups
        starts = range(0, len(self.agents), max(self.group_size, 1))
        return {f"group-{n}": self.agents[start : start + self.group_size] for n, start in enumerate(starts)}

    def node_of(self, agent: str) -> str:
        match self._node_per:
            case "group":
                return next((group for group, members in self.grouped().items() if agent in members), "")
            case "agent":
                return agent
            case "hive":
                return _SHARED_NODE

    def build_topology(self) -> Topology | None:
        """The nodes and the holders of each partition; None where there is no hive. Raises `InvalidInput` for what can't be."""
        if self.topology == SINGLE:
            return None
        groups: Mapping[str, tuple[str, ...]] = {"": (_SHARED_NODE,)}
        if self._node_per == "group":
            groups = {group: (group,) for group in self.grouped()}
        elif self._node_per == "agent":
            groups = {"": self.agents}
        founding = Founding(groups, self.domains, self.broadcast_threshold, replicas=self.replicas, partitions=self.partitions)
        return spec_of(self.topology).build(founding)

    @property
    def _node_per(self) -> Literal["hive", "group", "agent"]:
        return "hive" if self.topology == SINGLE else spec_of(self.topology).node_per


class Fleet:
    """Open agents' memories by name, over the nodes of their hive. Close it, or use it with `async with`."""

    def __init__(
        self,
        plan: FleetPlan,
        memories: Mapping[str, CognitiveMemory | DistributedCognitiveMemory],
        nodes: Mapping[str, "HostedNode"],
        bus: EventBus,
    ) -> None:
        self.plan, self.memories, self.nodes, self.bus = plan, memories, nodes, bus
        self._own_embedder: Embedder | None = None

    def closes(self, embedder: Embedder) -> None:
        """It is the fleet's own: close it with the fleet."""
        self._own_embedder = embedder

    def memory(self, agent: str) -> CognitiveMemory | DistributedCognitiveMemory:
        """An agent's memory. Raises `InvalidInput` for a stranger."""
        if agent not in self.memories:
            raise InvalidInput(f"there is no agent {agent!r} in this fleet; there are {', '.join(self.memories)}")
        return self.memories[agent]

    async def stop(self, name: str) -> None:
        """Stop one node, as if its machine went away; what it has in its journal stays. Raises `InvalidInput` for a stranger."""
        if name not in self.nodes:
            raise InvalidInput(f"there is no node {name!r} in this fleet; there are {', '.join(self.nodes) or 'none'}")
        await self.nodes[name].close()

    async def settled(self) -> None:
        """Return when everything that was written is where it belongs, and can be found without waiting for an index."""
        # Nothing tells when the last receipt has come, and only tests and measurements want to know.
        while any(hosted.is_busy for hosted in self.nodes.values()):  # noqa: ASYNC110
            await asyncio.sleep(_POLL_S)

    async def close(self) -> None:
        """Memories first, so that what they still want to share is taken; then nodes, then the bus."""
        await _all(memory.close() for memory in self.memories.values())
        await _all(hosted.close() for hosted in self.nodes.values())
        await self.bus.close()
        if self._own_embedder is not None:
            await self._own_embedder.close()

    async def __aenter__(self) -> "Fleet":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class HostedNode:
    """A node, what runs it, and the memories attached to it."""

    def __init__(self, node: HiveNode, runner: NodeRunner) -> None:
        self.node, self.runner = node, runner
        self._news = News(runner)
        self.attach = self._news.attach

    @property
    def is_busy(self) -> bool:
        """Whether something is under way that was begun here: to others, to a memory, or into an index."""
        return bool(len(self.node.outbox) or self._news.is_busy or self.runner.is_busy or self.node.replica.is_behind)

    async def close(self) -> None:
        await self.runner.close()
        await self._news.finish()


@opening
async def open_fleet(settings: Settings, plan: FleetPlan, embedder: Embedder | None = None) -> Fleet:
    """Nodes and memories of a fleet.

    The embedder is that of the settings, and closed with the fleet; one that is given is shared and stays open. Raises
    `ConfigError` or `BackendError`; then nothing stays open.
    """
    _refuse(plan)
    if embedder is None:
        own_embedder = await open_embedder(settings)
        try:
            fleet = await open_fleet(settings, plan, own_embedder)
        except BaseException:
            await own_embedder.close()
            raise
        fleet.closes(own_embedder)
        return fleet
    topology = plan.build_topology()
    bus = cast(EventBus, await backends.load("bus", "memory").open(address_of("memory"), BusSettings()))
    nodes: dict[str, HostedNode] = {}
    try:
        for name in topology.nodes if topology else ():
            nodes[name] = await _hosted(name, plan, topology, settings, embedder, bus)
    except BaseException:
        await _all(hosted.close() for hosted in nodes.values())
        await bus.close()
        raise
    memories: dict[str, CognitiveMemory | DistributedCognitiveMemory] = {}
    for agent in plan.agents:
        local = memory_with(settings, agent, Borrowed(embedder), plan.ranking)
        # Its hive runs in this event loop, so no other one may wake it.
        local.stay_here()
        memories[agent] = _attached(local, nodes[plan.node_of(agent)], agent, plan) if nodes else local
    return Fleet(plan, memories, nodes, bus)


async def _hosted(
    name: str, plan: FleetPlan, topology: Topology | None, settings: Settings, embedder: Embedder, bus: EventBus
) -> HostedNode:
    assert topology is not None  # noqa: S101 - there are nodes only where there is one
    node = make_node(name, topology, plan.hive, settings, embedder)
    hosted = HostedNode(node, NodeRunner(node, await open_journal(settings, plan.runner.hive, name), bus, settings=plan.runner))
    try:
        await hosted.runner.start()
    except BaseException:
        await hosted.close()
        raise
    return hosted


def _attached(local: CognitiveMemory, hosted: HostedNode, agent: str, plan: FleetPlan) -> DistributedCognitiveMemory:
    forgets = plan.hive.standing.expiry.is_on
    memory = DistributedCognitiveMemory(
        local,
        hosted.runner,
        agent=agent,
        gate=plan.gate,
        forgets=forgets,
        has_lost=lambda: hosted.node.partitions.has_lost,
    )
    hosted.attach(memory)
    return memory


def _refuse(plan: FleetPlan) -> None:
    if not plan.agents or len(set(plan.agents)) < len(plan.agents):
        raise InvalidInput("a fleet needs at least one agent, and each name once")
    strays = [agent for agent in plan.agents if not plan.node_of(agent)]
    if strays:
        raise InvalidInput(f"these agents are in no group: {', '.join(strays[:5])}")


async def _all(work: Iterable[Awaitable[None]]) -> None:
    await asyncio.gather(*work)
