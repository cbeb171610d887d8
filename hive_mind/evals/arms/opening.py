"""Opens the arm of a cell, whatever its kind and wherever it runs."""

from importlib import import_module

from hive_mind.evals.arms import memory_arm, trained_fleet
from hive_mind.evals.arms.base import Means, OpenArm
from hive_mind.evals.arms.methods import newness_of, search_in
from hive_mind.evals.arms.node_per_agent import refuse
from hive_mind.evals.datasets import Scope
from hive_mind.evals.experiments import Cell
from hive_mind.hive.topology.spec import SINGLE, SPECS

_ELSEWHERE = {"simulator": "simulated", "redis": "processes.arm"}


async def open_arm(cell: Cell, scope: Scope, means: Means) -> OpenArm:
    """The arm, which has learned the scope. Raises `InvalidInput` for a cell that can't be."""
    if (module := _ELSEWHERE.get(cell.arm.place)) is not None:
        # Brokers and simulators are loaded only where they are wanted.
        opened: OpenArm = await import_module(f"{__package__}.{module}").open_arm(cell, scope, means)
        return opened
    refuse(cell, means)
    search = search_in(cell.retrieval.mode, newness_of(scope.documents))
    if cell.arm.kind in SPECS:
        return await trained_fleet.open_arm(cell, scope, means, search)
    if cell.arm.kind == SINGLE:
        return await memory_arm.open_arm(cell, scope, means, search)
    match cell.arm.kind:
        case "running":
            return await memory_arm.open_running(cell, scope, means, search)
        case "routed":
            return await trained_fleet.open_routed(cell, scope, means, search)
        case "seed-federated":
            return await trained_fleet.open_seed_federated(cell, scope, means)
        case "bm25":
            return memory_arm.bm25(scope, means.progress)
        case "random":
            return memory_arm.chance(scope, cell.seed)
        case _:
            return memory_arm.full_context(scope)
