"""What a person is told who waits for a fleet that does not get there."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from hive_mind.control.planning import Plan
from hive_mind.control.planning.desired import Desired
from hive_mind.control.platforms import Running
from hive_mind.control.status.conditions import full_brokers, refused_writes, short_disks, shortcomings, wrong_clocks
from hive_mind.runtime.workers import AgentStatus, NodeStatus, Phase, Room, WorkerStatus

MB, GB = 1_000_000, 1_000_000_000


def worker(*rooms: Room, nodes: tuple[NodeStatus, ...] = (), agents: tuple[AgentStatus, ...] = ()) -> WorkerStatus:
    return WorkerStatus("ada", 7, "", "team", "ready", 0, nodes, agents, rooms=rooms)


@pytest.mark.parametrize(
    ("room", "said"),
    [
        (Room("/home", 90 * MB, 1000 * MB), "/home has 90.0 MB of 1.0 GB left: delete what nobody needs there"),
        (Room("/home", GB, 10_000 * GB), "/home has 1.0 GB of 10,000.0 GB left"),
        (Room("/home", 5 * GB, 10 * GB, files_left=12), "room for 12 more files"),
        (Room("/home", 150 * MB, 1000 * MB), ""),
        (Room("/home", 2 * GB, 10_000 * GB, files_left=50_000), ""),
    ],
)
def test_a_disk_is_named_when_it_has_less_than_a_tenth_or_a_gigabyte_left(room: Room, said: str) -> None:
    found = short_disks([worker(room)])
    assert (said in found[0]) if said else not found


def test_a_broker_is_named_once_at_nine_tenths_and_not_before() -> None:
    full = NodeStatus("ada", broker_used_bytes=95 * MB, broker_limit_bytes=100 * MB)
    fuller = NodeStatus("bob", broker_used_bytes=96 * MB, broker_limit_bytes=100 * MB)
    half = NodeStatus("cid", broker_used_bytes=50 * MB, broker_limit_bytes=100 * MB)

    (said,) = full_brokers([full, fuller, half])

    assert said.startswith("the broker holds 96.0 MB of 100.0 MB: raise maxmemory")
    assert full_brokers([half, NodeStatus("eve", broker_used_bytes=95 * MB)]) == []


def test_a_clock_that_is_off_is_named_with_how_far_and_one_that_is_nearly_right_is_not() -> None:
    nodes = [
        NodeStatus("ada", ahead_of_members_ms=3_600_000, ahead_of_broker_ms=3_600_000),
        NodeStatus("bob", ahead_of_broker_ms=-90_000),
        NodeStatus("cid", ahead_of_members_ms=9_000),
    ]

    assert wrong_clocks(nodes) == [
        "the clock of ada is 3,600 s ahead of the other members': set it, by NTP",
        "the clock of bob is 90 s behind the broker's: set it, by NTP",
    ]
    many = [NodeStatus(f"n{number}", ahead_of_broker_ms=-60_000) for number in range(7)]
    assert wrong_clocks(many) == ["the clocks of n0, n1, n2, n3, n4 and 2 more are 60 s behind the broker's: set them, by NTP"]


def test_whoever_can_write_nothing_is_named_with_the_reason() -> None:
    told = worker(
        nodes=(NodeStatus("town", refusal="the bus takes nothing"),), agents=(AgentStatus("ben", refusal="disk is full"),)
    )
    assert refused_writes([told, worker()]) == ["town: the bus takes nothing", "ben: disk is full"]


def name_in_fact(phase: Phase, error: str, **node: Any) -> list[str]:
    nodes, agents = (NodeStatus("ada", **node),), (AgentStatus("ada", "ada", phase="starting"),)
    seen = Running("ada", 7, None, WorkerStatus("ada", 7, "", "town", phase, 1_000, nodes, agents, error=error))
    return list(shortcomings(cast(Desired, SimpleNamespace(processes={"ada": None})), {"ada": seen}, Plan(())))


def test_the_reason_where_it_is_known_is_told_before_what_follows_from_it() -> None:
    assert name_in_fact("starting", "redis: not reachable") == [
        "ada is starting: redis: not reachable",
        "node ada is not ready",
        "agent ada is starting",
    ]
    assert name_in_fact("starting", "", is_ready=True) == ["agent ada is starting"]
