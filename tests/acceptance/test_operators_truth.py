"""Real processes whose broker is full or used by somebody else, or whose disk fills: named in time, and over when mended."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from tests.acceptance.hive_mind_command import Ended, HiveMind
from tests.servers.quota import disk_of, filled
from tests.servers.redis_server import RedisServer

pytestmark = pytest.mark.slow

PATIENCE_S = 60.0
FLEET = """\
apiVersion: hive-mind/v1
kind: Hive
metadata: {{name: {name}}}
spec:
  topology: flat
  identity: "off"
  agents: [{{name: ann}}, {{name: bob}}]
  bus: "{url}"
"""


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
def client(redis: RedisServer) -> Iterator["Redis[str]"]:
    with Redis.from_url(redis.url, decode_responses=True) as made:
        yield made


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A home's disk of 32 MB."""
    with disk_of(32, tmp_path / "disk") as disk:
        yield disk


def started(town: HiveMind, redis: RedisServer, folder: Path, name: str = "harbour") -> HiveMind:
    (folder / "fleet.yaml").write_text(FLEET.format(url=redis.url, name=name))
    ended = town("apply", "-f", folder / "fleet.yaml")
    assert ended.code == 0, ended.err
    return town


@pytest.fixture(scope="module")
def running(redis: RedisServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveMind]:
    folder = tmp_path_factory.mktemp("fleet")
    town = started(HiveMind(folder / "home"), redis, folder)
    yield town
    town("delete", "--yes")


@pytest.fixture
def fleet(running: HiveMind, client: "Redis[str]") -> Iterator[HiveMind]:
    """One for all tests of its broker, which is well before and after each."""
    until_ready(running)
    yield running
    client.config_set("maxmemory", "0")
    client.delete("hive:harbour:brief")


def condition(ended: Ended, type: str) -> dict[str, Any]:
    return next(dict(one) for one in ended.json["conditions"] if one["type"] == type)


def until(town: HiveMind, is_so: Callable[[Ended], bool]) -> Ended:
    end = time.monotonic() + PATIENCE_S
    while not is_so(ended := town("status", "--output", "json")):
        assert time.monotonic() < end, ended.out
        time.sleep(0.5)
    return ended


def until_false(town: HiveMind, type: str) -> Ended:
    return until(town, lambda ended: condition(ended, type)["status"] == "False")


def until_ready(town: HiveMind) -> Ended:
    return until(town, lambda ended: ended.json["phase"] == "Ready")


def readiness(town: HiveMind, process: str) -> tuple[int, dict[str, Any]]:
    """What a probe of Kubernetes would hear."""
    contact = json.loads((town.home / "fleets" / "harbour" / "run" / f"{process}.json").read_text())
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{contact['port']}/readyz", timeout=10) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def test_a_broker_whose_memory_is_full_is_named_and_nothing_is_green_over_it(fleet: HiveMind, client: "Redis[str]") -> None:
    until(fleet, lambda ended: condition(ended, "BrokerMemory")["status"] == "True")
    assert readiness(fleet, "ann")[0] == 200
    client.config_set("maxmemory", "1mb")

    ended = until_false(fleet, "WritesAccepted")

    assert (ended.code, ended.json["phase"]) == (1, "Degraded")
    memory = condition(until_false(fleet, "BrokerMemory"), "BrokerMemory")
    assert memory["reason"] == "NearlyFull"
    assert "raise maxmemory" in memory["message"]
    until(fleet, lambda ended: not any(agent["is_ready"] for agent in ended.json["agents"]))
    for name in ("ann", "bob"):
        code, told = readiness(fleet, name)
        assert code == 503
        assert "memory is full" in told["reasons"][0]
    table = fleet("status")
    assert table.code == 1
    assert "BrokerMemory" in table.out
    client.config_set("maxmemory", "0")
    assert until_ready(fleet).code == 0
    assert readiness(fleet, "ann")[0] == 200


def test_a_broker_is_named_before_it_is_full(fleet: HiveMind, client: "Redis[str]") -> None:
    client.config_set("maxmemory", str(int(int(client.info("memory")["used_memory"]) * 1.07)))
    ended = until_false(fleet, "BrokerMemory")
    assert condition(ended, "WritesAccepted")["status"] == "True"
    assert "MB of" in condition(ended, "BrokerMemory")["message"]


def test_a_key_that_another_program_has_taken_is_named_with_what_to_do(fleet: HiveMind, client: "Redis[str]") -> None:
    client.set("hive:harbour:brief", "a session of some web shop")

    # Who writes meets it first, and says only what the server said; who looks after the server names the key.
    named = "hive:harbour:brief is a string and should be a stream"
    ended = until(fleet, lambda ended: named in condition(ended, "WritesAccepted")["message"])

    assert (ended.code, ended.json["phase"]) == (1, "Degraded")
    assert "delete these keys" in condition(ended, "WritesAccepted")["message"]
    client.delete("hive:harbour:brief")
    assert until_ready(fleet).code == 0


def test_a_disk_is_named_before_it_is_full_and_when_it_is(redis: RedisServer, tmp_path: Path, disk: Path) -> None:
    town = started(HiveMind(disk / "home"), redis, tmp_path, "island")
    try:
        assert condition(until_ready(town), "DiskSpace")["status"] == "True"
        filled(disk, but=2_500_000)

        ended = until_false(town, "DiskSpace")

        assert (ended.code, ended.json["phase"]) == (1, "Degraded")
        assert condition(ended, "WritesAccepted")["status"] == "True"
        assert "MB left: delete what nobody needs" in condition(ended, "DiskSpace")["message"]
        filler = filled(disk)
        notes = tmp_path / "notes.txt"
        notes.write_text("".join(f"Pump {number} ran {'very ' * 40} well on day {number}.\n" for number in range(400)))
        town("learn", notes, "--agent", "ann")
        refused = until_false(town, "WritesAccepted")
        assert refused.code == 1
        assert "disk is full" in condition(refused, "WritesAccepted")["message"]
        filler.unlink()
        # A node whose journal met the full disk has stopped, and says that it has to be started again.
        if "has stopped" in town("status", "--output", "json").out:
            assert town("rollout", "restart").code == 0
        assert condition(until_ready(town), "DiskSpace")["status"] == "True"
    finally:
        (disk / "filler").unlink(missing_ok=True)
        town("delete", "--yes")
