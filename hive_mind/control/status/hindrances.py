"""Hindrances to a fleet, present or soon, in the world around it: refused writes, full disks, a full broker, wrong clocks.

Each function returns one text per trouble, with the place, the figure and what to do. Only decides.
`shortcomings` names the parts of the fleet itself that are not as they should be, one sentence each.
"""

from collections.abc import Iterable, Iterator, Mapping

from hive_mind.control.planning.desired import Desired
from hive_mind.control.planning.plan import Plan
from hive_mind.control.platforms.base import Running
from hive_mind.control.waiting import behind, is_ready
from hive_mind.hive.membership.clock import HiveClockSettings
from hive_mind.runtime.workers.status import NodeStatus, Room, WorkerStatus

# A tenth, or what SQLite may need at once for its log, for a backup and for a move, whichever is less.
_ROOM_SHARE, _ROOM_BYTES = 0.1, 1 << 30
_FILES_LEFT = 1_000
# Streams are trimmed every two seconds; a burst between two trims has to fit into the rest.
_BROKER_SHARE = 0.9
# From here on a hive decides differently by its own time and by this clock.
_SKEW_MS = HiveClockSettings().step_min_ms


def refused_writes(statuses: Iterable[WorkerStatus]) -> list[str]:
    """Agents whose memory, and nodes whose journal or bus, takes nothing."""
    troubles: list[str] = []
    for status in statuses:
        refused = [f"{node.name}: {node.refusal}" for node in status.nodes if node.refusal]
        refused += [f"{agent.name}: {agent.refusal}" for agent in status.agents if agent.refusal]
        if status.phase == "failed" and not refused:
            refused.append(f"{status.process}: {status.error or 'it has failed'}")
        troubles += refused
    return troubles


def short_disks(statuses: Iterable[WorkerStatus]) -> list[str]:
    """Disks that are nearly full, or have no room for another file."""
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
    """Brokers that hold nearly as much as they may."""
    troubles = []
    for node in nodes:
        used, limit = node.broker_used_bytes, node.broker_limit_bytes
        if limit and used >= _BROKER_SHARE * limit:
            remedy = "raise maxmemory (CONFIG SET maxmemory), or start the members that don't read; see hive-mind events stats"
            troubles.append((used / limit, f"the broker holds {_size(used)} of {_size(limit)}: {remedy}"))
    # All of them ask one server, at different moments.
    return [max(troubles)[1]] if troubles else []


def wrong_clocks(nodes: Iterable[NodeStatus]) -> list[str]:
    """Machines whose clock is not that of the others, or of the broker."""
    troubles = []
    for node in nodes:
        for off_ms, whose in ((node.ahead_of_members_ms, "the other members'"), (node.ahead_of_broker_ms, "the broker's")):
            if abs(off_ms) > _SKEW_MS:
                side = "ahead of" if off_ms > 0 else "behind"
                troubles.append(f"the clock of {node.name} is {abs(off_ms) / 1000:,.0f} s {side} {whose}: set it, by NTP")
                break
    return troubles


def _size(count: int) -> str:
    return f"{count / 1_000_000_000:,.1f} GB" if count >= 10**9 else f"{count / 1_000_000:,.1f} MB"


def shortcomings(desired: Desired, running: Mapping[str, Running], plan: Plan) -> Iterator[str]:
    """Processes, nodes and agents that are not ready, and what is still to do."""
    reported: set[str] = set()
    for name in sorted(desired.processes):
        if not is_ready(running.get(name)):
            reported.add(name)
            yield from _of_process(name, running.get(name))
    if late := behind(running, desired.processes):
        yield f"not all nodes know who is a member: {', '.join(late)} know of an older membership"
    for action in plan.actions:
        if action.subject not in reported:
            yield f"{action.kind} {action.subject} is still to do: {action.why}"


def _of_process(name: str, process: Running | None) -> Iterator[str]:
    if process is None or not process.is_alive:
        yield f"{name} does not run{_why(process)}"
    elif process.status is None:
        yield f"{name} has not answered yet{_why(process)}"
    else:
        yield from _of_parts(name, process.status)


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
