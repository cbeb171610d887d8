"""Scenarios that agents of one hive play, whichever topology lies between them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hive_mind.hive.policy.node_policy import ExpirySettings, PolicySettings
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.topology.spec import TopologyName
from hive_mind.memory.distributed import DistributedCognitiveMemory
from hive_mind.runtime.node.runner import RunnerSettings
from tests.contract.fleets import Leaping, Members, plan_of

Agents = list[DistributedCognitiveMemory]
DEADLINE_MS = 2_000


@asynccontextmanager
async def among(
    topology: TopologyName, agents: int = 4, moderators: tuple[str, ...] = (), expiry: ExpirySettings | None = None
) -> AsyncIterator[tuple[Agents, Members]]:
    """Agents of one hive, in time that leaps. The first two are not of one federated group."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, Leaping)
    hive = HiveSettings(standing=PolicySettings(moderators=moderators, expiry=expiry or ExpirySettings()))
    members = Members(plan_of(topology, agents, hive=hive, runner=RunnerSettings(ask_deadline_ms=DEADLINE_MS)))
    members.clock = loop.clock
    names = sorted(members.plan.agents, key=lambda agent: members.plan.agents.index(agent) % 2)
    memories = [members.memory(agent) for agent in names]
    try:
        yield memories, members
    finally:
        await asyncio.gather(*(memory.close() for memory in memories))
        await members.close()
