"""What is not as it should be, one sentence each, so that a person knows where to look. Only decides."""

from collections.abc import Iterator, Mapping

from hive_mind.control.planning.desired import Desired
from hive_mind.control.planning.plan import Plan
from hive_mind.control.platforms.base import Running
from hive_mind.control.waiting import behind, is_ready
from hive_mind.runtime.workers.status import WorkerStatus


def shortcomings(wanted: Desired, running: Mapping[str, Running], found: Plan) -> Iterator[str]:
    """Processes, nodes and agents that are not ready, and what is still to do."""
    told: set[str] = set()
    for name in sorted(wanted.processes):
        if not is_ready(running.get(name)):
            told.add(name)
            yield from _of_process(name, running.get(name))
    if late := behind(running, wanted.processes):
        yield f"not all nodes know who is a member: {', '.join(late)} know of an older membership"
    for action in found.actions:
        if action.subject not in told:
            yield f"{action.kind} {action.subject} is still to do: {action.why}"


def _of_process(name: str, seen: Running | None) -> Iterator[str]:
    if seen is None or not seen.is_alive:
        yield f"{name} does not run{_why(seen)}"
    elif seen.status is None:
        yield f"{name} has not answered yet{_why(seen)}"
    else:
        yield from _of_parts(name, seen.status)


def _of_parts(name: str, status: WorkerStatus) -> Iterator[str]:
    # Often the reason for all that follows: a broker that does not answer.
    is_told = bool(status.error)
    if status.error:
        yield f"{name} is {status.phase}: {status.error}"
    for node in status.nodes:
        if not node.is_ready:
            is_told = True
            yield f"node {node.name} is not ready{_colon(node.error or ', '.join(node.findings) or _silent(node.silent))}"
    for agent in status.agents:
        if agent.phase not in ("ready", "asleep"):
            is_told = True
            yield f"agent {agent.name} is {agent.phase}{_colon(agent.error)}"
    if not is_told:
        yield f"{name} is {status.phase}"


def _silent(names: tuple[str, ...]) -> str:
    return f"it does not hear {', '.join(names)}" if names else ""


def _why(seen: Running | None) -> str:
    return _colon(seen.error if seen else "")


def _colon(text: str) -> str:
    return f": {text}" if text else ""
