"""The event hub back end and the real SDK, over loopback, where the contract of buses does not look."""

import asyncio
import gc
import logging
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from azure.eventhub import EventData, EventHubConsumerClient, EventHubProducerClient

from hive_mind.bus import eventhubs
from hive_mind.bus.address import address_of
from hive_mind.bus.base import EVERYONE, BusSettings, Envelope, EventBus
from hive_mind.bus.eventhubs import keeping as _eventhubs_keeping
from hive_mind.bus.eventhubs.state import State
from hive_mind.devbroker import BrokerThread
from hive_mind.errors import BackendRejected, BackendThrottled, BackendUnavailable, ConfigError, MessageTooLarge
from tests.contract.bus_builders import Listener, envelope, eventually, listener, text, texts, threads_after
from tests.contract.buses.eventhubs import PARTITIONS, collect_sockets
from tests.servers.certificates import make_certificates

QUICK = BusSettings(connect_timeout_s=20, reconnect_s_max=0.2)

Scenario = Callable[..., Awaitable[None]]


@pytest.fixture
def broker() -> Iterator[BrokerThread]:
    gc.disable()
    with BrokerThread() as thread:
        thread.add_hub("hive", PARTITIONS, ["mine"])
        yield thread
    collect_sockets()
    gc.enable()


async def opened(broker: BrokerThread, options: str = "", **settings: Any) -> EventBus:
    address = address_of(f"eventhubs://127.0.0.1:{broker.port}/hive{options}")
    return await eventhubs.open(address, replace(QUICK, **settings))


async def heard(to: Listener, number: int = 1) -> list[str]:
    """What so many deliveries say, acknowledged; they have some seconds to come."""
    async with asyncio.timeout(20):
        return await to.take_and_ack(number)


def run(scenario: Scenario, *given: Any) -> None:
    before = threading.active_count()
    asyncio.run(scenario(*given))
    assert threads_after(before) <= before


# ── places ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_request_reaches_its_agent_though_ten_share_four_partitions_and_a_consumer_group(broker: BrokerThread) -> None:
    agents = [f"agent-{n}" for n in range(10)]

    async def answer(agent: str, bus: EventBus, requests: Listener) -> None:
        for request in [(await requests.take())[0] for _ in range(20)]:
            await bus.publish([envelope(f"{agent} answers {text(request)}", "asker", sender=agent)])
            await request.ack()

    async def scenario() -> None:
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

    run(scenario)


def test_a_name_goes_on_where_it_stopped_in_an_earlier_life(broker: BrokerThread, tmp_path: Path) -> None:
    async def first() -> None:
        bus = await opened(broker, state=tmp_path)
        bob = await listener(bus)
        await bus.publish([envelope(str(n)) for n in range(6)])
        taken = await bob.take(6)
        for n in (0, 3, 5):
            await taken[n].ack()
        await bus.close(drain_s=0)

    async def second() -> None:
        bus = await opened(broker, state=tmp_path)
        await bus.publish([envelope("new")])
        bob = await listener(bus)

        assert await heard(bob, 4) == ["1", "2", "4", "new"]
        assert not bob.inbox.take(1)
        await bus.close()

    run(first)
    run(second)


def done_by_bob(folder: Path) -> int:
    """How far he is as another process sees it, that only knows what was written."""
    state = State(folder, "127.0.0.1/hive")
    at = state.positions("hive")["bob"].at
    state.close()
    return at.next - len(at.open)


@pytest.mark.parametrize(("acknowledged", "every_s", "repeated_max"), [(10, 1.0, 0), (250, 3600.0, 150)])
def test_positions_are_written_while_it_runs_so_a_killed_process_repeats_little(
    broker: BrokerThread,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    acknowledged: int,
    every_s: float,
    repeated_max: int,
) -> None:
    monkeypatch.setattr(_eventhubs_keeping, "_EVERY_S", every_s)

    async def scenario() -> None:
        bus = await opened(broker, state=tmp_path)
        bob = await listener(bus)
        before = done_by_bob(tmp_path)
        await bus.publish([envelope(str(n)) for n in range(acknowledged)])
        await heard(bob, acknowledged)

        await eventually(lambda: _is(done_by_bob(tmp_path) >= before + acknowledged - repeated_max))
        await bus.close()

    run(scenario)


def test_a_hub_that_was_made_anew_is_read_from_its_beginning(broker: BrokerThread, tmp_path: Path) -> None:
    async def scenario() -> None:
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

    run(scenario)


def test_earliest_reads_what_the_hub_still_keeps(broker: BrokerThread) -> None:
    async def scenario() -> None:
        bus = await opened(broker)
        await bus.publish([envelope("before"), envelope("too", "cid")])
        late = await listener(bus, start="earliest")
        await listener(bus, "cid")

        assert await heard(late) == ["before"]
        await bus.close()

    run(scenario)


# ── who has no room ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_slow_name_keeps_bounded_memory_and_holds_up_nobody_on_its_partition(broker: BrokerThread) -> None:
    async def scenario() -> None:
        bus = await opened(broker)
        slow, quick = await listener(bus, "slow-1", waiting_max=10), await listener(bus, "quick-1")
        await bus.publish([envelope(str(n), "slow-1", "quick-1") for n in range(500)])

        assert await heard(quick, 500) == [str(n) for n in range(500)]
        assert len(slow.inbox.mailbox.held) < 100  # type: ignore[attr-defined]
        assert await heard(slow, 500) == [str(n) for n in range(500)]
        assert bus.health.duplicates == 0
        await bus.close()

    run(scenario)


# ── refusals that the SDK keeps to itself ────────────────────────────────────────────────────────────────────────────────


def test_a_consumer_group_that_does_not_exist_is_told_when_subscribing(broker: BrokerThread) -> None:
    async def scenario() -> None:
        bus = await opened(broker, "?group=nobodys")
        with pytest.raises(BackendRejected, match=r"no such hub, partition or consumer group.*nobodys"):
            await listener(bus)
        await bus.close()

    run(scenario)


def test_a_sixth_reader_of_a_partition_is_told_and_another_group_helps(broker: BrokerThread) -> None:
    async def scenario() -> None:
        buses = await asyncio.gather(*(opened(broker) for _ in range(6)))
        await asyncio.gather(*(listener(bus, hive=f"hive {n}") for n, bus in enumerate(buses[:5])))

        with pytest.raises(BackendRejected, match="another \\?group="):
            await listener(buses[5])
        buses.append(await opened(broker, "?group=mine"))
        bob = await listener(buses[6])
        await buses[0].publish([envelope("hello")])
        assert await heard(bob) == ["hello"]
        await asyncio.gather(*(bus.close(drain_s=0) for bus in buses))

    run(scenario)


def test_a_broker_that_never_answers_an_attach_is_told_in_time(broker: BrokerThread) -> None:
    async def scenario() -> None:
        bus = await opened(broker, connect_timeout_s=1.5)
        broker.inject("attach", "hive/consumergroups/*", "ignore", times=100)
        with pytest.raises(BackendUnavailable, match=r"could not be read within 1\.5 s"):
            await listener(bus)
        broker.clear_faults()

        bob = await listener(bus)
        await bus.publish([envelope("now")])
        assert await heard(bob) == ["now"]
        await bus.close()

    run(scenario)


def test_a_reader_that_hears_nothing_is_replaced(broker: BrokerThread, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        bus = await opened(broker, watch_every_s=0.3)
        bob = await listener(bus)
        # The connection comes back, but the broker never says that the reader is attached.
        broker.inject("attach", "hive/consumergroups/*", "ignore")
        broker.drop_connections()
        await bus.publish([envelope("heard all the same")], timeout_s=10)

        assert await heard(bob) == ["heard all the same"]
        assert bus.health.reconnects >= 2
        await bus.close()

    run(scenario)
    assert "is deaf" in caplog.text


# ── sending ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_busy_broker_is_asked_again_and_then_reported(broker: BrokerThread) -> None:
    async def scenario() -> None:
        bus = await opened(broker)
        bob = await listener(bus)
        # The SDK asks twice at once; more needs a pause of ours.
        broker.inject("send", "hive/partitions/0", times=5)
        await bus.publish([envelope("in the end")])
        assert await heard(bob) == ["in the end"]
        await eventually(lambda: _is(bus.health.is_connected))

        broker.inject("send", "hive/partitions/0", times=10_000)
        with pytest.raises(BackendThrottled, match="busy"):
            await bus.publish([envelope("never")], timeout_s=0.5)
        assert not bus.health.is_connected
        assert "busy" in bus.health.last_error
        broker.clear_faults()
        await bus.close()

    run(scenario)


def test_what_is_accepted_and_not_confirmed_is_on_the_hub_twice_and_seen_once(broker: BrokerThread) -> None:
    async def scenario() -> None:
        bus = await opened(broker)
        bob = await listener(bus)
        broker.inject("send", "hive/partitions/0", "accept-then-drop")
        await bus.publish([envelope("once")])
        await bus.publish([envelope("end")])

        assert await heard(bob, 2) == ["once", "end"]
        assert bus.health.duplicates == 1
        await bus.close()

    run(scenario)


def test_one_call_is_one_batch_for_each_partition_and_everyone_is_one_event_each(broker: BrokerThread) -> None:
    def sent() -> dict[str, int]:
        with (
            EventHubConsumerClient.from_connection_string(
                broker.connection_string(), consumer_group="mine", eventhub_name="hive"
            ) as client,
            ThreadPoolExecutor() as pool,
        ):
            found = pool.map(client.get_partition_properties, map(str, range(PARTITIONS)))
            return {each["id"]: each["last_enqueued_sequence_number"] + 1 for each in found}

    async def scenario() -> None:
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

    run(scenario)


def test_what_is_larger_than_the_link_takes_is_refused_before_anything_is_sent(broker: BrokerThread) -> None:
    async def scenario() -> None:
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

    run(scenario)


def test_who_stops_waiting_takes_what_was_not_sent_with_it(broker: BrokerThread) -> None:
    async def scenario() -> None:
        bus = await opened(broker)
        bob = await listener(bus)
        broker.inject("send", "hive/partitions/0", times=10_000)
        giving_up = asyncio.create_task(bus.publish([envelope("never")], timeout_s=30))
        behind = asyncio.create_task(bus.publish([envelope("nor this")], timeout_s=30))
        await eventually(lambda: _is(bool(broker.stats())))
        for task in (giving_up, behind):
            task.cancel()
        await asyncio.gather(giving_up, behind, return_exceptions=True)
        broker.clear_faults()
        await bus.publish([envelope("only this")])

        assert (await heard(bob))[-1] == "only this"
        assert not bob.inbox.take(1)
        await bus.close()

    run(scenario)


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_not_of_a_hive_is_passed_over(broker: BrokerThread) -> None:
    def send_foreign() -> None:
        with EventHubProducerClient.from_connection_string(broker.connection_string(), eventhub_name="hive") as client:
            client.send_event(EventData(b"\xff no envelope"), partition_id="0")

    async def scenario() -> None:
        bus = await opened(broker)
        bob = await listener(bus)
        await asyncio.to_thread(send_foreign)
        await bus.publish([envelope("ours")])

        assert await heard(bob) == ["ours"]
        assert not await bus.dead_letters("hive")
        await bus.close()

    run(scenario)


def test_dead_letters_outlive_the_process(broker: BrokerThread, tmp_path: Path) -> None:
    async def first() -> None:
        bus = await opened(broker, state=tmp_path)
        bob = await listener(bus)
        await bus.publish([envelope("poison"), envelope("good")])
        poison, good = await bob.take(2)
        await poison.dead_letter("it bites")
        await good.ack()
        await bus.close()

    async def second() -> None:
        bus = await opened(broker, state=tmp_path)
        bob = await listener(bus)
        (letter,) = await bus.dead_letters("hive")
        assert (letter.name, letter.reason, letter.attempts) == ("bob", "it bites", 1)
        assert await bus.replay("hive", [letter.id, "4242", "none"]) == 1

        assert await heard(bob) == ["poison"]
        assert not await bus.dead_letters("hive")
        await bus.close()

    run(first)
    run(second)


def test_a_watcher_sees_each_envelope_once_on_whatever_partitions_it_is(broker: BrokerThread) -> None:
    async def scenario() -> None:
        bus, seen = await opened(broker), list[Envelope]()
        await bus.publish([envelope("before")])
        watch = await bus.watch("hive", seen.append)
        sent = [envelope("one", "a-1"), envelope("two", "a-2", "a-3"), envelope("all", *EVERYONE), envelope("x", hive="other")]
        await bus.publish(sent)
        await eventually(lambda: _is(len(seen) == 3))
        await watch.close()

        assert sorted(one.id for one in seen) == sorted(one.id for one in sent[:3])
        await bus.close()

    run(scenario)


# ── ways there ───────────────────────────────────────────────────────────────────────────────────────────────────────────


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


def test_a_hub_that_does_not_exist_is_told_when_opening(broker: BrokerThread) -> None:
    async def scenario() -> None:
        with pytest.raises(BackendRejected, match="no such hub"):
            await eventhubs.open(address_of(f"eventhubs://127.0.0.1:{broker.port}/elsewhere"), QUICK)

    run(scenario)


def test_a_name_is_never_shared(broker: BrokerThread) -> None:
    async def scenario() -> None:
        bus = await opened(broker)
        with pytest.raises(ConfigError, match="can't share"):
            await listener(bus, is_shared=True)
        await bus.close()

    run(scenario)


def test_the_sdk_says_nothing_by_itself(broker: BrokerThread, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)

    async def scenario() -> None:
        bus = await opened(broker)
        bob = await listener(bus)
        broker.drop_connections()
        await bus.publish([envelope("x")], timeout_s=10)
        await heard(bob)
        await bus.close()

    run(scenario)
    assert {record.name for record in caplog.records if record.name.startswith("azure")} == set()
    assert not logging.getLogger("azure.eventhub._pyamqp").isEnabledFor(logging.ERROR)


async def _is(value: bool) -> bool:
    return value
