"""Names of cells on the page: short, in words, and with only the parts that tell them apart."""

from hive_mind.evals.experiments.values import Arm, Fault
from hive_mind.evals.report.figures import counted, share
from hive_mind.evals.scorecards.card import CellCard
from hive_mind.hive.topology.spec import NAMES, reads

KINDS: dict[str, str] = {
    **{name: name for name in NAMES},
    "running": "the agent that runs",
    "seed-federated": "lists merged by rank",
    "routed": "nearest agents only",
    "bm25": "BM25 alone",
    "random": "random",
    "full-context": "full context",
}
BASELINES = ("bm25", "random", "full-context")
PLACES: dict[str, str] = {"in-process": "in process", "redis": "processes over Redis", "simulator": "simulator, virtual time"}


def arm_name(arm: Arm) -> str:
    """An arm with what tells it from others of its kind."""
    return ", ".join(part for part in (KINDS[arm.kind], arm_size(arm)) if part)


def arm_size(arm: Arm) -> str:
    """The part of an arm's name that tells it from others of its kind; "" for one that has no others."""
    if arm.agents < 2:
        return ""
    agents = counted(arm.agents, "agent")
    parts = [
        f"{agents} in {counted(arm.groups, 'group')}"
        if arm.groups
        else f"{arm.fan_out} of {agents} asked"
        if arm.fan_out
        else agents
    ]
    if reads(arm.kind, "replicas") and arm.replicas != Arm().replicas:
        parts.append(counted(arm.replicas, "replica"))
    if arm.deal != Arm().deal:
        parts.append(f"dealt by {arm.deal.removeprefix('by ')}")
    return ", ".join(parts)


def cell_name(cell: CellCard, *, with_seed: bool = False) -> str:
    """A cell among those of its data set and retrieval."""
    parts = [arm_name(cell.arm)]
    if cell.arm.place != "in-process":
        parts.append(PLACES[cell.arm.place].split(",")[0])
    if cell.fault != Fault():
        parts.append(fault_name(cell.fault))
    return ", ".join([*parts, f"seed {cell.seed}"] if with_seed else parts)


def fault_name(fault: Fault) -> str:
    """Name of the fault while questions were asked."""
    parts = []
    if fault.down:
        parts.append(f"{counted(fault.down, 'node')} down")
    if fault.loss:
        parts.append(f"{share(fault.loss, digits=0)} of messages lost")
    if fault.slow:
        parts.append(f"{counted(fault.slow, 'member')} {fault.slow_ms} ms late")
    return ", ".join(parts) or "none"
