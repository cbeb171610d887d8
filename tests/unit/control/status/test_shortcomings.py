"""What a person is told who waits for a fleet that does not get there."""

from types import SimpleNamespace
from typing import Any, cast

from hive_mind.control.planning.desired import Desired
from hive_mind.control.planning.plan import Plan
from hive_mind.control.platforms.base import Running
from hive_mind.control.status.hindrances import shortcomings
from hive_mind.runtime.workers.status import AgentStatus, NodeStatus, Phase, WorkerStatus


def told_of(phase: Phase, error: str, **node: Any) -> list[str]:
    nodes, agents = (NodeStatus("ada", **node),), (AgentStatus("ada", "ada", phase="starting"),)
    seen = Running("ada", 7, None, WorkerStatus("ada", 7, "", "town", phase, 1_000, nodes, agents, error=error))
    wanted = cast(Desired, SimpleNamespace(processes={"ada": None}))
    return list(shortcomings(wanted, {"ada": seen}, Plan(())))


def test_the_reason_is_told_before_what_follows_from_it() -> None:
    assert told_of("starting", "redis: not reachable") == [
        "ada is starting: redis: not reachable",
        "node ada is not ready",
        "agent ada is starting",
    ]


def test_where_no_reason_is_known_what_is_not_ready_is_named() -> None:
    assert told_of("starting", "", is_ready=True) == ["agent ada is starting"]
