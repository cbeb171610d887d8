"""From observations to the state of the fleet: phase, conditions, and a line for every process and agent.

The expected agents are those applied last, so an agent whose process is gone is shown as missing and never left out, and
nothing is green as long as one is. Hindrances, present or soon, are one text per trouble, with the place, the figure and what to
do: refused writes, full disks, a full broker, wrong clocks. Only decides; the present time is an argument.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from hive_mind.control.planning import Plan
from hive_mind.control.planning.desired import Desired
from hive_mind.control.platforms import Running
from hive_mind.control.state import FleetState, Restarts
from hive_mind.control.status import AgentView, Condition, FleetPhase, FleetStatus, ProcessView
from hive_mind.control.surroundings import behind, is_ready
from hive_mind.control.surroundings import behind as late_nodes
from hive_mind.counted import IN_A_LINE, counted, first_of
from hive_mind.hive.heartbeats import STEP_MIN_MS
from hive_mind.runtime.workers import AgentStatus, NodeStatus, Room, WorkerStatus

View = ProcessView | AgentView

_DRAINED = "drained"
_BUSY = frozenset({"starting", "learning", "draining", "waiting", "ready"})
# Conditions that are False while agents answer, and have to be mended all the same.
_TROUBLES = frozenset(
    {"Connected", "Members", "WithinLimits", "WritesAccepted", "DiskSpace", "BrokerMemory", "ClockSkew", "Messages"}
)


def fleet_status(fleet: str, state: FleetState, running: Mapping[str, Running]) -> FleetStatus:
    expected, there = {} if state.is_stopped else state.allocation, (name for name, one in running.items() if one.is_alive)
    views = {name: process_view(name, running.get(name), state) for name in sorted({*expected, *there})}
    agents = tuple(sorted(_agents(expected, running, views), key=lambda one: one.name))
    processes = tuple(views.values())
    every: tuple[View, ...] = (*processes, *agents)
    conditions = _conditions(expected, processes, agents, running)
    return FleetStatus(
        name=fleet,
        phase=_phase(state, processes, agents, conditions),
        topology=state.hive.topology if state.hive else "",
        generation=state.generation,
        revision=state.revision,
        conditions=conditions,
        processes=processes,
        agents=agents,
        facts=sum(agent.facts for agent in agents),
        pending=sum(agent.pending for agent in agents),
        lag=sum(node.lag for process in processes for node in process.nodes),
        messages=sum(process.messages for process in processes),
        restarts=sum(process.restarts for process in processes),
        last_error=next((f"{view.name}: {view.last_error}" for view in every if view.last_error), ""),
    )


def process_view(name: str, process: Running | None, state: FleetState) -> ProcessView:
    restarts = state.restarts.get(name, Restarts())
    if process is None or not process.is_alive:
        if name in state.drained:
            phase, error = _DRAINED, "it was drained; hive-mind rollout restart brings it back"
        else:
            phase, error = "missing", process.error if process and process.error else "it is not running"
        return ProcessView(name, phase, restarts=restarts.count, since_ms=restarts.last_ms, last_error=error)
    if process.status is None:
        phase, since_ms = "silent" if process.error else "starting", int(process.started * 1000)
        used = process.memory_bytes
        return ProcessView(name, phase, process.pid, False, used, process.cpu_s, 0, restarts.count, since_ms, process.error)
    status = process.status
    return ProcessView(
        name=name,
        phase=status.phase,
        pid=process.pid,
        is_ready=status.is_ready,
        memory_bytes=process.memory_bytes or status.memory_bytes,
        cpu_s=process.cpu_s or status.cpu_s,
        messages=sum(node.messages for node in status.nodes),
        restarts=restarts.count,
        since_ms=status.since_ms,
        last_error=status.error or process.error or next((node.error for node in status.nodes if node.error), ""),
        nodes=status.nodes,
        notices=status.notices,
    )


def _agents(
    expected: Mapping[str, Mapping[str, tuple[str, ...]]], running: Mapping[str, Running], views: Mapping[str, ProcessView]
) -> Iterable[AgentView]:
    for process, nodes in expected.items():
        seen_process = running.get(process)
        status = seen_process.status if seen_process else None
        reported = {agent.name: agent for agent in status.agents} if status else {}
        configured = {agent.name: agent for agent in seen_process.config.agents} if seen_process and seen_process.config else {}
        for node, names in nodes.items():
            for name in names:
                config = configured.get(name)
                default = AgentStatus(name, node, config.domain if config else "", config.group if config else "")
                yield agent_view(reported.get(name, default), views[process], name in reported)


def agent_view(agent: AgentStatus, process: ProcessView, is_reported: bool) -> AgentView:
    """How one agent is; `is_reported`: whether its process said so itself."""
    node = next((status for status in process.nodes if status.name == agent.node), NodeStatus(agent.node))
    phase: str = agent.phase if is_reported else process.phase if process.phase != "ready" else "starting"
    is_served = not process.nodes or node.is_ready
    is_ready = is_reported and agent.phase in ("ready", "asleep") and process.phase == "ready" and is_served
    since_ms = (agent.since_ms if is_reported else 0) or process.since_ms
    if phase in ("ready", "asleep") and not is_served:
        # It could answer, and nobody would hear it.
        phase = "waiting" if node.is_connected else "disconnected"
    if is_reported:
        since_ms = max(since_ms, node.ready_since_ms if is_ready or phase == "waiting" else 0)
        since_ms = node.connected_since_ms or since_ms if phase == "disconnected" else since_ms
    error = agent.error or node.error or process.last_error
    return AgentView(
        name=agent.name,
        phase=phase,
        is_ready=is_ready,
        process=process.name,
        group=agent.group or node.group,
        domain=agent.domain,
        facts=agent.facts,
        pending=agent.pending,
        lag=node.lag,
        last_error=error,
        restarts=process.restarts,
        since_ms=since_ms,
        pid=process.pid,
        conditions=(
            _condition("Ready", is_ready, "Ready" if is_ready else phase.capitalize(), error, since_ms),
            _condition("Running", process.pid > 0, "Running" if process.pid else "NoProcess", "", process.since_ms),
            _condition("Shared", is_reported and agent.pending == 0, *_shared(agent, is_reported), is_known=is_reported),
        ),
    )


def _shared(agent: AgentStatus, is_reported: bool) -> tuple[str, str]:
    if not is_reported:
        return "NotKnown", "it does not answer"
    if not agent.pending:
        return "AllConfirmed", ""
    return "Pending", f"{counted(agent.pending, 'fact is', 'facts are')} not confirmed"


def _conditions(
    expected: Mapping[str, object],
    processes: tuple[ProcessView, ...],
    agents: tuple[AgentView, ...],
    running: Mapping[str, Running],
) -> tuple[Condition, ...]:
    nodes = tuple(node for process in processes for node in process.nodes)
    views: tuple[View, ...] = (*processes, *agents)
    alive = [(one.pid > 0, one.since_ms) for one in processes if one.phase != _DRAINED]
    statuses = [process.status for process in running.values() if process.status]
    is_known = bool(expected) and all(process.status for process in running.values()) and bool(running)
    dead = [process.name for process in processes if not process.pid and process.phase != _DRAINED]
    waiting = [view.name for view in views if not view.is_ready and view.phase != _DRAINED]
    names = [process.name for process in processes if process.phase == _DRAINED]
    astray = [node.name for node in nodes if not node.is_connected]
    silent = sorted({name for node in nodes for name in node.silent})
    silent += [f"{name} knows of an older membership" for name in late_nodes(running, running)]
    late = sorted({name for node in nodes for name in node.late})
    slow = [f"{first_of(late, IN_A_LINE)}: answers come late or not at all; the broker or processes are slow"] if late else []
    wanted = [view for view in views if view.phase != _DRAINED]
    ready = _since((one.is_ready, one.since_ms) for one in wanted if isinstance(one, AgentView) or one.phase != "ready")
    connected = _since((node.is_connected, node.connected_since_ms) for node in nodes)
    heard_since = _since((not (node.silent or node.late), node.heard_since_ms) for node in nodes)
    even = _since((not (node.lag or node.outbox), node.even_since_ms) for node in nodes)
    failed = [agent.since_ms for agent in agents if agent.phase == "failed"]
    missing = "ProcessMissing" if expected or not processes else "NotEnded"
    dead = dead if expected else [process.name for process in processes] or ["no process"]
    return (
        _ready(waiting if expected else ["nothing was applied, or it was deleted"], names, ready),
        _unless("Running", "AllRunning", missing, dead, _since(alive)),
        _unless("Connected", "Connected", "BusUnreachable", astray, connected, is_known=is_known),
        _unless(
            "Members", "AllHeard", "MembersSilent" if silent else "MembersLate", silent + slow, heard_since, is_known=is_known
        ),
        _unless("Replicated", "UpToDate", "Behind", _behind(nodes, agents), even, is_known=is_known),
        _unless("WritesAccepted", "WritesAccepted", "WritesRefused", refused_writes(statuses), is_known=is_known),
        _unless("DiskSpace", "Enough", "NearlyFull", short_disks(statuses), is_known=is_known),
        _broker_memory(nodes, is_known=is_known),
        _unless("ClockSkew", "ClocksAgree", "ClockOff", wrong_clocks(nodes), is_known=is_known),
        _unless("Messages", "AllTaken", "SetAside", _set_aside(nodes), is_known=is_known),
        _identity(nodes, is_known=is_known),
        _unless("WithinLimits", "WithinLimits", "MemoryExceeded", _too_large(running.values()), is_known=is_known),
        _unless("Learned", "Learned", "SourceFailed", _untaught(processes, agents), min(failed, default=0), is_known=is_known),
    )


def _ready(waiting: list[str], drained_names: list[str], since_ms: int) -> Condition:
    """Whether everybody that is wanted is ready. A process that was drained is away because somebody said so."""
    if waiting or not drained_names:
        return _unless("Ready", "AllReady", "NotReady", waiting, since_ms)
    drained = f"{first_of(drained_names, IN_A_LINE)} drained: hive-mind rollout restart brings back what was"
    return _condition("Ready", True, "AllButDrained", drained, since_ms)


def _broker_memory(nodes: Iterable[NodeStatus], *, is_known: bool) -> Condition:
    """Whether the broker has room for what is published; not known of one that doesn't say."""
    statuses = [node for node in nodes if node.broker_limit_bytes]
    if not statuses:
        return Condition("BrokerMemory", "Unknown", "NotTold", "this bus does not say how much it holds")
    return _unless("BrokerMemory", "Enough", "NearlyFull", full_brokers(statuses), is_known=is_known)


def _set_aside(nodes: Iterable[NodeStatus]) -> list[str]:
    """Messages that could not be handled: of another version or another program, for instance."""
    reasons = [f"{node.name} set aside {count:,} {why}" for node in nodes for why, count in sorted(node.set_aside.items())]
    # The counts are those of processes, which know nothing of letters that a person has dropped.
    advice = "see: hive-mind events dlq --fleet; hive-mind rollout restart counts from 0"
    return [f"{first_of(reasons, IN_A_LINE)}; {advice}"] if reasons else []


def _identity(nodes: Iterable[NodeStatus], *, is_known: bool) -> Condition:
    """Whether everybody is whom it says it is; not known where nobody has to prove it."""
    statuses = [node for node in nodes if node.identity != "off"]
    if not statuses:
        return Condition("Identity", "Unknown", "NotRequired", "any client that may write to the bus is trusted")
    against = [f"{node.name} {node.keyless}" for node in statuses if node.keyless]
    against += [f"{node.name} heard {count:,} {why}" for node in statuses for why, count in sorted(node.unproven.items())]
    against += [f"{node.name} forgot {count:,} × {why}" for node in statuses for why, count in sorted(node.limited.items())]
    if any(node.identity == "warn" for node in statuses) and not against:
        # Counted since the last start: that nothing was heard since proves nothing.
        believed = "identity: warn believes unproven members; since the last start none was heard"
        return Condition("Identity", "Unknown", "NotRequired", believed)
    return _unless("Identity", "Proven", "NotProven", against, is_known=is_known)


def _since(parts: Iterable[tuple[bool, int]]) -> int:
    """Since when all hold, or one does not, of (whether it holds, since when); 0 where that is not known."""
    part_names = list(parts)
    broken = [since_ms for holds, since_ms in part_names if not holds]
    return min(broken) if broken else max((since_ms for _, since_ms in part_names), default=0)


def _behind(nodes: Iterable[NodeStatus], agents: Iterable[AgentView]) -> list[str]:
    sending = [f"{node.name}: {node.lag} behind, {node.outbox} to send" for node in nodes if node.lag or node.outbox]
    return [*sending, *(f"{agent.name}: {agent.pending} pending" for agent in agents if agent.pending)]


def _untaught(processes: Iterable[ProcessView], agents: Iterable[AgentView]) -> list[str]:
    """Agents that failed by themselves; those of a process that has failed have not come to learning."""
    able = {process.name for process in processes if process.phase == "ready"}
    return [f"{agent.name}: {agent.last_error}" for agent in agents if agent.phase == "failed" and agent.process in able]


def _unless(type: str, good: str, bad: str, against: list[str], since_ms: int = 0, *, is_known: bool = True) -> Condition:
    """True when nothing speaks against it; what does is named, as far as a line has room."""
    message = first_of([*dict.fromkeys(against)], IN_A_LINE)
    return _condition(type, not against, bad if against else good, message, since_ms, is_known=is_known or bool(against))


def _condition(type: str, holds: bool, reason: str, message: str, since_ms: int = 0, *, is_known: bool = True) -> Condition:
    status: Literal["True", "False", "Unknown"] = "Unknown" if not is_known else "True" if holds else "False"
    return Condition(type, status, reason if is_known else "NotKnown", message, since_ms)


def _too_large(running: Iterable[Running]) -> list[str]:
    """Processes that take more memory than their agents may together; one without a limit lifts that of its process."""
    reasons: list[str] = []
    for process in running:
        limits = [agent.memory_mb for agent in process.config.agents] if process.config else []
        used_mb = process.memory_bytes / 1_000_000
        if limits and all(limits) and used_mb > sum(limits):
            reasons.append(f"{process.process} takes {used_mb:.0f} MB of {sum(limits)}")
    return reasons


def _phase(
    state: FleetState, processes: tuple[ProcessView, ...], agents: tuple[AgentView, ...], conditions: tuple[Condition, ...]
) -> FleetPhase:
    is_meant = state.is_stopped or all(process.phase == _DRAINED for process in processes)
    if not any(process.pid for process in processes) and (is_meant or not state.allocation):
        return "Stopped"
    if state.is_stopped:
        return "Progressing"
    views: tuple[View, ...] = (*processes, *agents)
    late = [view.phase for view in views if not view.is_ready and view.phase != _DRAINED]
    false = {condition.type for condition in conditions if condition.status == "False"}
    if not late:
        return "Degraded" if false & _TROUBLES else "Ready"
    # A process that starts is not connected yet; one that has tried in vain says why.
    is_cut_off = any(node.error and not node.is_connected for process in processes for node in process.nodes)
    if is_cut_off or "WritesAccepted" in false:
        return "Degraded"
    # A process that is ready but for its nodes, or has agents that are still learning, is on its way.
    return "Progressing" if all(phase in _BUSY for phase in late) else "Degraded"


# A tenth, or what SQLite may need at once for its log, for a backup and for a move, whichever is less.
_ROOM_SHARE, _ROOM_BYTES = 0.1, 1 << 30
_FILES_LEFT = 1_000
# Streams are trimmed every two seconds; a burst between two trims has to fit into the rest.
_BROKER_SHARE = 0.9
# From here on a hive decides differently by its own time and by this clock.
_SKEW_MS = STEP_MIN_MS


def refused_writes(statuses: Iterable[WorkerStatus]) -> list[str]:
    troubles: list[str] = []
    for status in statuses:
        refused = [f"{node.name}: {node.refusal}" for node in status.nodes if node.refusal]
        refused += [f"{agent.name}: {agent.refusal}" for agent in status.agents if agent.refusal]
        if status.phase == "failed" and not refused:
            refused.append(f"{status.process}: {status.error or 'it has failed'}")
        troubles += refused
    return troubles


def short_disks(statuses: Iterable[WorkerStatus]) -> list[str]:
    return [text for status in statuses for room in status.rooms if (text := shortage(room))]


def shortage(room: Room) -> str:
    """Why a disk will soon take nothing more; "" where it has room."""
    left = f"{room.path} has {_size(room.free_bytes)} of {_size(room.total_bytes)} left"
    if 0 <= room.files_left < _FILES_LEFT:
        return f"{room.path} has room for {room.files_left} more files (inodes): delete some, or make the file system anew"
    if room.free_bytes < min(_ROOM_SHARE * room.total_bytes, _ROOM_BYTES):
        return f"{left}: delete what nobody needs there, or give it a larger disk"
    return ""


def full_brokers(nodes: Iterable[NodeStatus]) -> list[str]:
    troubles = []
    for node in nodes:
        used, limit = node.broker_used_bytes, node.broker_limit_bytes
        if limit and used >= _BROKER_SHARE * limit:
            remedy = "raise maxmemory (CONFIG SET maxmemory), or start the members that don't read; see hive-mind events stats"
            troubles.append((used / limit, f"the broker holds {_size(used)} of {_size(limit)}: {remedy}"))
    # All of them ask one server, at different moments.
    return [max(troubles)[1]] if troubles else []


def wrong_clocks(nodes: Iterable[NodeStatus]) -> list[str]:
    names: dict[str, list[str]] = {}
    for node in nodes:
        for off_ms, whose in ((node.ahead_of_members_ms, "the other members'"), (node.ahead_of_broker_ms, "the broker's")):
            if abs(off_ms) > _SKEW_MS:
                side = "ahead of" if off_ms > 0 else "behind"
                names.setdefault(f"{abs(off_ms) / 1000:,.0f} s {side} {whose}", []).append(node.name)
                break
    # Of one machine with many members there is one clock to set.
    return [
        f"the clock of {alike[0]} is {off}: set it, by NTP"
        if len(alike) == 1
        else f"the clocks of {first_of(alike, IN_A_LINE)} are {off}: set them, by NTP"
        for off, alike in names.items()
    ]


def _size(count: int) -> str:
    return f"{count / 1_000_000_000:,.1f} GB" if count >= 10**9 else f"{count / 1_000_000:,.1f} MB"


def shortcomings(desired: Desired, running: Mapping[str, Running], plan: Plan) -> Iterator[str]:
    """Processes, nodes and agents that are not ready, and what is still to do."""
    reported: set[str] = set()
    for name in sorted(desired.processes):
        if not is_ready(running.get(name)):
            reported.add(name)
            process = running.get(name)
            if process is None or not process.is_alive:
                yield f"{name} does not run{_why(process)}"
            elif process.status is None:
                yield f"{name} has not answered yet{_why(process)}"
            else:
                yield from _of_parts(name, process.status)
    if late := behind(running, desired.processes):
        yield f"not all nodes know who is a member: {', '.join(late)} know of an older membership"
    for action in plan.actions:
        if action.subject not in reported:
            yield f"{action.kind} {action.subject} is still to do: {action.why}"


def _of_parts(name: str, status: WorkerStatus) -> Iterator[str]:
    # Often the reason for all that follows: a broker that does not answer.
    is_explained = bool(status.error)
    if status.error:
        yield f"{name} is {status.phase}: {status.error}"
    for node in status.nodes:
        if not node.is_ready:
            is_explained = True
            yield f"node {node.name} is not ready{_colon(node.error or ', '.join(node.findings) or _silent(node.silent))}"
    for agent in status.agents:
        if agent.phase not in ("ready", "asleep"):
            is_explained = True
            yield f"agent {agent.name} is {agent.phase}{_colon(agent.error)}"
    if not is_explained:
        yield f"{name} is {status.phase}"


def _silent(names: tuple[str, ...]) -> str:
    return f"it does not hear {', '.join(names)}" if names else ""


def _why(process: Running | None) -> str:
    return _colon(process.error if process else "")


def _colon(text: str) -> str:
    return f": {text}" if text else ""
