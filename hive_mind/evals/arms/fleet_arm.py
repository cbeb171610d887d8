"""Agents that share what each of them learned, in a flat, a federated or a sharded hive: each question is asked by one of them.

A flat hive of one process is one node that all agents are attached to, a federated one a node per group, a sharded one a node per
agent.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from hive_mind.evals.arms.base import Cost, Means, Outcome
from hive_mind.evals.arms.costs import outcome_of
from hive_mind.evals.arms.methods import Search
from hive_mind.evals.arms.trained_fleet import TrainedFleet, plan_of, train
from hive_mind.evals.datasets import LabelledQuestion, Scope
from hive_mind.evals.experiments.values import Cell
from hive_mind.evals.rows import Learned
from hive_mind.hive.topology.spec import TopologyName
from hive_mind.model.search_result import SearchResult


class FleetArm:
    """A hive that has learned a scope, asked in one way."""

    def __init__(self, trained: TrainedFleet, search: Search) -> None:
        self._trained, self._search = trained, search
        self.documents: Mapping[str, Sequence[str]] = trained.documents
        self.learned: Learned = trained.learned

    async def ask(self, question: LabelledQuestion, limit: int) -> Outcome:
        trained, agent = self._trained, self._trained.asker(question)
        trained.node_of(agent)
        memory = trained.fleet.memory(agent)

        def cost(found: SearchResult) -> Cost:
            return trained.cost(len(found.gathered.asked) if found.gathered else 0, found.completeness)

        trained.begin()
        return await outcome_of(lambda: self._search(memory, question.text, limit), cost)

    async def close(self) -> None:
        await self._trained.close()


async def open_arm(cell: Cell, scope: Scope, means: Means, search: Search) -> FleetArm:
    """The hive of a cell. Raises `InvalidInput` for groups or nodes down that can't be."""
    return FleetArm(await train(cell, scope, means, plan_of(cell, cast(TopologyName, cell.arm.kind))), search)
