"""`hive-mind bus check` says whether a bus works, what it can, and what to do when it does not."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hive_mind.devbroker import BrokerThread
from hive_mind.devbroker.broker import BrokerSettings
from tests.acceptance.hive_mind_command import HiveMind
from tests.contract.buses.servicebus import add_subscription
from tests.servers.redis_server import RedisServer


@pytest.fixture
def hive_mind(tmp_path: Path) -> HiveMind:
    return HiveMind(tmp_path / ".hive")


@pytest.fixture(scope="module")
def broker() -> Iterator[BrokerThread]:
    with BrokerThread() as thread:
        thread.add_topic("hive")
        add_subscription(thread, "hive", "bus-check.check")
        yield thread


@pytest.fixture
def servicebus(broker: BrokerThread, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("HIVE_MIND_BUS_CREDENTIAL", broker.connection_string())
    return f"servicebus://127.0.0.1:{broker.port}"


def test_a_bus_that_works_is_described_and_programs_get_the_same_as_json(
    hive_mind: HiveMind, servicebus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = hive_mind("bus", "check", servicebus)
    assert ended.code == 0, ended.err
    for part in ("It works.", servicebus, "durable subscriptions  yes", "outlives a restart     no", "1,044,480 bytes", "median"):
        assert part in ended.out
    assert "SAS_KEY_VALUE" not in ended.out + ended.err

    monkeypatch.setenv("HIVE_MIND_BUS", servicebus)
    found = hive_mind("bus", "check", "--output", "json").json
    assert (found["is_ok"], found["capabilities"]["is_durable"], found["problem"]) == (True, True, "")
    assert 0 < found["round_trip_ms"]["median"] <= found["round_trip_ms"]["worst"]
    assert hive_mind("bus", "check", "memory", "-o", "json").json["is_ok"] is True


def test_a_redis_server_works_too(hive_mind: HiveMind) -> None:
    with RedisServer() as server:
        ended = hive_mind("bus", "check", server.url)
    assert ended.code == 0, ended.out + ended.err
    assert "can be watched         yes" in ended.out


@pytest.mark.parametrize(
    ("credential", "path", "says"),
    [
        ("Endpoint=sb://127.0.0.1;SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=hunter2", "", "access denied"),
        (None, "/nowhere", "does not exist"),
    ],
)
def test_what_the_broker_refuses_is_told_with_what_to_do(
    hive_mind: HiveMind, servicebus: str, monkeypatch: pytest.MonkeyPatch, credential: str | None, path: str, says: str
) -> None:
    if credential:
        monkeypatch.setenv("HIVE_MIND_BUS_CREDENTIAL", credential)

    ended = hive_mind("bus", "check", servicebus + path, "-o", "json")

    assert ended.code == 1
    assert ended.json["is_ok"] is False
    assert says in ended.json["problem"]
    assert "HIVE_MIND_BUS_CREDENTIAL" in ended.json["advice"]
    assert "hunter2" not in ended.out + ended.err


def test_a_name_without_a_subscription_is_told_after_what_did_work_and_a_broker_that_is_not_there(
    hive_mind: HiveMind, servicebus: str
) -> None:
    ended = hive_mind("bus", "check", servicebus, "--name", "somebody")
    assert ended.code == 1
    assert "connect" in ended.out
    assert "problem: servicebus: subscription 'bus-check.somebody'" in ended.out
    assert "what to do: " in ended.out
    nowhere = hive_mind("bus", "check", "servicebus://127.0.0.1:9", "-o", "json")
    assert (nowhere.code, "firewall" in nowhere.json["advice"]) == (1, True)


@pytest.mark.parametrize("first", ["servicebus", "eventhubs"])
def test_a_hub_and_a_topic_may_have_one_name(hive_mind: HiveMind, monkeypatch: pytest.MonkeyPatch, first: str) -> None:
    with BrokerThread(settings=BrokerSettings(auto_partitions=2)) as broker:
        monkeypatch.setenv("HIVE_MIND_BUS_CREDENTIAL", broker.connection_string())
        for kind in [first, *({"servicebus", "eventhubs"} - {first}), first]:
            ended = hive_mind("bus", "check", f"{kind}://127.0.0.1:{broker.port}/town")
            assert ended.code == 0, ended.out + ended.err


def test_a_name_that_only_the_other_kind_has_is_said_to_be_of_it(hive_mind: HiveMind, monkeypatch: pytest.MonkeyPatch) -> None:
    with BrokerThread() as broker:
        monkeypatch.setenv("HIVE_MIND_BUS_CREDENTIAL", broker.connection_string())
        broker.add_topic("town")
        ended = hive_mind("bus", "check", f"eventhubs://127.0.0.1:{broker.port}/town", "-o", "json")
        assert (ended.code, ended.json["is_ok"]) == (1, False)
        assert "event hub" in ended.json["problem"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "HIVE_MIND_BUS"),
        (("carrier-pigeon://x",), "carrier"),
        (("redis",), "redis"),
        (("servicebus://example.org",), "credential"),
    ],
)
def test_what_can_not_be_meant_is_a_usage_error(hive_mind: HiveMind, arguments: tuple[str, ...], says: str) -> None:
    ended = hive_mind("bus", "check", *arguments)
    assert ended.code == 2
    assert says in ended.err
