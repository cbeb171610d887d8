"""A fleet of real processes whose broker's operator reads nothing: not in memory, nor on disk, nor what is put aside.

Over a real Redis, and over AMQP: Service Bus with Event Hubs, and the other way round, of the development broker.
"""

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import Any, cast

import psutil
import pytest

from hive_mind.control.controller import HiveController
from hive_mind.control.platforms import Running
from hive_mind.devbroker import BrokerThread
from hive_mind.devbroker.broker import BrokerSettings
from tests.acceptance.hive_mind_command import HiveMind, manifest_of
from tests.contract.test_bus_erasing import reached
from tests.servers.redis_server import RedisServer
from tests.waiting import wait_until

# What a fleet of one process in `tests/contract/test_every_field.py`, and members over a Redis in
# `tests/contract/test_encrypted_members.py`, show in a tenth of the time.
pytestmark = [pytest.mark.slow, pytest.mark.thorough]

NAMES = ("ada", "bob", "cleo")
FACTS = 200
# Words that stand in no protocol.
WORDS = ("boathouse", "zanzibar", "marmalade", "quicksilver")
KNOWN = tuple(f"The {word} has berth number {number} of the harbour." for number in range(FACTS // len(WORDS)) for word in WORDS)
WITHIN_S = 30.0
FLEET = manifest_of("""\
  topology: flat
  identity: {{mode: require, encryption: {encryption}}}
  promotion: {{confidenceMin: 0.0}}
  agents: [{agents}]
  bus: {bus}
""")


def apply(fleet: HiveMind, bus: str, folder: Path, names: tuple[str, ...] = NAMES, encryption: str = "true") -> None:
    fleet.applies(FLEET.format(bus=bus, agents=", ".join(f"{{name: {name}}}" for name in names), encryption=encryption), folder)


def say(fleet: HiveMind, agent: str, *texts: str) -> None:
    async def said() -> None:
        async with HiveController.open(fleet.home, "harbour") as controller:
            for text in texts:
                told = await controller.call(agent, "store", content=text, timeout_s=30)
                assert told["sharing"] in ("shared", "held"), told

    asyncio.run(said())


def known_to(fleet: HiveMind, agent: str) -> set[str]:
    async def listed() -> set[str]:
        async with HiveController.open(fleet.home, "harbour") as controller:
            told: dict[str, Any] = await controller.call(agent, "facts", limit=0, timeout_s=30)
            return {fact["content"] for fact in told["facts"]}

    return asyncio.run(listed())


def comes_to(fleet: HiveMind, agent: str, *texts: str) -> None:
    until_s = time.monotonic() + WITHIN_S
    while left := set(texts) - known_to(fleet, agent):
        assert time.monotonic() < until_s, (agent, left)
        time.sleep(0.2)


def at_the_broker(broker: BrokerThread) -> bytes:
    """All that the operator of queues, topics and hubs has, read or not."""
    return b"".join(broker.call(lambda: [*reached(broker.broker.entities, broker.broker)]))


def condition(fleet: HiveMind) -> dict[str, Any]:
    told = fleet("status", "--output", "json").json["conditions"]
    return next(cast(dict[str, Any], one) for one in told if one["type"] == "Identity")


def running(fleet: HiveMind, name: str) -> Running:
    async def found() -> Running:
        async with HiveController.open(fleet.home, "harbour") as controller:
            return (await controller.observe())[name]

    return asyncio.run(found())


def kill(fleet: HiveMind, name: str) -> None:
    os.kill(pid := running(fleet, name).pid, signal.SIGKILL)
    psutil.wait_procs([psutil.Process(pid)] if psutil.pid_exists(pid) else [], timeout=10)


def epoch_of(fleet: HiveMind, name: str) -> int:
    status = running(fleet, name).status
    return status.nodes[0].secret_epoch if status else 0


@pytest.mark.parametrize(
    "buses",
    [
        '{{url: "servicebus://{here}/hive", searches: "eventhubs://{here}/searches"}}',
        '{{url: "eventhubs://{here}/hive", searches: "servicebus://{here}/searches"}}',
    ],
    ids=["servicebus", "eventhubs"],
)
def test_over_amqp_queues_and_hubs_have_no_word_of_it_and_kills_lose_nothing(fleet: HiveMind, tmp_path: Path, buses: str) -> None:
    with BrokerThread(settings=BrokerSettings(auto_partitions=4)) as broker:
        bus, known = buses.format(here=f"127.0.0.1:{broker.port}"), KNOWN[:40]
        apply(fleet, bus, tmp_path)
        say(fleet, "ada", *known)
        comes_to(fleet, "bob", *known)
        assert "berth number" in fleet("ask", "Which berth number has the quicksilver?", "--agent", "bob").out

        # What is said while one is away waits for it at the broker, unread.
        kill(fleet, "cleo")
        say(fleet, "ada", KNOWN[40])
        comes_to(fleet, "bob", KNOWN[40])
        found = at_the_broker(broker)
        assert not [word for word in WORDS if word.encode() in found]
        assert b"encrypted" in found
        assert fleet("rollout", "restart").code == 0
        comes_to(fleet, "cleo", *KNOWN[:41])
        assert not [word for word in WORDS if word.encode() in at_the_broker(broker)]
        assert condition(fleet)["status"] == "True"

        # The words are there where nothing is encrypted: the search would find them.
        apply(fleet, bus, tmp_path, encryption="false")
        kill(fleet, "cleo")
        say(fleet, "ada", "The marmalade has berth number 900 of the harbour.")
        comes_to(fleet, "bob", "The marmalade has berth number 900 of the harbour.")
        assert b"marmalade" in at_the_broker(broker)
        fleet("delete", "--yes")


def test_members_come_and_are_put_out_and_a_kill_then_loses_nothing(fleet: HiveMind, redis: RedisServer, tmp_path: Path) -> None:
    apply(fleet, redis.url, tmp_path)
    say(fleet, "ada", KNOWN[0])
    apply(fleet, redis.url, tmp_path, (*NAMES, "dora"))
    comes_to(fleet, "dora", KNOWN[0])
    keys = fleet.home / "fleets" / "harbour" / "keys"
    assert [path.name for path in keys.glob("*.epoch")] == ["000000001.epoch"]

    # ada is killed in the moment in which the epoch changes, with something to say.
    say(fleet, "ada", KNOWN[1])
    assert fleet("keys", "revoke", "dora").code == 0
    kill(fleet, "ada")
    assert [path.name for path in keys.glob("*.epoch")] == ["000000001.epoch", "000000002.epoch"]
    wait_until(lambda: epoch_of(fleet, "bob") == 2, within_s=WITHIN_S)
    say(fleet, "bob", KNOWN[2])
    assert fleet("rollout", "restart", "ada").code in (0, 1)
    for name in NAMES:
        comes_to(fleet, name, *KNOWN[:3])
    until_s = time.monotonic() + WITHIN_S
    while "dora was not handed the key of epoch 2" not in condition(fleet)["message"]:
        assert time.monotonic() < until_s, condition(fleet)
        time.sleep(0.2)
    assert KNOWN[2] not in known_to(fleet, "dora")
