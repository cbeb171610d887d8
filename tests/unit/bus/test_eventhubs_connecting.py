"""Getting to an event hub: over TLS too, and what is refused is told though the SDK keeps it to itself."""

import asyncio
import logging
import ssl
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hive_mind.bus import eventhubs
from hive_mind.bus.address import address_of
from hive_mind.devbroker import BrokerThread
from hive_mind.errors import BackendRejected, BackendUnavailable, ConfigError
from tests.contract.bus_builders import envelope, listener
from tests.contract.buses.eventhubs import PARTITIONS
from tests.servers.certificates import make_certificates
from tests.unit.bus.hubs import QUICK, heard, hub, opened, run


@pytest.fixture
def broker() -> Iterator[BrokerThread]:
    with hub() as thread:
        yield thread


async def test_a_consumer_group_that_does_not_exist_is_told_when_subscribing(broker: BrokerThread) -> None:
    bus = await opened(broker, "?group=nobodys")
    with pytest.raises(BackendRejected, match=r"no such hub, partition or consumer group.*nobodys"):
        await listener(bus)
    await bus.close()


async def test_a_sixth_reader_of_a_partition_is_told_and_another_group_helps(broker: BrokerThread) -> None:
    buses = await asyncio.gather(*(opened(broker) for _ in range(6)))
    await asyncio.gather(*(listener(bus, hive=f"hive {n}") for n, bus in enumerate(buses[:5])))

    with pytest.raises(BackendRejected, match="another \\?group="):
        await listener(buses[5])
    buses.append(await opened(broker, "?group=mine"))
    bob = await listener(buses[6])
    await buses[0].publish([envelope("hello")])
    assert await heard(bob) == ["hello"]
    await asyncio.gather(*(bus.close(drain_s=0) for bus in buses))


async def test_a_broker_that_never_answers_an_attach_is_told_in_time(broker: BrokerThread) -> None:
    bus = await opened(broker, connect_timeout_s=1.5)
    broker.inject("attach", "hive/consumergroups/*", "ignore", times=100)
    with pytest.raises(BackendUnavailable, match=r"could not be read within 1\.5 s"):
        await listener(bus)
    broker.clear_faults()

    bob = await listener(bus)
    await bus.publish([envelope("now")])
    assert await heard(bob) == ["now"]
    await bus.close()


async def test_a_reader_that_hears_nothing_is_replaced(broker: BrokerThread, caplog: pytest.LogCaptureFixture) -> None:
    bus = await opened(broker, watch_every_s=0.3)
    bob = await listener(bus)
    # The connection comes back, but the broker never says that the reader is attached.
    broker.inject("attach", "hive/consumergroups/*", "ignore")
    broker.drop_connections()
    await bus.publish([envelope("heard all the same")], timeout_s=10)

    assert await heard(bob) == ["heard all the same"]
    assert bus.health.reconnects >= 2
    await bus.close()
    assert "hears nothing" in caplog.text


def test_it_speaks_tls_to_who_shows_a_certificate_it_was_told_to_trust(tmp_path: Path) -> None:
    certificates = make_certificates(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.certificate, certificates.key)

    async def scenario(broker: BrokerThread) -> None:
        string = broker.connection_string(is_emulator=False)
        address = address_of(f"eventhubs://127.0.0.1:{broker.port}/hive")
        settings = replace(QUICK, certificate=certificates.certificate, credential=string)
        bus = await eventhubs.open(address, settings)
        bob = await listener(bus)
        await bus.publish([envelope("sealed")])
        assert await heard(bob) == ["sealed"]
        await bus.close()

    with BrokerThread(tls=context) as broker:
        broker.add_hub("hive", PARTITIONS)
        run(scenario, broker)


async def test_a_name_is_never_shared(broker: BrokerThread) -> None:
    bus = await opened(broker)
    with pytest.raises(ConfigError, match="can't share"):
        await listener(bus, is_shared=True)
    await bus.close()


async def test_the_sdk_says_nothing_by_itself(broker: BrokerThread, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)

    bus = await opened(broker)
    bob = await listener(bus)
    broker.drop_connections()
    await bus.publish([envelope("x")], timeout_s=10)
    await heard(bob)
    await bus.close()
    assert {record.name for record in caplog.records if record.name.startswith("azure")} == set()
    assert not logging.getLogger("azure.eventhub._pyamqp").isEnabledFor(logging.ERROR)
