"""The desired processes and the steps towards them. Pure: everything is handed in, and nothing is touched.

Here is the plan: the steps from the running processes to the desired ones, and the effect of each on memory, a sentence for a
person with the figures that were observed. It only decides, and says why.

The order is safe: a crashed process comes back first, a process that gives an agent away goes before the one that takes it, and
what leaves goes last, when those that stay are up. Where facts move, everything stops first and nobody has to leave. A step that
would lose facts says so; the caller asks before it is carried out.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from hive_mind.control.planning.changes import Change, changes
from hive_mind.control.planning.desired import Desired
from hive_mind.control.platforms import Running
from hive_mind.control.state import FleetState
from hive_mind.counted import counted
from hive_mind.hive.topology.spec import SINGLE, Holding, holding_of, reads
from hive_mind.runtime.workers import AgentStatus
from hive_mind.runtime.workers.config import AgentConfig, WorkerConfig, founded

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


def impact_of_update(process: Running, differing: Iterable[Change], config: WorkerConfig, desired: Desired) -> Impact:
    """A process is started again with other settings, perhaps without some of its agents."""
    impact, loses = impact_of_change(differing, config)
    agents_gone = [agent.name for agent in process.config.agents if agent.name not in desired.attached] if process.config else []
    status = {agent.name: agent for agent in process.status.agents} if process.status else {}
    ends = [_impact_of_ending(name, status.get(name), is_shared=config.hive.topology != SINGLE) for name in agents_gone]
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
        if (forget := by_path.get("spec.lifecycle.forget")) is not None and forget.new:
            return f"facts begin to fade, and those older than {expiry.max_age_hours:g} h are forgotten", True
        if (ttl := by_path.get("spec.lifecycle.ttlHours")) is not None and ttl.new < ttl.old:
            return f"facts are forgotten after {expiry.max_age_hours:g} h, sooner than before", True
    notes = [note for path, note in _NOTES.items() if any(name.startswith(path) for name in by_path)]
    fate = _KEPT if config.models.store != "memory" else _IN_MEMORY
    return "; ".join([fate, *notes]), False


_NOTES = {
    "spec.embedding": "vectors are computed again where they are of another model",
    "spec.promotion": "what was shared stays shared; what is held back is judged again when it is next offered",
    "spec.trust": "trust and quarantine are computed anew from what everybody knows",
    "spec.lifecycle": "no fact is forgotten by this",
}


def impact_of_leaving(process: Running, desired: Desired, state: FleetState) -> Impact:
    config = process.config
    facts = sum(agent.facts for agent in process.status.agents) if process.status else None
    if config is None:
        if not process.is_alive:
            return "nothing of it runs, and nothing is known of it", False
        return f"nobody can tell which nodes {process.process} runs, so it can't hand over what only it holds", True
    if state.hive is None or config.hive.id != desired.hive.id or config.hive.topology == SINGLE:
        own_facts = "their own facts" if facts is None else counted(facts, "fact")
        fate = "its hive was moved: nothing is lost" if config.hive.topology != SINGLE else f"{own_facts} stay in their databases"
        return f"{process.process} stops; {fate}", False
    name = process.process
    if not process.is_alive:
        return f"{name} does not run: it is started once more to hand over what only it may hold, then leaves", False
    if process.status is None:
        if not process.error:
            return f"{name} has only just begun; it hands over what it holds, then leaves", False
        return f"{name} does not answer ({process.error}): facts that only it holds would be lost", True
    pending = sum(agent.pending for agent in process.status.agents)
    if process.status.phase == "failed" and pending:
        return f"{name} failed, and {counted(pending, 'fact')} of it nobody else has: they would be lost", True
    if process.status.phase == "failed":
        return f"{name} failed: it is started once more to hand over what only it may hold, then leaves", False
    first = f", {pending} of them handed over first" if pending else ""
    return f"{name} leaves: {counted(facts or 0, 'fact')} stay with {_holders(config, desired)}{first}, none lost", False


def _holders(config: WorkerConfig, desired: Desired) -> str:
    staying, hive = set(desired.allocation.nodes), desired.hive
    if reads(hive.topology, "replicas"):
        return counted(min(hive.replicas, len(staying)), "replica")
    if reads(hive.topology, "groups"):
        groups = {node.group for node in config.nodes}
        mates = [n.name for process in desired.processes.values() for n in process.nodes if n.group in groups]
        return f"{counted(len(mates), 'replica')} of {', '.join(sorted(groups))}"
    return counted(len(staying), "replica")


def impact_of_move(desired: Desired, running: Mapping[str, Running], state: FleetState) -> Impact:
    statuses = [process.status for process in running.values() if process.status is not None]
    facts = max((node.facts for status in statuses for node in status.nodes), default=0)
    facts_shown = "all facts" if not facts else f"all facts (at least {facts})"
    if desired.hive.topology == SINGLE:
        return "every agent keeps its own facts and finds those of others no more; they stay in the journals of the hive", False
    stores = {process.config.models.store for process in running.values() if process.config is not None}
    if "memory" in stores:
        return "the hive keeps nothing on disk: what agents shared is gone, but for what they share again", True
    if state.last_hive is None:
        return "a hive is founded; agents share what they know", False
    return (
        f"{facts_shown} move to {desired.hive.id} with all evidence; {state.last_hive.id} is deleted then",
        False,
    )


Kind = Literal["move", "create", "update", "restart", "replace", "learn", "delete"]


class Action(msgspec.Struct, frozen=True):
    """One step. `subject` is a process; of `learn` an agent, of `move` the hive. `memory`: what it does to facts, a sentence.

    create: start it. update: start it again with other settings. restart: it crashed or is of no use. replace: nobody can read
    what settings it has. learn: sources are new or have changed. move: found another generation, with all facts. delete: let it
    hand over what it holds and leave, then stop it. `loses`: facts would be gone, or could not be found any more.
    """

    kind: Kind
    subject: str
    why: str
    changes: tuple[Change, ...] = ()
    memory: str = ""
    loses: bool = False


class Whole(msgspec.Struct, frozen=True):
    """The total of the steps: how many agents there will be, which are new, which are gone; the topology before and then."""

    agents: int
    joining: tuple[str, ...] = ()
    leaving: tuple[str, ...] = ()
    topologies: tuple[str, str] = ("", "")


class Plan(msgspec.Struct, frozen=True):
    """Steps in the order in which they can be taken; none where everything is as it should be.

    `holdings`: what each member of the hive keeps then, as the hive was founded, and what its death costs. `troubles`: why all is
    not well though there is no step, or why others may follow.
    """

    actions: tuple[Action, ...] = ()
    whole: Whole | None = None
    holdings: tuple[Holding, ...] = ()
    troubles: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.actions)

    def to_json(self) -> dict[str, Any]:
        """As dictionaries, lists, text and numbers."""
        plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return plain


def plan(desired: Desired, running: Mapping[str, Running], state: FleetState) -> Plan:
    drained = frozenset(state.drained)
    steps = [*_starts(desired, running, drained), *_changes(desired, running, drained), *_ends(desired, running, state)]
    found_actions = list(_in_order(steps, desired, running))
    actions = (*_moves(desired, running, state), *found_actions, *_lessons(desired, running, found_actions))
    return Plan(actions, _whole(desired, state), _holdings(desired))


def _holdings(desired: Desired) -> tuple[Holding, ...]:
    if (topology := founded(desired.hive)) is None or not (nodes := desired.allocation.nodes):
        return ()
    groups = {node.name: node.group for config in desired.processes.values() for node in config.nodes}
    moved = topology.with_nodes(nodes, groups)
    return tuple(holding_of(moved, node) for node in moved.nodes)


def _whole(desired: Desired, state: FleetState) -> Whole:
    before, hosts_then = state.hosts, desired.allocation.hosts
    former = state.hive.topology if state.hive else desired.hive.topology
    return Whole(
        agents=len(hosts_then),
        joining=tuple(sorted(hosts_then.keys() - before.keys(), key=_natural)),
        leaving=tuple(sorted(before.keys() - hosts_then.keys(), key=_natural)),
        topologies=(former, desired.hive.topology),
    )


def summary(actions: Sequence[Action]) -> str:
    counted = Counter(action.kind for action in actions)
    return ", ".join(f"{count} to {kind}" for kind, count in counted.items())


def removal(running: Mapping[str, Running], *, is_purge: bool = False) -> Plan:
    """Ending a whole fleet. Nobody leaves: what is kept stays as it is for the next apply, or is purged."""
    fate = "everything it holds stays on disk, and is back with the next apply"
    agents_gone = "its databases and journals are deleted: everything it holds is lost"
    return Plan(
        tuple(
            Action("delete", name, "the fleet is deleted", memory=agents_gone if is_purge else fate, loses=is_purge)
            for name in sorted(running, key=_natural)
        )
    )


def _moves(desired: Desired, running: Mapping[str, Running], state: FleetState) -> Iterator[Action]:
    if desired.moves:
        memory, loses = impact_of_move(desired, running, state)
        yield Action("move", desired.hive.id, "; ".join(desired.moves), memory=memory, loses=loses)


def _starts(desired: Desired, running: Mapping[str, Running], drained: frozenset[str]) -> Iterator[Action]:
    for name, config in desired.processes.items():
        process = running.get(name)
        if name in drained:
            continue
        if process is None or (process.config is None and not process.is_alive):
            yield Action("create", name, "it is not running", memory=impact_of_start(config))
        elif process.config is None and not process.is_hidden:
            yield Action(
                "replace", name, process.error or "its configuration can't be read", memory=impact_of_change((), config)[0]
            )


def _changes(desired: Desired, running: Mapping[str, Running], drained: frozenset[str]) -> Iterator[Action]:
    for name, config in desired.processes.items():
        process = running.get(name)
        if name in drained or process is None or process.config is None:
            continue
        if differing := changes(process.config, config):
            memory, loses = impact_of_update(process, differing, config, desired)
            yield Action("update", name, _why_changed(process, differing), differing, memory, loses)
        elif reason := _why_restarted(process):
            yield Action("restart", name, reason, memory=impact_of_change((), config)[0])


def _ends(desired: Desired, running: Mapping[str, Running], state: FleetState) -> Iterator[Action]:
    for name, process in running.items():
        if name not in desired.processes:
            memory, loses = impact_of_leaving(process, desired, state)
            yield Action("delete", name, "the manifest no longer has it", memory=memory, loses=loses)


def _lessons(desired: Desired, running: Mapping[str, Running], actions: Iterable[Action]) -> Iterator[Action]:
    """A process that is started again learns by itself."""
    subjects = {action.subject for action in actions}
    for name, config in desired.processes.items():
        process = running.get(name)
        if name in subjects or process is None or process.status is None or process.config is None or not process.is_alive:
            continue
        configured = {agent.name: agent for agent in process.config.agents}
        status = {agent.name: agent for agent in process.status.agents}
        for agent in config.agents:
            if (agent_status := status.get(agent.name)) is not None and (new := _unlearned(agent, agent_status)):
                yield _lesson(agent, agent_status, new, configured.get(agent.name))


def _unlearned(agent: AgentConfig, status: AgentStatus) -> tuple[str, ...]:
    """Sources it does not know as they are now; none while it learns, as it may be these."""
    if status.phase in ("starting", "learning"):
        return ()
    return tuple(source.path for source in agent.sources if status.learned.get(source.path) != source.digest)


def _lesson(agent: AgentConfig, status: AgentStatus, paths: tuple[str, ...], before: AgentConfig | None) -> Action:
    changed = sum(path in status.learned for path in paths)
    parts = [f"{changed} changed" if changed else "", f"{len(paths) - changed} new" if changed < len(paths) else ""]
    old = tuple(source.path for source in before.sources) if before else ()
    new = tuple(source.path for source in agent.sources)
    differing = (Change(f"spec.agents[{agent.name}].sources", old, new),) if old != new else ()
    memory = "what they say is added; nothing that was learned from them before is forgotten"
    return Action("learn", agent.name, f"sources: {', '.join(part for part in parts if part)}", differing, memory)


def _why_changed(process: Running, differing: tuple[Change, ...]) -> str:
    names = ", ".join(change.path for change in differing[:3])
    names += f" and {len(differing) - 3} more" if len(differing) > 3 else ""
    return f"{'other settings' if process.is_alive else 'it is not running, and has other settings now'}: {names}"


def _why_restarted(process: Running) -> str:
    if not process.is_alive:
        return f"it is not running: {process.error}" if process.error else "it is not running"
    status = process.status
    if status is None or status.phase != "failed":
        return ""
    errors = [status.error, *(node.error for node in status.nodes), *(agent.error for agent in status.agents)]
    return f"it failed: {next((error for error in errors if error), 'it does not say why')}"


def _in_order(steps: Iterable[Action], desired: Desired, running: Mapping[str, Running]) -> Iterator[Action]:
    """Crashed processes first, then new ones, changed ones, leaving ones; but an agent's old process before its new one."""
    rank = {"restart": 0, "create": 1, "delete": 3}
    dead = {name for name, process in running.items() if not process.is_alive}

    def place(action: Action) -> tuple[int, tuple[str, int, str]]:
        is_back = action.subject in dead and action.kind != "delete"
        return 0 if is_back else rank.get(action.kind, 2), _natural(action.subject)

    left = {action.subject: action for action in sorted(steps, key=place)}
    givers = _givers(desired, running)

    def with_givers(name: str) -> Iterator[Action]:
        action = left.pop(name, None)
        if action is not None:
            for giver in givers.get(name, ()):
                yield from with_givers(giver)
            yield action

    for name in list(left):
        yield from with_givers(name)


def _givers(desired: Desired, running: Mapping[str, Running]) -> dict[str, list[str]]:
    hosts = desired.allocation.hosts
    observed: dict[str, list[str]] = {}
    for name, process in sorted(running.items()):
        takers = {hosts.get(agent.name, name) for agent in process.config.agents} if process.config else set()
        for taker in takers - {name}:
            observed.setdefault(taker, []).append(name)
    return observed


def _natural(name: str) -> tuple[str, int, str]:
    """The order a person expects: reader-2 before reader-10."""
    head = name.rstrip("0123456789")
    return head, int(name[len(head) :] or 0), name
