"""A broker that is away, full or lets nobody in: one cause, one line, the right exit code, and nothing is started in vain."""

import fcntl
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from redis import Redis

from tests.acceptance.hive_mind_command import Ended, HiveMind, manifest_of
from tests.servers.redis_server import RedisOptions, RedisServer
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

PATIENCE_S, PASSWORD = 30.0, "hunter-2-and-a-half"
FLEET = manifest_of("""\
  topology: flat
  agents: [{{name: ann}}, {{name: bob}}]
  bus: {{url: "redis://127.0.0.1:{port}", credential: "${{env:BUS_PASSWORD}}"}}
""")


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    server = RedisServer(RedisOptions(password=PASSWORD))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def fleet(guarded: HiveMind, redis: RedisServer, tmp_path: Path) -> HiveMind:
    (tmp_path / "fleet.yaml").write_text(FLEET.format(port=redis.port))
    return guarded.with_environment(BUS_PASSWORD=PASSWORD)


def applied(town: HiveMind, tmp_path: Path) -> Ended:
    return town("apply", "-f", tmp_path / "fleet.yaml")


def children() -> list[psutil.Process]:
    return [one for one in psutil.Process().children(recursive=True) if "agent" in one.cmdline()]


def refused(town: HiveMind, tmp_path: Path) -> str:
    """The one line that is told."""
    before = children()

    ended = applied(town, tmp_path)

    assert ended.code == 1
    assert children() == before
    (line,) = ended.err.splitlines()
    return line


def test_a_wrong_password_and_no_server_are_told_in_one_line_and_nothing_is_started(
    fleet: HiveMind, redis: RedisServer, tmp_path: Path
) -> None:
    told = refused(fleet.with_environment(BUS_PASSWORD=PASSWORD[::-1]), tmp_path)
    assert ("check the user, its password" in told, PASSWORD[::-1] in told) == (True, False)
    redis.kill()
    assert "check that it runs" in refused(fleet, tmp_path)


def test_a_server_whose_memory_is_full_is_told_in_one_line(hive_mind: HiveMind, tmp_path: Path) -> None:
    full = RedisServer(RedisOptions(password=PASSWORD, maxmemory="700kb"))
    full.start()
    try:
        (tmp_path / "fleet.yaml").write_text(FLEET.format(port=full.port))
        told = refused(hive_mind.with_environment(BUS_PASSWORD=PASSWORD), tmp_path)
    finally:
        full.stop()

    assert "memory is full" in told
    assert "CONFIG SET maxmemory" in told


def test_status_is_one_truth_while_the_broker_is_away_and_an_apply_meanwhile_changes_nothing(
    fleet: HiveMind, redis: RedisServer, tmp_path: Path
) -> None:
    assert applied(fleet, tmp_path).code == 0
    seen = fleet("status", "--output", "json")
    assert (seen.code, seen.json["phase"]) == (0, "Ready")
    redis.kill()
    gone_ms = time.time() * 1000

    ended = until(fleet, "Degraded")

    assert ended.code == 1
    assert {agent["phase"] for agent in ended.json["agents"]} == {"disconnected"}
    connected = next(one for one in ended.json["conditions"] if one["type"] == "Connected")
    assert connected["status"] == "False"
    # When it happened, and not when the process began.
    assert abs(connected["since_ms"] - gone_ms) < 1000 * PATIENCE_S
    assert connected["since_ms"] > next(one["since_ms"] for one in ended.json["conditions"] if one["type"] == "Running")

    changed = FLEET.format(port=redis.port).replace("{name: bob}", "{name: bob}, {name: cid}")
    (tmp_path / "fleet.yaml").write_text(changed)
    assert "check that it runs" in refused(fleet, tmp_path)
    with (fleet.home / "fleets" / "harbour" / "lock").open("r+") as another_operator:
        fcntl.flock(another_operator, fcntl.LOCK_EX)
        locked = applied(fleet, tmp_path)
        assert (locked.code, "is being changed by" in locked.err.splitlines()[-1]) == (1, True)
    assert len(fleet("status", "--output", "json").json["agents"]) == 2

    redis.start()
    back = until(fleet, "Ready")

    assert back.code == 0
    comes_back_empty(fleet, redis)
    assert next(one for one in back.json["conditions"] if one["type"] == "Connected")["since_ms"] > connected["since_ms"]


def comes_back_empty(town: HiveMind, redis: RedisServer) -> None:
    """A server that forgot everything is set up again by those that use it."""
    with Redis.from_url(redis.url, decode_responses=True) as client:
        client.flushall()
        redis.restart()
        wait_until(lambda: client.keys("hive:harbour:*"))
    assert until(town, "Ready").code == 0


def until(town: HiveMind, phase: str) -> Ended:
    end = time.monotonic() + PATIENCE_S
    while (ended := town("status", "--output", "json")).json["phase"] != phase:
        assert time.monotonic() < end, ended.out
        time.sleep(0.5)
    return ended


def test_purging_a_fleet_leaves_nothing_of_it_on_the_server(fleet: HiveMind, redis: RedisServer, tmp_path: Path) -> None:
    client = Redis.from_url(redis.url, decode_responses=True)
    client.set("hive:harbour2:all", "of another hive")
    client.set("hive:harbou", "of nobody")
    assert applied(fleet, tmp_path).code == 0
    assert len(client.keys("hive:harbour:*")) > 3

    assert fleet("delete", "--purge", "--yes").code == 0

    assert sorted(client.keys("*")) == ["hive:harbou", "hive:harbour2:all"]
    client.close()


def test_a_purge_whose_server_is_away_says_so_and_can_be_done_again(fleet: HiveMind, redis: RedisServer, tmp_path: Path) -> None:
    assert applied(fleet, tmp_path).code == 0
    redis.kill()

    ended = fleet("delete", "--purge", "--yes")

    assert ended.code == 1
    assert "what it left on its bus is still there" in " ".join(ended.err.split())
    redis.start()
    assert fleet("delete", "--purge", "--yes").code == 0
    assert not (fleet.home / "fleets" / "harbour").exists()
