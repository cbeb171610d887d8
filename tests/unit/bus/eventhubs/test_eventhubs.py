"""The event hub back end and the real SDK, over loopback, where the contract of buses does not look."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from azure.eventhub import EventData, EventHubProducerClient
from azure.eventhub.amqp import AmqpAnnotatedMessage

from hive_mind.bus import EVERYONE, Envelope, EventBus
from hive_mind.bus.eventhubs import inbox as _eventhubs_inbox
from hive_mind.bus.eventhubs.inbox import ConsumerState, partition_of
from hive_mind.devbroker import BrokerThread
from tests.contract.bus_builders import Listener, envelope, listener, text
from tests.contract.buses.eventhubs import PARTITIONS
from tests.unit.bus.hubs import heard, hub, opened
from tests.waiting import until


@pytest.fixture
def broker() -> Iterator[BrokerThread]:
    with hub() as thread:
        yield thread


async def test_every_request_reaches_its_agent_though_ten_share_four_partitions_and_a_consumer_group(broker: BrokerThread):
    agents = [f"agent-{n}" for n in range(10)]

    async def answer(agent: str, bus: EventBus, requests: Listener) -> None:
        for request in [(await requests.take())[0] for _ in range(20)]:
            await bus.publish([envelope(f"{agent} answers {text(request)}", "asker", sender=agent)])
            await request.ack()

    # Two processes' worth of clients: five readers of one partition and group is all that the service allows.
    asking, *serving = await asyncio.gather(*(opened(broker) for _ in range(3)))
    asker = await listener(asking, "asker")
    inboxes = await asyncio.gather(*(listener(serving[n % 2], agent) for n, agent in enumerate(agents)))
    answering = [asyncio.create_task(answer(agent, serving[n % 2], inboxes[n])) for n, agent in enumerate(agents)]
    for n in range(20):
        await asking.publish([envelope(f"{n} for {agent}", agent, sender="asker") for agent in agents])

    assert sorted(await heard(asker, 200)) == sorted(f"{a} answers {n} for {a}" for a in agents for n in range(20))
    await asyncio.gather(*answering)
    await asyncio.gather(*(bus.close() for bus in (asking, *serving)))


async def test_a_name_goes_on_where_it_stopped_in_an_earlier_life(broker: BrokerThread, tmp_path: Path) -> None:
    first = await opened(broker, state=tmp_path)
    bob = await listener(first)
    await first.publish([envelope(str(n)) for n in range(6)])
    taken = await bob.take(6)
    for n in (0, 3, 5):
        await taken[n].ack()
    await first.close(drain_s=0)
    second = await opened(broker, state=tmp_path)
    await second.publish([envelope("new")])
    bob = await listener(second)

    assert await heard(bob, 4) == ["1", "2", "4", "new"]
    assert not bob.inbox.take(1)
    await second.close()


def done_by_bob(folder: Path) -> int:
    """How far he is as another process sees it, that only knows what was written."""
    state = ConsumerState(folder, "127.0.0.1/hive")
    at = state.positions("hive")["bob"].at
    state.close()
    return at.next - len(at.open)


@pytest.mark.parametrize(("acknowledged", "every_s", "repeated_max"), [(10, 1.0, 0), (250, 3600.0, 150)])
async def test_positions_are_written_while_it_runs_so_a_killed_process_repeats_little(
    broker: BrokerThread,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    acknowledged: int,
    every_s: float,
    repeated_max: int,
) -> None:
    monkeypatch.setattr(_eventhubs_inbox, "_EVERY_S", every_s)

    bus = await opened(broker, state=tmp_path)
    bob = await listener(bus)
    before = done_by_bob(tmp_path)
    await bus.publish([envelope(str(n)) for n in range(acknowledged)])
    await heard(bob, acknowledged)

    await until(lambda: done_by_bob(tmp_path) >= before + acknowledged - repeated_max)
    await bus.close()


async def test_a_hub_that_was_made_anew_is_read_from_its_beginning(broker: BrokerThread, tmp_path: Path) -> None:
    bus = await opened(broker, state=tmp_path)
    bob = await listener(bus)
    await bus.publish([envelope(str(n)) for n in range(50)])
    await heard(bob, 50)
    broker.stop(is_graceful=False)
    broker.start()
    broker.add_hub("hive", PARTITIONS, ["mine"])
    await bus.publish([envelope("after")], timeout_s=20)

    assert await heard(bob) == ["after"]
    await bus.close()

    again = await opened(broker, state=tmp_path)
    await listener(again)
    await again.close()


async def test_a_slow_name_keeps_bounded_memory_and_holds_up_nobody_on_its_partition(broker: BrokerThread) -> None:
    bus = await opened(broker)
    slow, quick = await listener(bus, "slow-1", waiting_max=10), await listener(bus, "quick-1")
    await bus.publish([envelope(str(n), "slow-1", "quick-1") for n in range(500)])

    assert await heard(quick, 500) == [str(n) for n in range(500)]
    assert len(slow.inbox.mailbox.held) < 100  # type: ignore[attr-defined]
    assert await heard(slow, 500) == [str(n) for n in range(500)]
    assert bus.health.duplicates == 0
    await bus.close()


FOREIGN = [
    EventData(b"\xff no envelope"),
    AmqpAnnotatedMessage(value_body="a text"),
    AmqpAnnotatedMessage(value_body={b"a": 1}),
    AmqpAnnotatedMessage(value_body=5),
    AmqpAnnotatedMessage(sequence_body=[[1, 2]]),
]


async def test_what_is_not_of_a_hive_is_passed_over(broker: BrokerThread) -> None:
    def send_foreign() -> None:
        with EventHubProducerClient.from_connection_string(broker.connection_string(), eventhub_name="hive") as client:
            for foreign in FOREIGN:
                client.send_event(foreign, partition_id=str(partition_of("bob", PARTITIONS)))

    bus = await opened(broker)
    bob = await listener(bus)
    await asyncio.to_thread(send_foreign)
    await bus.publish([envelope("ours")])

    assert await heard(bob) == ["ours"]
    assert not bob.letters.letters()
    await bus.close()


async def test_what_was_refused_is_not_read_again_by_the_next_process(broker: BrokerThread, tmp_path: Path) -> None:
    first = await opened(broker, state=tmp_path)
    bob = await listener(first)
    await first.publish([envelope("poison"), envelope("good")])
    poison, good = await bob.take(2)
    await poison.dead_letter("it bites")
    await good.ack()
    await first.close()
    assert [letter.reason for letter in bob.letters.letters()] == ["it bites"]
    second = await opened(broker, state=tmp_path)
    assert await (await listener(second)).has_nothing()
    await second.close()


async def test_a_watcher_sees_each_envelope_once_on_whatever_partitions_it_is(broker: BrokerThread) -> None:
    bus, seen = await opened(broker), list[Envelope]()
    await bus.publish([envelope("before")])
    watch = await bus.watch("hive", seen.append)
    sent = [envelope("one", "a-1"), envelope("two", "a-2", "a-3"), envelope("all", *EVERYONE), envelope("x", hive="other")]
    await bus.publish(sent)
    await until(lambda: len(seen) == 3)
    await watch.close()

    assert sorted(one.id for one in seen) == sorted(one.id for one in sent[:3])
    await bus.close()
