"""Who makes topics and subscriptions: the development broker when asked, Azure's management API for who may, or a person."""

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from azure.core.exceptions import ClientAuthenticationError, ResourceExistsError

from hive_mind.bus import BusSettings, servicebus
from hive_mind.bus.address import address_of
from hive_mind.bus.servicebus import admin
from hive_mind.bus.servicebus.account import Account, Missing, account_of
from hive_mind.devbroker import BrokerThread
from hive_mind.devbroker.broker import BrokerSettings
from tests.contract.bus_builders import envelope, listener, texts

KEY = "SharedAccessKeyName=worker;SharedAccessKey=c2VjcmV0LWhvbmV5="


def account(host: str) -> Account:
    return account_of(address_of(f"servicebus://{host}/hive"), BusSettings(credential=KEY))


CLOUD, LOCAL = account("bees.servicebus.windows.net"), account("127.0.0.1:5672")


class Management:
    """Stands in for the management API of a namespace, and writes down what is asked of it."""

    def __init__(self, error: Exception | None = None) -> None:
        self.asked: list[tuple[str, ...]] = []
        self._error = error

    def __call__(self, host: str, credential: object) -> "Management":
        assert credential is CLOUD.credential
        self.asked.append(("namespace", host))
        return self

    async def __aenter__(self) -> "Management":
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.asked.append(("closed",))

    async def create_subscription(self, topic: str, name: str, **properties: Any) -> None:
        self.asked.append(("subscription", topic, name))
        if self._error is not None:
            raise self._error
        assert properties["max_delivery_count"] > 5

    async def create_rule(self, topic: str, name: str, rule: str, *, filter: Any) -> None:
        self.asked.append(("rule", topic, name, rule, filter.properties["target"]))

    async def delete_rule(self, topic: str, name: str, rule: str) -> None:
        self.asked.append(("no rule", topic, name, rule))

    async def list_subscriptions_runtime_properties(self, topic: str) -> AsyncIterator[SimpleNamespace]:
        self.asked.append(("list", topic))
        if self._error is not None:
            raise self._error
        yield SimpleNamespace(name="hive.bob", active_message_count=3, dead_letter_message_count=1)


@pytest.fixture
def management(monkeypatch: pytest.MonkeyPatch) -> Management:
    return replaced(monkeypatch)


def replaced(monkeypatch: pytest.MonkeyPatch, error: Exception | None = None) -> Management:
    made = Management(error)
    monkeypatch.setattr(admin, "ServiceBusAdministrationClient", made)
    return made


async def test_the_development_broker_makes_what_two_hives_ask_for_and_keeps_them_apart() -> None:

    with BrokerThread(settings=BrokerSettings(auto_partitions=1)) as thread:
        where = address_of(f"servicebus://127.0.0.1:{thread.port}")
        bus = await servicebus.open(where, BusSettings(credential=thread.connection_string()))
        bob, ann, other = await listener(bus), await listener(bus, "ann"), await listener(bus, hive="Other Hive")
        await bus.publish([envelope("to all", "*"), envelope("to bob")])

        assert texts(await bob.take(2)) == ["to all", "to bob"]
        assert await ann.has_nothing()
        assert await other.has_nothing()
        assert len(other.inbox.mailbox.held) == 0  # type: ignore[attr-defined]
        assert bus.health.duplicates == 0
        await bus.close(drain_s=0)


def test_in_the_cloud_a_subscription_gets_its_rules_before_it_loses_the_one_for_everything(management: Management) -> None:
    assert asyncio.run(admin.AdminClient(CLOUD).make("hive.bob"))

    assert management.asked == [
        ("namespace", "bees.servicebus.windows.net"),
        ("subscription", "hive", "hive.bob"),
        ("rule", "hive", "hive.bob", "own", "hive.bob"),
        ("rule", "hive", "hive.bob", "everyone", "hive.*"),
        ("no rule", "hive", "hive.bob", "$Default"),
        ("closed",),
    ]


def test_one_that_somebody_else_made_meanwhile_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    management = replaced(monkeypatch, ResourceExistsError("there"))
    assert asyncio.run(admin.AdminClient(CLOUD).make("hive.bob"))
    assert not [asked for asked in management.asked if "rule" in asked[0]]


def test_who_may_not_manage_makes_nothing_and_sees_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    replaced(monkeypatch, ClientAuthenticationError("no"))
    assert not asyncio.run(admin.AdminClient(CLOUD).make("hive.bob"))
    assert asyncio.run(admin.AdminClient(CLOUD).counts()) == {}


async def test_the_cloud_tells_what_waits_and_what_is_dead(management: Management) -> None:
    bus = servicebus.ServiceBus(CLOUD, BusSettings())
    (state,) = await bus.queues("hive")
    assert (state.name, state.waiting, state.dead) == ("bob", 3, 1)
    assert await bus.queues("another") == []
    assert ("list", "hive") in management.asked


def test_nobody_asks_for_management_outside_the_cloud(management: Management) -> None:
    assert not asyncio.run(admin.AdminClient(LOCAL).make("hive.bob"))
    assert asyncio.run(admin.AdminClient(LOCAL).counts()) == {}
    assert management.asked == []


@pytest.mark.parametrize(
    ("account", "path", "says"),
    [
        (LOCAL, "", "hive-mind broker --auto-create"),
        (LOCAL, "hive.bob", r"target = 'hive\.bob' and target = 'hive\.\*'"),
        (CLOUD, "", "az servicebus topic create --namespace-name bees --name hive"),
        (CLOUD, "hive.bob", "Manage"),
    ],
)
def test_what_is_missing_is_told_with_how_to_make_it(account: Account, path: str, says: str) -> None:
    with pytest.raises(Exception, match=says):
        raise admin.AdminClient(account).advised(Missing("servicebus", "it does not exist"), path)
