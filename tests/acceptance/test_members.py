"""`hive-mind members` over real processes and a real Redis: who is there, and putting out one that is dead or hostile."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.hive_mind_command import HiveMind, manifest_of
from tests.acceptance.killing import killed_while_refounding
from tests.servers.redis_server import RedisServer

pytestmark = pytest.mark.slow

FLEET = manifest_of("""\
  topology: {{kind: sharded, replicas: {replicas}}}
  identity: require
  agents:
    - {{name: ada, sources: [pumps.txt]}}
    - {{name: bob}}
    - {{name: cleo}}
    - {{name: dan}}
  bus: "{url}"
""")
FACTS = [f"Pump {number} of the harbour has {number + 2} valves." for number in range(12)]


def applied(fleet: HiveMind, redis: RedisServer, folder: Path, replicas: int) -> None:
    (folder / "pumps.txt").write_text("\n\n".join(FACTS))
    fleet.applies(FLEET.format(url=redis.url, replicas=replicas), folder)


def listed(fleet: HiveMind) -> dict[str, dict[str, Any]]:
    ended = fleet("get", "members", "-o", "json")
    assert ended.code == 0, ended.err
    return {row["name"]: row for row in ended.json}


def waited(until: Callable[[], bool], timeout_s: float = 30.0) -> bool:
    end = time.monotonic() + timeout_s
    while not (done := until()) and time.monotonic() < end:
        time.sleep(0.3)
    return done


def kill(fleet: HiveMind, name: str) -> None:
    agents = fleet("get", "agents", "-o", "json").json
    os.kill(next(int(one["pid"]) for one in agents if one["name"] == name), signal.SIGKILL)


def test_a_dead_member_is_put_out_and_a_hostile_one_once_its_key_is_revoked_and_neither_comes_back(
    fleet: HiveMind, redis: RedisServer, tmp_path: Path
) -> None:
    applied(fleet, redis, tmp_path, replicas=2)
    before = listed(fleet)
    shown = {name: (row["state"], row["certificate"], row["is_member"]) for name, row in before.items()}
    assert shown == dict.fromkeys(("ada", "bob", "cleo", "dan"), ("alive", "good", True))
    alive = fleet("members", "evict", "dan")
    assert (alive.code, alive.out) == (1, "")
    assert "hive-mind keys revoke" in alive.err
    missing = fleet("members", "evict", "zoe")
    assert (missing.code, "its members are ada, bob, cleo, dan" in missing.err) == (2, True)

    kill(fleet, "dan")
    assert waited(lambda: listed(fleet)["dan"]["state"] == "suspected")
    done = fleet("members", "evict", "dan", "-o", "json")
    assert done.code == 0, done.err
    assert (done.json["lost"], done.json["waiting_for"]) == ([], [])

    after = listed(fleet)
    assert not after.get("dan", {"is_member": False})["is_member"]
    assert sum(row["partitions"] for row in after.values()) == sum(row["partitions"] for row in before.values())
    assert {row["epoch"] for name, row in after.items() if name != "dan"} == {done.json["epoch"]}
    assert waited(lambda: not any(row["only_holder_of"] for row in listed(fleet).values()))
    a_hostile_one_is_put_out(fleet, "cleo")
    assert not {name for name, row in listed(fleet).items() if row["is_member"]} - {"ada", "bob"}


def a_hostile_one_is_put_out(fleet: HiveMind, name: str) -> None:
    assert fleet("keys", "revoke", name).code == 0
    assert waited(lambda: listed(fleet)[name]["state"] == "suspected", 60)
    assert listed(fleet)[name]["certificate"] == "revoked"
    done = fleet("members", "evict", name)
    assert done.code == 0, done.err
    # Its process lives, and goes on saying that it is one of them.
    for _ in range(10):
        assert not listed(fleet).get(name, {"is_member": False})["is_member"]


def test_who_alone_has_something_is_put_out_only_by_force_and_it_is_said_what_is_lost(
    fleet: HiveMind, redis: RedisServer, tmp_path: Path
) -> None:
    applied(fleet, redis, tmp_path, replicas=1)
    alone = listed(fleet)["dan"]["only_holder_of"]
    assert alone
    kill(fleet, "dan")
    assert waited(lambda: listed(fleet)["dan"]["state"] == "suspected")

    refused = fleet("members", "evict", "dan")
    assert (refused.code, refused.out) == (1, "")
    assert all(partition in refused.err for partition in alone[:5])
    assert "dan" in listed(fleet)

    forced = fleet("members", "evict", "dan", "--force", "-o", "json")
    assert forced.code == 0, forced.err
    assert forced.json["lost"] == alone

    # What it alone had is in its journal still, and the hive can be founded again from that.
    before = fleet("fleet", "refound", "-o", "json").json
    assert (before["journals"], before["facts"]) == (["ada", "bob", "cleo", "dan"], len(FACTS))
    # Killed in the middle of it, it is begun again.
    killed_while_refounding(fleet, "harbour", "some have stopped")
    again = fleet("fleet", "refound", "--yes")
    assert again.code == 0, again.err
    assert len(fleet("get", "facts", "-o", "json").json) == len(FACTS)
    assert {row["epoch"] for row in listed(fleet).values()} == {1}
