"""A hive with a coordinator that asks a few agents only: those with facts nearest, on average, in meaning to the question.

Every agent keeps what it learned. Of each the coordinator knows the centroid, the mean of its facts' vectors; the cost of sending
it is counted nowhere. It asks the `fan_out` nearest, equally near ones in their order, and ranks their results by statistics of
these alone: the protocol is that of any hive, over a part of it. So completeness is the share of the agents that were searched.
Where meaning points to the right agent, as with whole sessions per agent, less is lost than where facts are dealt at random.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hive_mind.embed.base import Embedder
from hive_mind.errors import InvalidInput
from hive_mind.evals.arms.base import ArmResult, Cost, Means
from hive_mind.evals.arms.costs import outcome_of
from hive_mind.evals.arms.dealing import names_of
from hive_mind.evals.arms.keeping import facts_of, lessons
from hive_mind.evals.arms.methods import Search
from hive_mind.evals.arms.trained_fleet import HiveArm, TrainedFleet, plan_of, train
from hive_mind.evals.datasets import LabelledQuestion, Scope
from hive_mind.evals.experiments.values import Cell
from hive_mind.hive.topology.base import ReplicaSet, Topology
from hive_mind.hive.topology.federated import Federated
from hive_mind.memory.base import Hive
from hive_mind.memory.distributed import DistributedCognitiveMemory
from hive_mind.memory.vectors import VectorSource
from hive_mind.model.gathered import Gathered, SearchResult
from hive_mind.model.probe import Probe
from hive_mind.runtime.members.fleet import FleetPlan
from hive_mind.runtime.members.nodes import Borrowed
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import memory_with

# No fact is that sure: copies with everyone would answer for agents that are not asked.
_NEVER = 2.0
# Less than any cosine.
_KNOWS_NOTHING = -2.0


@dataclass(frozen=True)
class _Routed(Federated):
    """Every agent is a group of its own; a question's domains are the names of those that are asked, none: all."""

    def read_set(self, node: str, domains: tuple[str, ...] = ()) -> tuple[ReplicaSet, ...]:
        return tuple([one for one in Federated.read_set(self, node) if not domains or one.name in domains])


@dataclass(frozen=True, slots=True)
class _RoutedPlan(FleetPlan):
    def build_topology(self) -> Topology:
        return _Routed({name: (name,) for name in self.agents}, broadcast_threshold=_NEVER)


class _Chosen:
    """A hive of which only some are asked. See `memory.base.Hive`."""

    def __init__(self, hive: Hive) -> None:
        self._hive = hive
        self.promote, self.retract, self.fetch, self.facts = hive.promote, hive.retract, hive.fetch, hive.facts
        self.write, self.tally = hive.write, hive.tally
        self.names: tuple[str, ...] = ()

    async def ask(self, probe: Probe, *, confidence_min: float = 0.0, domains: tuple[str, ...] = ()) -> Gathered:
        """Candidates of those that were chosen."""
        return await self._hive.ask(probe, confidence_min=confidence_min, domains=domains or self.names)


class RoutedArm(HiveArm):
    """A hive that has learned a scope. The asker coordinates, from its node, and adds no facts of its own."""

    def __init__(self, trained: TrainedFleet, search: Search, centroids: NDArray[np.float32], cell: Cell, means: Means) -> None:
        super().__init__(trained)
        self._search, self._centroids, self._means = search, centroids, means
        self._agents, self._fan_out, self._ranking = names_of(cell.arm.agents), cell.arm.fan_out, cell.retrieval.ranking
        self._coordinators: dict[str, tuple[_Chosen, DistributedCognitiveMemory]] = {}

    async def ask(self, question: LabelledQuestion, limit: int) -> ArmResult:
        trained = self._trained
        chosen, memory = self._coordinator(trained.asker(question))
        vector = await self._means.embedder.embed_query(question.text)

        async def search() -> SearchResult:
            chosen.names = self._nearest(vector)
            return await self._search(memory, question.text, limit)

        def cost(found: SearchResult) -> Cost:
            if (gathered := found.gathered) is None:
                return trained.cost(0, 0.0)
            searched = gathered.partitions - len(gathered.missing)
            return trained.cost(len(gathered.asked), searched / len(self._agents))

        trained.begin()
        return await outcome_of(search, cost)

    async def close(self) -> None:
        for _, memory in self._coordinators.values():
            await memory.close()
        await super().close()

    def _nearest(self, vector: NDArray[np.float32]) -> tuple[str, ...]:
        """The `fan_out` agents nearest to a question."""
        cosines = np.where(self._centroids.any(axis=1), self._centroids @ vector, _KNOWS_NOTHING)
        return tuple(self._agents[number] for number in np.argsort(-cosines, kind="stable")[: self._fan_out])

    def _coordinator(self, agent: str) -> tuple[_Chosen, DistributedCognitiveMemory]:
        hosted = self._trained.node_of(agent)
        if agent not in self._coordinators:
            settings, embedder = Settings(store="memory", ann=self._means.settings.ann), Borrowed(self._means.embedder)
            chosen = _Chosen(hosted.runner)
            local = memory_with(settings, f"coordinator-at-{agent}", embedder, self._ranking)
            self._coordinators[agent] = chosen, DistributedCognitiveMemory(local, chosen, agent=agent)
        return self._coordinators[agent]


async def open_arm(cell: Cell, scope: Scope, means: Means, search: Search) -> RoutedArm:
    """The hive of a cell. Raises `InvalidInput` without an embedding model, and for a fan-out that can't be."""
    arm = cell.arm
    if not 1 <= arm.fan_out <= arm.agents:
        raise InvalidInput(f"a routed arm asks between 1 and all {arm.agents} of its agents, not {arm.fan_out}: set fan_out")
    if not means.embedder.dimension:
        raise InvalidInput("a routed arm needs an embedding model: see hive-mind doctor")
    plan = plan_of(cell, "flat")
    groups = {name: (name,) for name in plan.agents}
    routed = _RoutedPlan(
        "federated", plan.agents, groups, gate=plan.gate, hive=plan.hive, runner=plan.runner, ranking=plan.ranking
    )
    trained = await train(cell, scope, means, routed)
    return RoutedArm(trained, search, await _centroids(cell, scope, means.embedder), cell, means)


async def _centroids(cell: Cell, scope: Scope, embedder: Embedder) -> NDArray[np.float32]:
    """The mean of each agent's vectors as a unit row; a zero row for one that learned nothing."""
    vectors = VectorSource(Borrowed(embedder))
    rows = np.zeros((cell.arm.agents, embedder.dimension), np.float32)
    for number, some in lessons(cell, scope):
        found, _ = await vectors.of_facts(facts_of(some))
        if found:
            mean = np.mean(list(found.values()), axis=0)
            rows[number] = mean / max(float(np.linalg.norm(mean)), 1e-12)
    return rows
