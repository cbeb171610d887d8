"""The development broker with one hub; or the real service named by HIVE_CONTRACT_EVENTHUBS, a connection string with its hub."""

import gc
import os
import re
import secrets
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from azure.eventhub import EventData, EventHubProducerClient

from hive_mind.bus import BusSettings
from hive_mind.bus.address import BusAddress, address_of
from hive_mind.bus.eventhubs.clients import Event, pack
from hive_mind.bus.eventhubs.inbox import partition_of
from hive_mind.devbroker import KEY, BrokerThread
from tests.contract.buses.base import BaseHarness
from tests.heap import set_aside
from tests.servers.azure_pace import hasten

PARTITIONS = 4

_MANY = 1_000_000
_CONFIG = {
    "UserConfig": {
        "NamespaceConfig": [{"Type": "EventHub", "Name": "ns", "Entities": [{"Name": "hive", "PartitionCount": PARTITIONS}]}]
    }
}

hasten()


class Harness(BaseHarness):
    opens_quickly = False
    quiet_s = 0.2

    def __init__(self) -> None:
        self._string = os.environ.get("HIVE_CONTRACT_EVENTHUBS", "")
        if self._string:
            return
        self.faults = frozenset(
            {"drop", "down", "in_doubt", "throttle", "idle", "wrong_credential", "missing_entity", "forbidden", "bytes"}
        )
        self._broker = BrokerThread(_CONFIG)

    def start(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        # See `collect_sockets`, which is called after each test.
        set_aside()
        gc.disable()
        if not self._string:
            self._broker.start()

    def stop(self) -> None:
        if not self._string:
            self._broker.stop()
        self._folder.cleanup()
        gc.enable()

    def reset(self) -> None:
        if not self._string:
            self._broker.clear_faults()
        collect_sockets()

    def address(self) -> BusAddress:
        if self._string:
            host, hub = (re.search(pattern, self._string, re.IGNORECASE) for pattern in (r"sb://([^/;]+)", r"EntityPath=([^;]+)"))
            assert host is not None
            return address_of(f"eventhubs://{host[1]}/{hub[1] if hub else 'hive'}")
        return address_of(f"eventhubs://127.0.0.1:{self._broker.port}/hive")

    def settings(self) -> BusSettings:
        timeout_s = 30 if self._string else 10
        return BusSettings(
            credential=self._string or self._broker.connection_string(),
            state=Path(self._folder.name),
            reconnect_s_max=0.5,
            connect_timeout_s=timeout_s,
        )

    def drop_connections(self) -> None:
        self._broker.drop_connections()

    @contextmanager
    def down(self) -> Iterator[None]:
        self._broker.stop(is_graceful=False)
        try:
            yield
        finally:
            self._broker.start()

    @contextmanager
    def in_doubt(self) -> Iterator[None]:
        self._broker.inject("send", action="accept-then-drop")
        yield

    @contextmanager
    def throttle(self) -> Iterator[None]:
        self._broker.inject("send", times=_MANY)
        try:
            yield
        finally:
            self._broker.clear_faults()

    @contextmanager
    def idle_timeout(self, seconds: int) -> Iterator[None]:
        before = self._broker.broker.limits
        self._broker.broker.limits = replace(before, idle_timeout_s=float(seconds))
        try:
            yield
        finally:
            self._broker.broker.limits = before

    def with_wrong_credential(self) -> tuple[BusAddress, BusSettings]:
        string = self._broker.connection_string().replace(KEY, secrets.token_hex(8))
        return self.address(), replace(self.settings(), credential=string)

    def with_missing_entity(self) -> tuple[BusAddress, BusSettings]:
        return replace(self.address(), path="elsewhere"), self.settings()

    def forbidden(self) -> tuple[str, str]:
        name = "outcast-1"
        self._broker.inject("attach", "hive/consumergroups/*/1", condition="amqp:unauthorized-access", times=_MANY)
        return self.new_hive(), name

    def publish_bytes(self, hive: str, name: str, data: bytes) -> None:
        event = EventData(pack(Event(hive, data)))
        client = EventHubProducerClient.from_connection_string(self._broker.connection_string(), eventhub_name="hive")
        with client:
            client.send_event(event, partition_id=str(partition_of(name, PARTITIONS)))


def collect_sockets() -> None:
    """Collect garbage. When a connection breaks while the SDK opens it, its socket is left to that, with a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
