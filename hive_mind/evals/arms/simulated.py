"""Arms with nodes in virtual time: hives of sizes no laptop holds, and faults that a real network has when it likes.

A node for each agent, whatever the topology, as where every agent is a process of its own. The agents' memories, their ranking
and the nodes are those of production; the network is simulated. So messages, bytes, fan-out and completeness are exact and the
same each time. Wall times are those of virtual time, CPU times are real.
"""

import time
from functools import partial
from pathlib import Path

from hive_mind import backends
from hive_mind.evals.arms.base import ArmResult, Cost, Means
from hive_mind.evals.arms.costs import prepare
from hive_mind.evals.arms.keeping import keep, lessons
from hive_mind.evals.arms.node_per_agent import ANOTHER_MOMENT_MS, PerAgentArm, down_of, refuse, slow_of, topology_of
from hive_mind.evals.arms.virtual_hive import VirtualHive
from hive_mind.evals.datasets import LabelledQuestion, Scope
from hive_mind.evals.experiments.values import Cell
from hive_mind.evals.rows import Learned
from hive_mind.hive.settings import HiveSettings
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.memory.distributed import DistributedCognitiveMemory
from hive_mind.memory.gate.promotion_settings import PromotionSettings
from hive_mind.model.gathered import SearchResult
from hive_mind.runtime.members.nodes import Borrowed
from hive_mind.runtime.wiring import vector_arms

_GATE = PromotionSettings(is_open=True)


class SimulatedArm(PerAgentArm):
    """Agents with a node each, in virtual time. They learn in `open_arm`."""

    def __init__(self, cell: Cell, scope: Scope, means: Means) -> None:
        new_arm, dimension = vector_arms(means.settings), means.embedder.dimension
        super().__init__(cell, scope, means)
        self._hive = VirtualHive(
            topology_of(cell.arm),
            HiveSettings(model=means.embedder.model),
            lambda: new_arm(dimension) if dimension else None,
            cell.seed,
            cell.fault,
        )
        self._memories = {name: self._memory(name) for name in self._names}

    async def learn(self) -> None:
        """Everybody learns its part and shares it; then what is to be wrong is wrong."""
        await prepare(self._scope, self._means.settings, self._means.embedder)
        began_s, hive = time.process_time(), self._hive
        await self._teach()
        lag_ms = hive.settle()
        await self._deliver_shared()
        # Times but the CPU's are virtual.
        self.learned = Learned(
            facts=len(self.documents),
            messages=hive.traffic.messages,
            bytes=hive.traffic.bytes,
            replica_lag_s=lag_ms / 1000,
            cpu_s=time.process_time() - began_s,
            wall_s=hive.schedule.now_ms / 1000,
        )
        hive.spoil(down_of(self._cell), slow_of(self._cell))

    async def ask(self, question: LabelledQuestion, limit: int) -> ArmResult:
        """Ask twice, with the same fate: once to weigh messages and to fill indexes and caches, once to measure time."""
        asker = self._askers[question.id]
        weighed, _ = await self._search(asker, question, limit, is_weighed=True)
        traffic = self._hive.traffic
        began_s, began_ms = time.process_time(), self._hive.schedule.now_ms
        hits, answered_ms = await self._search(asker, question, limit, is_weighed=False)
        cpu_s = time.process_time() - began_s
        cost = Cost(traffic.messages, traffic.bytes, len(traffic.asked), weighed.completeness)
        return ArmResult(tuple(hits), cost, cpu_s, (answered_ms - began_ms) / 1000)

    async def close(self) -> None:
        """Let go of all memories; the nodes are nowhere but here."""
        for memory in self._memories.values():
            await memory.close()

    def _memory(self, name: str) -> DistributedCognitiveMemory:
        local = CognitiveMemory(
            partial(backends.load("store", "memory").open, Path(name)),
            Borrowed(self._means.embedder),
            ranking=self._cell.retrieval.ranking,
            new_arm=vector_arms(self._means.settings),
            clock=self._hive.time_us,
        )
        return DistributedCognitiveMemory(local, self._hive.nodes[name], agent=name, gate=_GATE)

    async def _teach(self) -> None:
        memories = list(self._memories.values())
        for agent, some in lessons(self._cell, self._scope, self._means.progress):
            self._hive.schedule.run(ANOTHER_MOMENT_MS, lambda: False)
            await keep(memories[agent], some, None)

    async def _deliver_shared(self) -> None:
        """Agents hear that others keep their facts, and then search their own no more."""
        for name, node in self._hive.nodes.items():
            shared, node.shared = node.shared, []
            if shared:
                await self._memories[name].on_shared(shared)

    async def _search(self, asker: str, question: LabelledQuestion, limit: int, *, is_weighed: bool) -> tuple[SearchResult, int]:
        """The results, and their time; afterwards nothing of the question is under way any more."""
        self._hive.begin(asker, question.id, is_weighed=is_weighed)
        hits = await self._find(self._memories[asker], question.text, limit)
        answered_ms = self._hive.schedule.now_ms
        self._hive.rest()
        return hits, answered_ms


async def open_arm(cell: Cell, scope: Scope, means: Means) -> SimulatedArm:
    """A hive that has learned a scope. Raises `InvalidInput` for an arm without a hive, and for impossible faults."""
    refuse(cell, means)
    arm = SimulatedArm(cell, scope, means)
    try:
        await arm.learn()
    except BaseException:
        await arm.close()
        raise
    return arm
