"""A fleet of this process that has learned a scope: the start of all arms with a hive, and their counts of a question.

The gate is open, so that every topology holds the same facts; only their places and the ways to find them are compared. Rows must
be the same for the same seed, so nothing that is asked depends on a clock: no node is asked a second time for being slow, and
members know which nodes are down, as they would some seconds after its last beat. The wait for those is cut short, because here
it is sure to be in vain; in a hive of processes it is measured.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import cast

from hive_mind.errors import InvalidInput
from hive_mind.evals.arms.base import ArmResult, Cost, Means
from hive_mind.evals.arms.costs import Learning, outcome_of, prepare
from hive_mind.evals.arms.dealing import names_of
from hive_mind.evals.arms.keeping import documents_by_fact, keep, lessons
from hive_mind.evals.arms.methods import Search
from hive_mind.evals.arms.node_per_agent import ANOTHER_MOMENT_MS, groups_of, shuffled
from hive_mind.evals.arms.weighing import Scales
from hive_mind.evals.datasets import LabelledQuestion, Scope
from hive_mind.evals.experiments.values import Cell
from hive_mind.evals.rows import Learned
from hive_mind.hive.query.latencies import ScatterSettings
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.topology.spec import TopologyName, spec_of
from hive_mind.memory.gate.promotion_settings import PromotionSettings
from hive_mind.model.gathered import SearchResult
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.runtime.members.fleet import Fleet, FleetPlan, HostedNode, open_fleet
from hive_mind.runtime.node.runner import RunnerSettings

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

    def node_of(self, agent: str) -> HostedNode:
        """An agent's node, which knows the nodes that are down."""
        hosted = self.fleet.nodes[self.fleet.plan.node_of(agent)]
        hosted.node.questions.latencies.suspects = self.down
        return hosted

    def begin(self) -> None:
        """A question's messages are counted from now on."""
        self.scales.is_on = True

    def cost(self, fan_out: int, completeness: float) -> Cost:
        self.scales.is_on = False
        messages, size = self.scales.weighed(only_questions=True)
        return Cost(messages, size, fan_out, completeness)


class HiveArm:
    """An arm over a trained fleet."""

    def __init__(self, trained: TrainedFleet) -> None:
        self._trained, self.documents, self.learned = trained, trained.documents, trained.learned

    async def close(self) -> None:
        await self._trained.fleet.close()


class FleetArm(HiveArm):
    """A flat, federated or sharded hive that has learned a scope, asked in one way: each question by one of its agents.

    A flat hive of one process is one node that all agents are attached to, a federated one a node per group, a sharded one a node
    per agent.
    """

    def __init__(self, trained: TrainedFleet, search: Search) -> None:
        super().__init__(trained)
        self._search = search

    async def ask(self, question: LabelledQuestion, limit: int) -> ArmResult:
        trained, agent = self._trained, self._trained.asker(question)
        trained.node_of(agent)
        memory = trained.fleet.memory(agent)

        def cost(found: SearchResult) -> Cost:
            return trained.cost(len(found.gathered.asked) if found.gathered else 0, found.completeness)

        trained.begin()
        return await outcome_of(lambda: self._search(memory, question.text, limit), cost)


async def open_arm(cell: Cell, scope: Scope, means: Means, search: Search) -> FleetArm:
    """The hive of a cell. Raises `InvalidInput` for groups or nodes down that can't be."""
    return FleetArm(await train(cell, scope, means, plan_of(cell, cast(TopologyName, cell.arm.kind))), search)


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
        await _learn(fleet, lessons(cell, scope, means.progress), learning)
        measured, scales.is_on = learning.done(), False
        documents, traffic = documents_by_fact(scope.documents), scales.weighed(only_questions=False)
        for name in sorted(down):
            await fleet.stop(name)
    except BaseException:
        await fleet.close()
        raise
    places = {question.id: place for place, question in enumerate(scope.questions)}
    return TrainedFleet(fleet, scales, measured.of(len(documents), cell.arm.agents, traffic), documents, down, places)


async def _learn(fleet: Fleet, taught: Iterable[tuple[int, Scope]], learning: Learning) -> None:
    """One agent after the other, so that what a node knows when it gets a fact does not depend on timing."""
    memories = list(fleet.memories.values())
    for number, scope in taught:
        await asyncio.sleep(ANOTHER_MOMENT_MS / 1000)
        await keep(memories[number], scope, None)
        learning.kept()
        await fleet.settled()
