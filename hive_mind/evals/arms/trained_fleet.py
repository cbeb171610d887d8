"""A fleet of this process that has learned a scope: the start of all arms with a hive, and their counts of a question.

The gate is open, so that every topology holds the same facts; only their places and the ways to find them are compared. Rows must
be the same for the same seed, so nothing that is asked depends on a clock: no node is asked a second time for being slow, and
members know which nodes are down, as they would some seconds after its last beat. The wait for those is cut short, because here
it is sure to be in vain; in a hive of processes it is measured.

Two arms are hives of their own kind over such a fleet: one asks a few of its agents only (`RoutedArm`), the other merges what
groups find as document 004 has it (`open_seed_federated`).
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from hive_mind.embed import Embedder
from hive_mind.errors import InvalidInput
from hive_mind.evals.arms import ArmResult, AskedArm, Cost, Means, Search, documents_by_fact, facts_of, keep, lessons, names_of
from hive_mind.evals.arms.costs import Learning, Scales, outcome_of, prepare, weight_of
from hive_mind.evals.arms.node_per_agent import ANOTHER_MOMENT_MS, groups_of, shuffled
from hive_mind.evals.datasets import LabelledQuestion, Scope
from hive_mind.evals.experiments import Cell, Learned
from hive_mind.hive.query import ScatterSettings
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.topology import ReplicaSet, Topology
from hive_mind.hive.topology.federated import Federated
from hive_mind.hive.topology.spec import TopologyName, spec_of
from hive_mind.memory.distributed import DistributedCognitiveMemory
from hive_mind.memory.gate import PromotionSettings
from hive_mind.memory.sharing import fact_of
from hive_mind.memory.vectors import VectorSource
from hive_mind.model.evidence import HiveFact
from hive_mind.model.gathered import Anchors, Gathered, Probe, SearchResult
from hive_mind.model.messages import FactsReply, PoolReply, PoolRequest
from hive_mind.model.query import ComponentScores, Hit
from hive_mind.ranking.pipeline import RRF_K, RankingSettings
from hive_mind.ranking.seed import Collected, seed_federated
from hive_mind.ranking.tokens import tokenize
from hive_mind.runtime.members.fleet import Fleet, FleetPlan, open_fleet
from hive_mind.runtime.members.host import Borrowed
from hive_mind.runtime.node import RunnerSettings, system_clock
from hive_mind.runtime.node.intake import ByDomain
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import memory_with

# A machine that is busy for seconds must not look like a part of the hive that is silent.
_DEADLINE_MS = 60_000
_PATIENT = RunnerSettings(ask_deadline_ms=_DEADLINE_MS, fetch_deadline_ms=_DEADLINE_MS)
_UNHURRIED = ScatterSettings(reask_ms=_DEADLINE_MS, hedge_budget=0.0, hedge_burst=0, doubted_ms=2)


@dataclass(frozen=True, slots=True)
class TrainedFleet:
    """Agents that learned, and the nodes that are down."""

    fleet: Fleet
    scales: Scales
    learned: Learned
    documents: dict[str, list[str]]
    down: frozenset[str]
    places: dict[str, int]

    def asker(self, question: LabelledQuestion) -> str:
        """The asker of a question: agents with a running node, in turn, by the question's place in the scope."""
        askers = [agent for agent in self.fleet.memories if self.fleet.plan.node_of(agent) not in self.down]
        return askers[self.places.get(question.id, 0) % len(askers)]

    def begin(self) -> None:
        """A question's messages are counted from now on."""
        self.scales.is_on = True

    def cost(self, fan_out: int, completeness: float) -> Cost:
        self.scales.is_on = False
        messages, size = self.scales.weighed(only_questions=True)
        return Cost(messages, size, fan_out, completeness)


async def open_arm(cell: Cell, scope: Scope, means: Means, search: Search) -> AskedArm:
    """A flat, federated or sharded hive that has learned a scope, asked in one way: each question by one of its agents.

    A flat hive of one process is one node that all agents are attached to, a federated one a node per group, a sharded one a node
    per agent. Raises `InvalidInput` for groups or nodes down that can't be.
    """
    trained = await train(cell, scope, means, plan_of(cell, cast(TopologyName, cell.arm.kind)))

    def cost(result: SearchResult) -> Cost:
        return trained.cost(len(result.gathered.asked) if result.gathered else 0, result.completeness)

    async def ask(question: LabelledQuestion, limit: int) -> ArmResult:
        agent = trained.asker(question)
        memory = trained.fleet.memory(agent)
        trained.begin()
        return await outcome_of(lambda: search(memory, question.text, limit), cost)

    return AskedArm(trained.documents, trained.learned, ask, trained.fleet.close)


def plan_of(cell: Cell, topology: TopologyName) -> FleetPlan:
    """The agents of a cell in this topology, with settings under which clocks decide nothing. Raises `InvalidInput`."""
    arm = cell.arm
    return FleetPlan(
        topology,
        names_of(arm.agents),
        groups=groups_of(arm) if "groups" in spec_of(topology).settings else {},
        replicas=arm.replicas,
        gate=PromotionSettings(is_open=True),
        hive=HiveSettings(scatter=_UNHURRIED),
        runner=_PATIENT,
        ranking=cell.retrieval.ranking or RankingSettings(),
    )


async def train(cell: Cell, scope: Scope, means: Means, plan: FleetPlan) -> TrainedFleet:
    """Deal a scope to the agents of a fleet, let them share it, and stop those drawn by the seed. Raises `InvalidInput`."""
    topology = plan.build_topology()
    nodes = topology.nodes if topology else ()
    if cell.fault.down >= max(len(nodes), 1):
        raise InvalidInput(f"with {cell.fault.down} of {len(nodes)} nodes down no node is left to ask; stop fewer")
    down = frozenset(shuffled(cell, nodes)[: cell.fault.down])
    await prepare(scope, means.settings, means.embedder)
    learning, scales = Learning(), Scales(len(nodes))
    fleet = await open_fleet(replace(means.settings, store="memory"), plan, means.embedder)
    try:
        await fleet.bus.watch(plan.runner.hive, scales.see)
        scales.is_on = True
        memories = list(fleet.memories.values())
        # One agent after the other, so that what a node knows when it gets a fact does not depend on timing.
        for number, lesson in lessons(cell, scope, means.progress):
            await asyncio.sleep(ANOTHER_MOMENT_MS / 1000)
            await keep(memories[number], lesson, None)
            learning.kept()
            await fleet.settled()
        measured, scales.is_on = learning.done(), False
        documents, traffic = documents_by_fact(scope.documents), scales.weighed(only_questions=False)
        for name in sorted(down):
            await fleet.stop(name)
        for name in set(fleet.nodes) - down:
            fleet.nodes[name].member.presume_silent(down, system_clock())
    except BaseException:
        await fleet.close()
        raise
    places = {question.id: place for place, question in enumerate(scope.questions)}
    return TrainedFleet(fleet, scales, measured.of(len(documents), cell.arm.agents, traffic), documents, down, places)


# No fact is that sure: copies with everyone would answer for agents that are not asked.
_NEVER = 2.0
# Less than any cosine.
_KNOWS_NOTHING = -2.0


@dataclass(frozen=True)
class _Routed(Federated):
    """Every agent is a group of its own; a question's domains are the names of those that are asked, none: all."""

    def read_set(self, node: str, domains: tuple[str, ...] = ()) -> tuple[ReplicaSet, ...]:
        return tuple(
            [replica_set for replica_set in Federated.read_set(self, node) if not domains or replica_set.name in domains]
        )


@dataclass(frozen=True, slots=True)
class _RoutedPlan(FleetPlan):
    def build_topology(self) -> Topology:
        return _Routed({name: (name,) for name in self.agents}, broadcast_threshold=_NEVER)


class RoutedArm:
    """A hive with a coordinator that asks a few agents only: those with facts nearest, on average, in meaning to the question.

    Every agent keeps what it learned. Of each the coordinator knows the centroid, the mean of its facts' vectors; the cost of
    sending it is counted nowhere. It asks the `fan_out` nearest, equally near ones in their order, and ranks their results by
    statistics of these alone: the protocol is that of any hive, over a part of it. So completeness is the share of the agents
    that were searched. The asker coordinates, from its node, and adds no facts of its own.
    """

    def __init__(self, trained: TrainedFleet, search: Search, centroids: NDArray[np.float32], cell: Cell, means: Means) -> None:
        self._trained, self.documents, self.learned = trained, trained.documents, trained.learned
        self._search, self._centroids, self._means = search, centroids, means
        self._agents, self._fan_out, self._ranking = names_of(cell.arm.agents), cell.arm.fan_out, cell.retrieval.ranking
        self._chosen: tuple[str, ...] = ()
        self._coordinators: dict[str, DistributedCognitiveMemory] = {}

    async def ask(self, question: LabelledQuestion, limit: int) -> ArmResult:
        trained = self._trained
        agent = trained.asker(question)
        fleet = trained.fleet
        if agent not in self._coordinators:
            settings, embedder = Settings(store="memory", ann=self._means.settings.ann), Borrowed(self._means.embedder)
            chosen = ByDomain(fleet.nodes[fleet.plan.node_of(agent)].runner, lambda _: self._chosen)
            local = memory_with(settings, f"coordinator-at-{agent}", embedder, self._ranking)
            self._coordinators[agent] = DistributedCognitiveMemory(local, chosen, agent=agent)
        memory = self._coordinators[agent]
        vector = await self._means.embedder.embed_query(question.text)

        async def search() -> SearchResult:
            cosines = np.where(self._centroids.any(axis=1), self._centroids @ vector, _KNOWS_NOTHING)
            self._chosen = tuple(self._agents[number] for number in np.argsort(-cosines, kind="stable")[: self._fan_out])
            return await self._search(memory, question.text, limit)

        def cost(result: SearchResult) -> Cost:
            if (gathered := result.gathered) is None:
                return trained.cost(0, 0.0)
            searched = gathered.partitions - len(gathered.missing)
            return trained.cost(len(gathered.asked), searched / len(self._agents))

        trained.begin()
        return await outcome_of(search, cost)

    async def close(self) -> None:
        for memory in self._coordinators.values():
            await memory.close()
        await self._trained.fleet.close()


async def open_routed(cell: Cell, scope: Scope, means: Means, search: Search) -> RoutedArm:
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
    for number, lesson in lessons(cell, scope):
        vectors_by_fact, _ = await vectors.of_facts(facts_of(lesson))
        if vectors_by_fact:
            mean = np.mean(list(vectors_by_fact.values()), axis=0)
            rows[number] = mean / max(float(np.linalg.norm(mean)), 1e-12)
    return rows


FACTS_PER_HIT = 3
"""Between 004's readings: it caps nothing, has an inner multiplier of 10, and 3 for groups of matching domains."""
_GROUP_DEADLINE_MS = 2_000


@dataclass(frozen=True, slots=True)
class _Returned:
    """Results of one group."""

    gathered: Gathered
    facts: tuple[HiveFact, ...]

    def collected(self) -> Iterable[Collected]:
        """Each fact with its score and how sure its author was."""
        pool, evidence = self.gathered.pool, self.gathered.evidence
        return map(Collected, pool.ids, pool.keyword.tolist(), evidence.confidence.tolist())

    def weight(self, group: str) -> int:
        pool = PoolReply("", group, self.gathered.pool, self.gathered.evidence)
        return weight_of(pool) + weight_of(FactsReply("", self.facts))


async def open_seed_federated(cell: Cell, scope: Scope, means: Means) -> AskedArm:
    """Groups as in a federated arm, each with a list of its own by keywords; ranks decide, of keywords and of confidence.

    Each scores by its own statistics and hands over three facts per wanted one, itself, with their scores. Their results, each
    fact once, are ranked by score and ranked by confidence, and the two ranks are fused (`ranking.seed`). Confidence is the one a
    fact was promoted with. The keyword score is our BM25, better than that of 004, so the loss here is due to merging. A cell's
    mode plays no part. A group that is down is asked in vain.

    How much it loses depends on two things. Where a data set does not say how sure its documents are, all are equally sure, and
    the list by confidence is one by id: as good as random. And 004 leaves open how much each group returns. On 200 questions of
    LoCoMo with 5 groups, recall@10 falls from 72 to 48 with one fact per wanted one, to 33 with three and to 27 with ten.

    Raises `InvalidInput` for groups or nodes down that can't be.
    """
    trained = await train(cell, scope, means, plan_of(cell, "federated"))
    running = [name for name in trained.fleet.nodes if name not in trained.down]

    async def of_group(group: str, probe: Probe) -> _Returned:
        runner = trained.fleet.nodes[group].runner
        gathered = await runner.ask(probe, is_local=True)
        return _Returned(gathered, tuple(await runner.fetch([(fact_id, group) for fact_id in gathered.pool.ids])))

    async def ask(question: LabelledQuestion, limit: int) -> ArmResult:
        probe = Probe(tuple(tokenize(question.text)), Anchors(), None, FACTS_PER_HIT * limit)
        returned: dict[str, _Returned] = {}

        async def search() -> Sequence[Hit]:
            returned.update([(group, await of_group(group, probe)) for group in running])
            return _merged(returned.values(), limit)

        def cost(_: Sequence[Hit]) -> Cost:
            """A request to each other group, and a reply of each that is there."""
            asker = trained.fleet.plan.node_of(trained.asker(question))
            groups = [group for group in trained.fleet.nodes if group != asker]
            replies = [returned[group].weight(group) for group in groups if group in returned]
            requests = sum(weight_of(PoolRequest("", group, 1, probe, _GROUP_DEADLINE_MS)) for group in groups)
            share = len(returned) / len(trained.fleet.nodes)
            return Cost(len(groups) + len(replies), requests + sum(replies), len(groups), share)

        return await outcome_of(search, cost)

    return AskedArm(trained.documents, trained.learned, ask, trained.fleet.close)


def _merged(returned: Iterable[_Returned], limit: int) -> list[Hit]:
    """The best of all groups, scored so that first in both lists is 1."""
    facts: dict[str, HiveFact] = {}
    collected: list[Collected] = []
    for group_returned in returned:
        facts |= {fact.id: fact for fact in group_returned.facts if fact.id not in facts}
        collected += group_returned.collected()
    keyword: dict[str, float] = {}
    for candidate in collected:
        keyword[candidate.id] = max(candidate.keyword, keyword.get(candidate.id, 0.0))
    return [
        Hit(fact_of(facts[name]), score * (RRF_K + 1) / 2, ComponentScores(keyword[name], None, 0.0, 0.0, 0.0))
        for name, score in seed_federated(collected)[:limit]
    ]
