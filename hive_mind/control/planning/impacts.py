"""The effect of a step on memory, in a sentence for a person, and whether it would lose facts. Figures are those observed."""

from collections.abc import Iterable, Mapping

from hive_mind.control.planning.changes import Change
from hive_mind.control.planning.desired import Desired
from hive_mind.control.platforms.base import Running
from hive_mind.control.state import FleetState
from hive_mind.counted import counted
from hive_mind.hive.topology.spec import SINGLE, reads
from hive_mind.runtime.workers.config import WorkerConfig
from hive_mind.runtime.workers.status import AgentStatus

Impact = tuple[str, bool]
"""A sentence, and whether something is lost."""

_KEPT = "nothing is lost: what it knows is on disk and is read again"
_IN_MEMORY = "it keeps nothing on disk: what it knows is gone when it ends, but for what others hold and what it learns again"


def impact_of_start(config: WorkerConfig) -> str:
    if config.hive.topology == SINGLE:
        return "each of its agents reads its own memory, and shares nothing"
    if any(node.is_joining for node in config.nodes):
        return "it joins the hive and gets its share of the facts from the others"
    return "it is a founder of the hive; what its journal holds is read again"


def impact_of_update(found: Running, differing: Iterable[Change], config: WorkerConfig, desired: Desired) -> Impact:
    """A process is started again with other settings, perhaps without some of its agents."""
    impact, loses = impact_of_change(differing, config)
    gone = [agent.name for agent in found.config.agents if agent.name not in desired.attached] if found.config else []
    status = {agent.name: agent for agent in found.status.agents} if found.status else {}
    ends = [_impact_of_ending(name, status.get(name), is_shared=config.hive.topology != SINGLE) for name in gone]
    return "; ".join([*ends, impact]), loses


def _impact_of_ending(name: str, status: AgentStatus | None, *, is_shared: bool) -> str:
    """An agent goes, and its process stays."""
    facts = counted(status.facts, "fact") if status else "what it knows"
    if not is_shared:
        return f"{name} ends: {facts} stay in its database"
    unshared = f", {status.pending} not shared yet in its database alone" if status and status.pending else ""
    return f"{name} ends: {facts} stay with the hive as far as shared{unshared}, none lost"


def impact_of_change(differing: Iterable[Change], config: WorkerConfig) -> Impact:
    by_path = {change.path: change for change in differing}
    if (store := by_path.get("spec.store")) is not None:
        if store.new == "memory":
            return "what is on disk stays there and is used no more; what it learns from now on ends with it", True
        return "from now on it keeps what it knows on disk; what it had in memory ends with it", False
    expiry = config.tuning.standing.expiry
    if expiry.is_on:
        if _is_turned_on(by_path.get("spec.lifecycle.forget")):
            return f"facts begin to fade, and those older than {expiry.max_age_hours:g} h are forgotten", True
        if _is_shorter(by_path.get("spec.lifecycle.ttlHours")):
            return f"facts are forgotten after {expiry.max_age_hours:g} h, sooner than before", True
    notes = [note for path, note in _NOTES.items() if any(name.startswith(path) for name in by_path)]
    kept = _KEPT if config.models.store != "memory" else _IN_MEMORY
    return "; ".join([kept, *notes]), False


_NOTES = {
    "spec.embedding": "vectors are computed again where they are of another model",
    "spec.promotion": "what was shared stays shared; what is held back is judged again when it is next offered",
    "spec.trust": "trust and quarantine are computed anew from what everybody knows",
    "spec.lifecycle": "no fact is forgotten by this",
}


def impact_of_leaving(found: Running, desired: Desired, state: FleetState) -> Impact:
    """A process goes for good."""
    config = found.config
    facts = sum(agent.facts for agent in found.status.agents) if found.status else None
    if config is None:
        if not found.is_alive:
            return "nothing of it runs, and nothing is known of it", False
        return f"nobody can tell which nodes {found.process} runs, so it can't hand over what only it holds", True
    if state.hive is None or config.hive.id != desired.hive.id or config.hive.topology == SINGLE:
        own = "their own facts" if facts is None else counted(facts, "fact")
        what = "its hive was moved: nothing is lost" if config.hive.topology != SINGLE else f"{own} stay in their databases"
        return f"{found.process} stops; {what}", False
    return _impact_of_handing_over(found, config, desired, facts)


def _impact_of_handing_over(found: Running, config: WorkerConfig, desired: Desired, facts: int | None) -> Impact:
    name = found.process
    if not found.is_alive:
        return f"{name} does not run: it is started once more to hand over what only it may hold, then leaves", False
    if found.status is None:
        if not found.error:
            return f"{name} has only just begun; it hands over what it holds, then leaves", False
        return f"{name} does not answer ({found.error}): facts that only it holds would be lost", True
    pending = sum(agent.pending for agent in found.status.agents)
    if found.status.phase == "failed" and pending:
        return f"{name} failed, and {counted(pending, 'fact')} of it nobody else has: they would be lost", True
    if found.status.phase == "failed":
        return f"{name} failed: it is started once more to hand over what only it may hold, then leaves", False
    first = f", {pending} of them handed over first" if pending else ""
    return f"{name} leaves: {counted(facts or 0, 'fact')} stay with {_holders(config, desired)}{first}, none lost", False


def _holders(config: WorkerConfig, desired: Desired) -> str:
    staying, hive = set(desired.allocation.nodes), desired.hive
    if reads(hive.topology, "replicas"):
        return counted(min(hive.replicas, len(staying)), "replica")
    if reads(hive.topology, "groups"):
        groups = {node.group for node in config.nodes}
        mates = [n.name for one in desired.processes.values() for n in one.nodes if n.group in groups]
        return f"{counted(len(mates), 'replica')} of {', '.join(sorted(groups))}"
    return counted(len(staying), "replica")


def impact_of_move(desired: Desired, running: Mapping[str, Running], state: FleetState) -> Impact:
    statuses = [one.status for one in running.values() if one.status is not None]
    facts = max((node.facts for status in statuses for node in status.nodes), default=0)
    known = "all facts" if not facts else f"all facts (at least {facts})"
    if desired.hive.topology == SINGLE:
        return "every agent keeps its own facts and finds those of others no more; they stay in the journals of the hive", False
    stores = {one.config.models.store for one in running.values() if one.config is not None}
    if "memory" in stores:
        return "the hive keeps nothing on disk: what agents shared is gone, but for what they share again", True
    if state.last_hive is None:
        return "a hive is founded; agents share what they know", False
    return (
        f"{known} move to {desired.hive.id} with all evidence; {state.last_hive.id} is deleted then",
        False,
    )


def _is_turned_on(change: Change | None) -> bool:
    return change is not None and bool(change.new)


def _is_shorter(change: Change | None) -> bool:
    return change is not None and change.new < change.old
