"""The development broker, asked with the real SDK; or a real Service Bus: HIVE_CONTRACT_SERVICEBUS is its connection string."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, get_args

from hive_mind.bus import BusSettings, Envelope
from hive_mind.bus.address import BusAddress, address_of
from hive_mind.bus.codec import encode
from hive_mind.bus.servicebus.account import subscription_of, target_of_all
from hive_mind.devbroker import BrokerThread
from hive_mind.devbroker.broker import BrokerSettings
from tests.contract.buses.base import BaseHarness, Fault
from tests.servers.azure_pace import hasten

_TOPIC = "hive"

hasten()


class Harness(BaseHarness):
    opens_quickly = False
    quiet_s = 0.2
    lock = "PT5S"
    """As short as Azure lets it be: who takes over from a killed process waits for it."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._azure = os.environ.get("HIVE_CONTRACT_SERVICEBUS", "")
        if self._azure:
            return
        self.faults = frozenset(get_args(Fault))
        self.broker = BrokerThread(settings=BrokerSettings(clock=clock))
        self._provided: set[str] = set()

    def start(self) -> None:
        if not self._azure:
            self.broker.start()
            self._make_topic()

    def stop(self) -> None:
        if not self._azure:
            self.broker.stop()

    def reset(self) -> None:
        if not self._azure:
            self.broker.clear_faults()

    def address(self) -> BusAddress:
        if self._azure:
            host = self._azure.partition("//")[2].partition("/")[0].partition(";")[0]
            return address_of(f"servicebus://{host}/{_TOPIC}")
        return address_of(f"servicebus://127.0.0.1:{self.broker.port}/{_TOPIC}")

    def settings(self) -> BusSettings:
        credential = self._azure or self.broker.connection_string()
        return BusSettings(credential=credential, reconnect_s_max=0.5, connect_timeout_s=20)

    def new_hive(self) -> str:
        # Subscriptions of a real service stay, whoever made them.
        return "contract" if self._azure else super().new_hive()

    def provide(self, hive: str, name: str, deliveries_max: int = 100) -> None:
        path = subscription_of(hive, name)
        if self._azure or path in self._provided:
            return
        self._provided.add(path)
        add_subscription(self.broker, _TOPIC, path, lock=self.lock, deliveries_max=deliveries_max)

    def figures(self) -> dict[str, int]:
        """What the broker counted."""
        return self.broker.stats()

    def drop_connections(self) -> None:
        self.broker.drop_connections()

    def restart(self) -> None:
        self.broker.stop(is_graceful=False)
        self._bring_back()

    @contextmanager
    def down(self) -> Iterator[None]:
        self.broker.stop(is_graceful=False)
        try:
            yield
        finally:
            self._bring_back()

    @contextmanager
    def in_doubt(self) -> Iterator[None]:
        self.broker.inject("send", _TOPIC, "accept-then-drop")
        yield

    @contextmanager
    def throttle(self) -> Iterator[None]:
        self.broker.inject("send", _TOPIC, times=1000)
        try:
            yield
        finally:
            self.broker.clear_faults()

    @contextmanager
    def idle_timeout(self, seconds: int) -> Iterator[None]:
        before = self.broker.broker.limits
        self.broker.broker.limits = replace(before, idle_timeout_s=float(seconds))
        try:
            yield
        finally:
            self.broker.broker.limits = before

    def with_wrong_credential(self) -> tuple[BusAddress, BusSettings]:
        wrong = "Endpoint=sb://127.0.0.1;SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=hunter2-wrong"
        return self.address(), replace(self.settings(), credential=wrong)

    def with_missing_entity(self) -> tuple[BusAddress, BusSettings]:
        return replace(self.address(), path="nowhere"), self.settings()

    def forbidden(self) -> tuple[str, str]:
        return "unprovided", "bob"

    def publish_bytes(self, hive: str, name: str, data: bytes) -> None:
        from azure.servicebus import ServiceBusClient, ServiceBusMessage

        message = ServiceBusMessage(data, application_properties={"target": subscription_of(hive, name)})
        with (
            ServiceBusClient.from_connection_string(self.broker.connection_string()) as client,
            client.get_topic_sender(_TOPIC, keep_alive=0) as sender,
        ):
            sender.send_messages(message)

    def give_up(self, hive: str, name: str, envelopes: Sequence[Envelope]) -> None:
        """The broker itself makes these dead letters: its subscription allows one delivery."""
        from azure.servicebus import ServiceBusClient

        self.provide(hive, name, deliveries_max=1)
        for envelope in envelopes:
            self.publish_bytes(hive, name, encode(envelope))
        with (
            ServiceBusClient.from_connection_string(self.broker.connection_string()) as client,
            client.get_subscription_receiver(_TOPIC, subscription_of(hive, name)) as receiver,
        ):
            for _ in envelopes:
                for message in receiver.receive_messages(1, max_wait_time=20):
                    receiver.abandon_message(message)

    def _bring_back(self) -> None:
        """It keeps nothing; members find their subscriptions there as the cloud's would be."""
        self.broker.start()
        self._make_topic()
        for path in self._provided:
            self._make_subscription(path)

    def _make_topic(self) -> None:
        self.broker.add_topic(_TOPIC, RequiresDuplicateDetection=True)

    def _make_subscription(self, path: str) -> None:
        add_subscription(self.broker, _TOPIC, path, lock=self.lock)


def add_subscription(
    broker: BrokerThread, topic: str, path: str, targets: Sequence[str] = (), lock: str = "PT5S", deliveries_max: int = 100
) -> None:
    """One of a node, as `hive-mind broker` or an administrator makes it."""
    rules: list[dict[str, Any]] = []
    for name, target in zip(("own", "everyone"), targets or (path, target_of_all(path)), strict=False):
        condition = {"FilterType": "Correlation", "CorrelationFilter": {"Properties": {"target": target}}}
        rules.append({"Name": name, "Properties": condition})
    broker.add_subscription(topic, path, rules, LockDuration=lock, MaxDeliveryCount=deliveries_max)
