"""From an experiment to its cells: everything multiplied with everything, once, in an order that never changes.

Baselines are added where an experiment leaves them out, so that no figure stands alone, unless it says that it has none. A fault
that an arm can't have (nodes down where there is one, lost messages outside the simulator) makes no cell.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from hive_mind.errors import InvalidInput
from hive_mind.evals.experiments.values import Arm, ArmKind, Cell, DataSource, Experiment, Fault, Retrieval
from hive_mind.hive.topology.spec import SINGLE, SPECS, has_node_per, readers, reads

RUNNING: ArmKind = "running"
BASELINES: tuple[ArmKind, ...] = ("bm25", "random", "full-context")
TOPOLOGIES: tuple[ArmKind, ...] = tuple(spec.name for spec in SPECS.values())
GROUPED: tuple[ArmKind, ...] = (*readers("groups"), "seed-federated")
ALONE: tuple[ArmKind, ...] = (SINGLE, RUNNING, *BASELINES)
"""Kinds that hold everything in one place: agents and how they are dealt mean nothing to them."""


def cells_of(experiment: Experiment) -> tuple[Cell, ...]:
    """All cells, data set by data set. Raises `InvalidInput` where two would have the same name."""
    cells: dict[str, Cell] = {}
    for cell in _multiplied(experiment):
        there = cells.setdefault(cell.id, cell)
        if there != cell:
            raise InvalidInput(f"two cells of {experiment.name} would be called {cell.id}; rename a data set or a retrieval")
    return tuple(cells.values())


def cell_of(data: DataSource, arm: Arm, retrieval: Retrieval, seed: int, fault: Fault = Fault()) -> Cell:  # noqa: B008 - a value
    return Cell(_id(data, arm, retrieval, seed, fault), data, arm, retrieval, seed, fault)


def takes(arm: Arm, fault: Fault) -> bool:
    """Whether this can be wrong with such an arm, and leaves somebody to ask."""
    if fault == Fault():
        return True
    if (fault.loss or fault.slow) and arm.place != "simulator":
        return False
    return arm.kind in TOPOLOGIES and fault.down < nodes_of(arm) and fault.slow <= arm.agents


def nodes_of(arm: Arm) -> int:
    """How many nodes can be stopped. In one process a flat hive is one node, and a federated one a node per group."""
    if arm.place != "in-process" or has_node_per(arm.kind, "agent"):
        return arm.agents
    return arm.groups if has_node_per(arm.kind, "group") else 1


def plain_arm(arm: Arm) -> Arm:
    """The arm without what means nothing to its kind, so that equal arms are equal values."""
    if arm.kind in ALONE:
        return Arm(arm.kind, place=arm.place)
    return replace(
        arm,
        groups=arm.groups if arm.kind in GROUPED else 0,
        replicas=arm.replicas if reads(arm.kind, "replicas") else Arm().replicas,
        fan_out=arm.fan_out if arm.kind == "routed" else 0,
    )


def baselines_of(experiment: Experiment) -> tuple[Arm, ...]:
    """Those that make sense: everything as context is only something to a model that reads it."""
    if not experiment.has_baselines:
        return ()
    kinds = BASELINES if experiment.answerer == "model" else BASELINES[:2]
    return tuple(Arm(kind) for kind in kinds)


def _multiplied(experiment: Experiment) -> Iterator[Cell]:
    for data in experiment.data:
        for seed in experiment.seeds:
            for arm, faults in _arms_for(data, experiment):
                # A baseline ranks in its own way, whatever the others do: once is enough.
                ways = experiment.retrieval[:1] if arm.kind in BASELINES else experiment.retrieval
                for retrieval in ways:
                    yield from (cell_of(data, arm, retrieval, seed, fault) for fault in faults if takes(arm, fault))


def _arms_for(data: DataSource, experiment: Experiment) -> Iterator[tuple[Arm, Sequence[Fault]]]:
    for arm in dict.fromkeys((*experiment.arms, *baselines_of(experiment))):
        yield plain_arm(arm), experiment.faults
    for chosen in experiment.chosen:
        if not chosen.data or data.name in chosen.data:
            yield from ((plain_arm(arm), chosen.faults or experiment.faults) for arm in chosen.arms)


def _id(data: DataSource, arm: Arm, retrieval: Retrieval, seed: int, fault: Fault) -> str:
    parts = [data.name, arm.kind]
    if arm.kind not in ALONE:
        parts += [str(arm.agents), arm.deal]
    if arm.kind not in BASELINES:
        parts.append(retrieval.name)
    return "-".join((*parts, f"s{seed}", *_unusual(arm, fault)))


def _unusual(arm: Arm, fault: Fault) -> Iterator[str]:
    if arm.groups:
        yield f"g{arm.groups}"
    if arm.fan_out:
        yield f"fan{arm.fan_out}"
    if arm.replicas != Arm().replicas:
        yield f"r{arm.replicas}"
    if fault.down:
        yield f"down{fault.down}"
    if fault.loss:
        yield f"loss{fault.loss:g}"
    if fault.slow:
        yield f"slow{fault.slow}x{fault.slow_ms}ms"
    if arm.place != "in-process":
        yield "sim" if arm.place == "simulator" else arm.place
