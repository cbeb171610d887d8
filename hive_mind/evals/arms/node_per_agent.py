"""Requirements on an arm, and hives with a node for each agent, as where every agent is a machine of its own."""

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from hive_mind.errors import InvalidInput
from hive_mind.evals.arms import NEEDS_VECTORS, Means, documents_by_fact, names_of, newness_of, search_in
from hive_mind.evals.datasets import Scope
from hive_mind.evals.experiments import Arm, Cell, Learned
from hive_mind.hive.topology import Topology
from hive_mind.hive.topology.spec import SINGLE, SPECS, Founding, TopologyName, spec_of
from hive_mind.runtime.members.fleet import GROUP_SIZE, FleetPlan

ANOTHER_MOMENT_MS = 2
"""Between two agents' lessons. Facts are stamped by the millisecond: of two that say the same, the first one is clear."""

_HIVES = tuple(SPECS)


class PerAgentArm:
    """The common start of arms with a node for each agent."""

    def __init__(self, cell: Cell, scope: Scope, means: Means) -> None:
        self._cell, self._scope, self._means = cell, scope, means
        self._names = names_of(cell.arm.agents)
        self._askers = askers_of(cell, scope)
        self._find = search_in(cell.retrieval.mode, newness_of(scope.documents))
        self.documents = documents_by_fact(scope.documents)
        """Ids of the documents by the fact they became."""
        self.learned = Learned()


def groups_of(arm: Arm) -> Mapping[str, tuple[str, ...]]:
    """Agents by group, as many in each as can be, in their order."""
    names = names_of(arm.agents)
    groups = arm.groups or -(-arm.agents // GROUP_SIZE)
    if groups > arm.agents:
        raise InvalidInput(f"{groups} groups of {arm.agents} agents leave some empty; have fewer groups")
    ends = [arm.agents * number // groups for number in range(groups + 1)]
    return {f"group-{number}": names[ends[number] : ends[number + 1]] for number in range(groups)}


def refuse(cell: Cell, means: Means) -> None:
    """Raises `InvalidInput` for an arm that can't run in its place, and for faults or searches that it does not support."""
    arm, fault = cell.arm, cell.fault
    is_here, has_hive = arm.place == "in-process", arm.kind in (*_HIVES, "seed-federated", "routed")
    if not is_here and arm.kind not in _HIVES:
        raise InvalidInput(f"a {arm.kind} arm can't run in place {arm.place!r}: choose {', '.join(_HIVES)}, or in-process")
    if arm.agents < 1:
        raise InvalidInput(f"an arm needs at least one agent, not {arm.agents}")
    if fault.down and not has_hive:
        raise InvalidInput(f"a {arm.kind} arm has no nodes that could be down: choose a topology, or leave that out")
    if not is_here and fault.down >= arm.agents:
        raise InvalidInput(f"with {fault.down} of {arm.agents} nodes down no node is left to ask; stop fewer")
    if not 0.0 <= fault.loss <= 1.0 or min(fault.down, fault.slow, fault.slow_ms) < 0:
        raise InvalidInput("a loss is a share of messages between 0 and 1; down, slow and slow_ms are numbers of 0 or more")
    if (fault.loss or fault.slow) and arm.place != "simulator":
        raise InvalidInput("messages are lost and members slow in the simulator only: set place to simulator, or leave that out")
    if cell.retrieval.mode in NEEDS_VECTORS and (has_hive or arm.kind == SINGLE) and not means.embedder.dimension:
        raise InvalidInput(f"mode {cell.retrieval.mode} needs an embedding model: see hive-mind doctor")


def topology_of(arm: Arm) -> Topology:
    """The topology of an arm that is a hive. Raises `InvalidInput`."""
    spec = spec_of(arm.kind)
    groups = groups_of(arm) if "groups" in spec.settings else {"": names_of(arm.agents)}
    return spec.build(Founding(groups, replicas=arm.replicas))


def down_of(cell: Cell) -> frozenset[str]:
    """Which nodes are stopped; the seed says it, and of the same seed more are these and others."""
    return frozenset(shuffled(cell, hive_of(cell).nodes)[: cell.fault.down])


def hive_of(cell: Cell) -> Topology:
    """The topology of a cell's hive where it runs: in one process a node is for all agents that keep the same."""
    arm = cell.arm
    if arm.place != "in-process":
        return topology_of(arm)
    groups = groups_of(arm) if "groups" in spec_of(arm.kind).settings else {}
    plan = FleetPlan(cast(TopologyName, arm.kind), names_of(arm.agents), groups=groups, replicas=arm.replicas)
    topology = plan.build_topology()
    assert topology is not None, f"a {arm.kind} arm has no hive"  # noqa: S101 - only hives have nodes that are stopped
    return topology


@dataclass(frozen=True, slots=True)
class Remains:
    """A hive of which nodes were stopped: what a cell measures. `held`: the share of its partitions on nodes that run.

    A fleet of which as many others stopped may hold more, or less.
    """

    stopped: tuple[str, ...]
    held: float


def remains_of(cell: Cell) -> Remains | None:
    """None where none was stopped, and for arms that ask a hive in another way than its members do."""
    if not cell.fault.down or cell.arm.kind not in _HIVES:
        return None
    hive, down = hive_of(cell), down_of(cell)
    running = [node for node in hive.nodes if node not in down]
    sets = hive.read_set(running[0])
    partitions = sum(len(replica_set.partitions) for replica_set in sets if not down.issuperset(replica_set.members))
    return Remains(tuple(sorted(down)), partitions / sum(len(replica_set.partitions) for replica_set in sets))


def slow_of(cell: Cell) -> frozenset[str]:
    return frozenset(shuffled(cell, names_of(cell.arm.agents))[cell.fault.down :][: cell.fault.slow])


def askers_of(cell: Cell, scope: Scope) -> Mapping[str, str]:
    """The asker of each question, by its id: agents with a running node, in turn, over all questions of the scope."""
    down = down_of(cell)
    asking = [name for name in names_of(cell.arm.agents) if name not in down]
    return {question.id: asking[place % len(asking)] for place, question in enumerate(scope.questions)}


def shuffled(cell: Cell, nodes: Iterable[str]) -> list[str]:
    """In the order in which the seed stops them: of more, those that fewer would be are some."""
    names = sorted(nodes)
    random.Random(f"{cell.seed} down").shuffle(names)  # noqa: S311 - it has to be the same again
    return names
