"""Several agents of one process over one hive: which nodes there are, and which agent is attached to which.

Flat: one node for all agents. Federated: a node per group. Sharded: a node per agent, each an owner of some of the facts. Single:
no hive at all. The agents are the same in each of them and can't tell.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

from hive_mind import backends
from hive_mind.awaiting import opening
from hive_mind.bus import BusSettings, EventBus
from hive_mind.bus.address import address_of
from hive_mind.embed import Embedder
from hive_mind.errors import InvalidInput
from hive_mind.hive.membership import MembershipSettings
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.topology import Topology
from hive_mind.hive.topology.federated import BROADCAST_THRESHOLD
from hive_mind.hive.topology.sharded import PARTITIONS, REPLICAS
from hive_mind.hive.topology.spec import SINGLE, Founding, TopologyName, spec_of
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.memory.distributed import DistributedCognitiveMemory
from hive_mind.memory.gate import PromotionSettings
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.runtime.members import MemberPlan
from hive_mind.runtime.members.host import Host
from hive_mind.runtime.node import RunnerSettings
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_embedder

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

    def member(self, node: str) -> MemberPlan:
        """A node as a member of a hive that is all in this process: if one is silent, all are, so nobody beats."""
        still = MembershipSettings(beat_ms=0)
        return MemberPlan(node, "memory", self.runner.hive, gate=self.gate, nodes=self.hive, membership=still, runner=self.runner)

    @property
    def _node_per(self) -> Literal["hive", "group", "agent"]:
        return "hive" if self.topology == SINGLE else spec_of(self.topology).node_per


class Fleet(Host[CognitiveMemory | DistributedCognitiveMemory]):
    """The host of a plan: its agents are memories. Close it, or use it with `async with`."""

    bus: EventBus

    def __init__(self, plan: FleetPlan, settings: Settings, embedder: Embedder, bus: EventBus) -> None:
        super().__init__(settings, embedder, bus)
        self.plan = plan
        self.owns(bus)

    @property
    def memories(self) -> Mapping[str, CognitiveMemory | DistributedCognitiveMemory]:
        """The agents' memories by name."""
        return self.agents

    def memory(self, agent: str) -> CognitiveMemory | DistributedCognitiveMemory:
        """An agent's memory. Raises `InvalidInput` for a stranger."""
        if agent not in self.agents:
            raise InvalidInput(f"there is no agent {agent!r} in this fleet; there are {', '.join(self.agents)}")
        return self.agents[agent]

    async def stop(self, name: str) -> None:
        """Stop one node, as if its machine went away; what it has in its journal stays. Raises `InvalidInput` for a stranger."""
        if name not in self.nodes:
            raise InvalidInput(f"there is no node {name!r} in this fleet; there are {', '.join(self.nodes) or 'none'}")
        await self.nodes[name].close()

    async def settled(self) -> None:
        """Return when everything that was written is where it belongs, and can be found without waiting for an index."""
        # Nothing tells when the last receipt has come, and only tests and measurements want to know.
        while any(node.is_busy for node in self.nodes.values()):  # noqa: ASYNC110
            await asyncio.sleep(_POLL_S)

    async def __aenter__(self) -> "Fleet":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


@opening
async def open_fleet(settings: Settings, plan: FleetPlan, embedder: Embedder | None = None) -> Fleet:
    """Nodes and memories of a fleet.

    The embedder is that of the settings, and closed with the fleet; one that is given is shared and stays open. Raises
    `ConfigError` or `BackendError`; then nothing stays open.
    """
    if not plan.agents or len(set(plan.agents)) < len(plan.agents):
        raise InvalidInput("a fleet needs at least one agent, and each name once")
    strays = [agent for agent in plan.agents if not plan.node_of(agent)]
    if strays:
        raise InvalidInput(f"these agents are in no group: {', '.join(strays[:5])}")
    topology = plan.build_topology()
    own = None if embedder else await open_embedder(settings)
    bus = cast(EventBus, await backends.load("bus", "memory").open(address_of("memory"), BusSettings()))
    fleet = Fleet(plan, settings, cast(Embedder, embedder or own), bus)
    if own:
        fleet.owns(own)
    try:
        for name in topology.nodes if topology else ():
            await fleet.open_node(plan.member(name), topology)
        for agent in plan.agents:
            memory = fleet.memory_of(agent, fleet.nodes.get(plan.node_of(agent)), plan.ranking)
            # Its hive runs in this event loop, so no other one may wake it.
            (memory.local if isinstance(memory, DistributedCognitiveMemory) else memory).stay_here()
            fleet.agents[agent] = memory
    except BaseException:
        await fleet.close()
        raise
    return fleet
