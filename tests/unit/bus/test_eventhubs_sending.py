"""Sending to an event hub: asked again while it is busy, seen once, in one batch for each partition, never too large."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from azure.eventhub import EventHubConsumerClient

from hive_mind.bus import EVERYONE
from hive_mind.devbroker import BrokerThread
from hive_mind.errors import MessageTooLarge
from tests.contract.bus_builders import envelope, listener, texts
from tests.contract.buses.eventhubs import PARTITIONS
from tests.unit.bus.hubs import heard, hub, opened
from tests.waiting import until


@pytest.fixture
def broker() -> Iterator[BrokerThread]:
    with hub() as thread:
        yield thread


async def test_one_call_is_one_batch_for_each_partition_and_everyone_is_one_event_each(broker: BrokerThread) -> None:
    def sent() -> dict[str, int]:
        with (
            EventHubConsumerClient.from_connection_string(
                broker.connection_string(), consumer_group="mine", eventhub_name="hive"
            ) as client,
            ThreadPoolExecutor() as pool,
        ):
            found = pool.map(client.get_partition_properties, map(str, range(PARTITIONS)))
            return {each["id"]: each["last_enqueued_sequence_number"] + 1 for each in found}

    bus = await opened(broker)
    names = [await listener(bus, f"name-{n}") for n in range(PARTITIONS)]
    # Whatever lanes and readers say to themselves is on the hub before this is.
    await bus.publish([envelope("first", *EVERYONE)])
    for name in names:
        assert await heard(name) == ["first"]
    before = await asyncio.to_thread(sent)
    await bus.publish([envelope("all", *EVERYONE), envelope("three", "name-1", "name-5", "name-2")])
    after = await asyncio.to_thread(sent)

    assert [after[str(n)] - before[str(n)] for n in range(PARTITIONS)] == [1, 2, 2, 1]
    assert [texts(await name.take(1 + (n in (1, 2)))) for n, name in enumerate(names)] == [
        ["all"],
        ["all", "three"],
        ["all", "three"],
        ["all"],
    ]
    await bus.close(drain_s=0)


async def test_what_is_larger_than_the_link_takes_is_refused_before_anything_is_sent(broker: BrokerThread) -> None:
    bus = await opened(broker)
    assert bus.capabilities.envelope_bytes_max == (1 << 20) - 2048
    bob = await listener(bus)
    with pytest.raises(MessageTooLarge):
        await bus.publish([envelope("small"), envelope("x" * (1 << 20))])
    largest = "x" * ((1 << 20) - 2048 - 200)
    # Two of them never fit into one batch.
    await bus.publish([envelope(largest), envelope(largest), envelope("end")])

    assert [len(said) for said in await heard(bob, 3)] == [len(largest), len(largest), 3]
    await bus.close()


async def test_who_stops_waiting_takes_what_was_not_sent_with_it(broker: BrokerThread) -> None:
    bus = await opened(broker)
    bob = await listener(bus)
    broker.inject("send", "hive/partitions/0", times=10_000)
    giving_up = asyncio.create_task(bus.publish([envelope("never")], timeout_s=30))
    behind = asyncio.create_task(bus.publish([envelope("nor this")], timeout_s=30))
    await until(lambda: bool(broker.stats()))
    for task in (giving_up, behind):
        task.cancel()
    await asyncio.gather(giving_up, behind, return_exceptions=True)
    broker.clear_faults()
    await bus.publish([envelope("only this")])

    assert (await heard(bob))[-1] == "only this"
    assert not bob.inbox.take(1)
    await bus.close()
