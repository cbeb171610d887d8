"""A fleet of real processes over a real broker that has to prove who is who: attacked by a stranger; and made so later."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from hive_mind import backends
from hive_mind.bus import BusSettings, Envelope, EventBus
from hive_mind.bus.address import address_of
from hive_mind.devbroker import BrokerThread
from hive_mind.devbroker.broker import BrokerSettings
from tests.acceptance.hive_mind_command import HiveMind, manifest_of
from tests.attacking import FALSE, TRUE, addressed, said_in_a_twin
from tests.sampled import usually
from tests.servers.redis_server import RedisServer
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

NAMES = ("ada", "bob", "cleo")
LATER = "Pump 9 was bought in 2019."
FLEET = manifest_of("""\
  topology: flat
  identity: {identity}
  trust: {{moderators: [ada]}}
  agents:
    - {{name: ada}}
    - {{name: bob}}
    - {{name: cleo, sources: [pumps.txt]}}
  bus: "{url}"
""")


@pytest.fixture
def redis() -> Iterator[str]:
    with RedisServer() as server:
        yield server.url


@pytest.fixture
def amqp() -> Iterator[str]:
    with BrokerThread(settings=BrokerSettings(auto_partitions=4)) as broker:
        yield f"servicebus://127.0.0.1:{broker.port}/hive"


@pytest.fixture(params=usually(["redis", "amqp"], "redis"))
def broker(request: pytest.FixtureRequest) -> str:
    return cast(str, request.getfixturevalue(request.param))


@pytest.fixture
def fleet(guarded: HiveMind, tmp_path: Path) -> HiveMind:
    (tmp_path / "pumps.txt").write_text(TRUE)
    return guarded


def apply(fleet: HiveMind, url: str, folder: Path, identity: str) -> None:
    fleet.applies(FLEET.format(url=url, identity=identity), folder)


def condition(fleet: HiveMind) -> dict[str, Any]:
    told = fleet("status", "--output", "json").json["conditions"]
    return next(cast(dict[str, Any], one) for one in told if one["type"] == "Identity")


def answers(fleet: HiveMind) -> dict[str, str]:
    return {name: fleet("ask", "What is wrong with pump 4?", "--agent", name).out for name in NAMES}


def attack(url: str, folder: Path, hive: str) -> None:
    """By a process that is no member: this one."""

    async def said(envelopes: list[Envelope]) -> None:
        bus = cast(EventBus, await backends.load("bus", address_of(url).backend).open(address_of(url), BusSettings()))
        await bus.publish(envelopes, timeout_s=30)
        await bus.close()

    asyncio.run(said(addressed(asyncio.run(said_in_a_twin(folder, *NAMES)), hive, NAMES)))


def test_a_stranger_changes_nothing_and_is_seen_in_the_status(fleet: HiveMind, broker: str, tmp_path: Path) -> None:
    apply(fleet, broker, tmp_path, "require")
    assert (condition(fleet)["status"], condition(fleet)["reason"]) == ("True", "Proven")
    before = answers(fleet)
    assert all(TRUE in one for one in before.values())

    attack(broker, tmp_path / "twin", "harbour")
    told = wait_until(lambda: (seen := condition(fleet))["status"] != "True" and seen, "the stranger is seen")

    assert told["reason"] == "NotProven"
    assert "unsigned" in told["message"]
    assert fleet("status").code == 0
    assert answers(fleet) == before
    assert fleet("rollout", "restart").code == 0
    assert answers(fleet) == before
    assert not any(FALSE in one for one in before.values())


def test_a_fleet_that_believed_everybody_is_sealed_later_and_keeps_its_facts(fleet: HiveMind, redis: str, tmp_path: Path) -> None:
    apply(fleet, redis, tmp_path, "off")
    assert condition(fleet)["reason"] == "NotRequired"
    assert all(TRUE in told for told in answers(fleet).values())

    apply(fleet, redis, tmp_path, "warn")
    # One is away when it begins to be required, with what it said unsigned.
    pids = {one["name"]: one["pid"] for one in fleet("status", "-o", "json").json["processes"]}
    os.kill(pids["cleo"], signal.SIGKILL)
    (tmp_path / "later.txt").write_text(LATER)
    assert fleet("learn", tmp_path / "later.txt", "--agent", "ada").code == 0
    apply(fleet, redis, tmp_path, "require")

    assert all(LATER in fleet("ask", "When was pump 9 bought?", "--agent", name).out for name in NAMES)
    assert condition(fleet)["reason"] == "Proven"
    assert all(TRUE in told for told in answers(fleet).values())
    assert {*NAMES} <= {one["name"] for one in fleet("keys", "list", "--output", "json").json}
    assert fleet("keys", "revoke", "bob").code == 0
    wait_until(lambda: "revoked" in condition(fleet)["message"], "bob is seen to be revoked")
    # With a key of its own again it is one of them.
    assert fleet("keys", "issue", "bob").code == 0
    assert fleet("rollout", "restart").code == 0
    assert TRUE in answers(fleet)["bob"]
