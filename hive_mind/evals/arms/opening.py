"""Opens the arm of a cell, whatever its kind and wherever it runs."""

from importlib import import_module
from typing import cast

from hive_mind.errors import InvalidInput
from hive_mind.evals.arms import baselines, fleet_arm, memory_arm, routed, seed_federated
from hive_mind.evals.arms.base import Means, OpenArm, OpensArm
from hive_mind.evals.arms.methods import Search, newness_of, search_in
from hive_mind.evals.datasets import Scope
from hive_mind.evals.experiments.values import Cell
from hive_mind.hive.topology.spec import SINGLE, SPECS

_ELSEWHERE = {"simulator": "simulated", "redis": "processes.arm"}
_HIVES = (*SPECS, "seed-federated", "routed")


async def open_arm(cell: Cell, scope: Scope, means: Means) -> OpenArm:
    """The arm, which has learned the scope. Raises `InvalidInput` for a cell that can't be."""
    if (module := _ELSEWHERE.get(cell.arm.place)) is not None:
        # Brokers and simulators are loaded only where they are wanted.
        opens = cast(OpensArm, import_module(f"{__package__}.{module}").open_arm)
        return await opens(cell, scope, means)
    return await open_here(cell, scope, means)


async def open_here(cell: Cell, scope: Scope, means: Means, search: Search | None = None) -> OpenArm:
    """An arm of this process. `search` is another way to search than the cell's mode. Raises `InvalidInput`."""
    _refuse(cell, means)
    search = search or search_in(cell.retrieval.mode, newness_of(scope.documents))
    if cell.arm.kind in SPECS:
        return await fleet_arm.open_arm(cell, scope, means, search)
    if cell.arm.kind == SINGLE:
        return await memory_arm.open_arm(cell, scope, means, search)
    match cell.arm.kind:
        case "routed":
            return await routed.open_arm(cell, scope, means, search)
        case "seed-federated":
            return await seed_federated.open_arm(cell, scope, means)
        case "bm25":
            return baselines.bm25(scope, means.progress)
        case "random":
            return baselines.chance(scope, cell.seed)
        case _:
            return baselines.full_context(scope)


def _refuse(cell: Cell, means: Means) -> None:
    arm, fault = cell.arm, cell.fault
    if fault.loss or fault.slow:
        raise InvalidInput("messages are lost and members slow in the simulator only: set place to simulator, or leave that out")
    if fault.down and arm.kind not in _HIVES:
        raise InvalidInput(f"a {arm.kind} arm has no nodes that could be down: choose a topology, or leave that out")
    if arm.agents < 1:
        raise InvalidInput(f"an arm needs at least one agent, not {arm.agents}")
    if cell.retrieval.mode == "semantic" and arm.kind in (SINGLE, *_HIVES) and not means.embedder.dimension:
        raise InvalidInput("mode semantic needs an embedding model: see hive-mind doctor")
