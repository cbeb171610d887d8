"""Agents that share what each of them learned, in a flat, a federated or a sharded hive: each question is asked by one of them.

A flat hive of one process is one node that all agents are attached to, a federated one a node per group, a sharded one a node per
agent.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from hive_mind.evals.arms.base import Cost, Means, Outcome
from hive_mind.evals.arms.methods import Search
from hive_mind.evals.arms.taught import Taught, plan_of, teach
from hive_mind.evals.arms.timing import outcome_of
from hive_mind.evals.datasets import LabelledQuestion, Scope
from hive_mind.evals.experiments.values import Cell
from hive_mind.evals.rows import Learned
from hive_mind.hive.topology.spec import TopologyName
from hive_mind.memory.distributed import DistributedCognitiveMemory


class FleetArm:
    """A hive that has learned a scope, asked in one way."""

    def __init__(self, taught: Taught, search: Search) -> None:
        self._taught, self._search = taught, search
        self.documents: Mapping[str, Sequence[str]] = taught.documents
        self.learned: Learned = taught.learned

    async def ask(self, question: LabelledQuestion, limit: int) -> Outcome:
        """Put one question."""
        taught, agent = self._taught, self._taught.asker(question)
        taught.node_of(agent)
        memory = cast(DistributedCognitiveMemory, taught.fleet.memory(agent))

        def cost() -> Cost:
            gathered = memory.last_gathered
            return taught.cost(len(gathered.asked) if gathered else 0, memory.completeness)

        taught.begin()
        return await outcome_of(lambda: self._search(memory, question.text, limit), cost)

    async def close(self) -> None:
        """Close the fleet."""
        await self._taught.close()


async def open_arm(cell: Cell, scope: Scope, means: Means, search: Search) -> FleetArm:
    """The hive of a cell. Raises `InvalidInput` for groups or nodes down that can't be."""
    return FleetArm(await teach(cell, scope, means, plan_of(cell, cast(TopologyName, cell.arm.kind))), search)
