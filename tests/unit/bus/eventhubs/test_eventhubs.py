"""The event hub back end and the real SDK, over loopback, where the contract of buses does not look.

What is kept beside a hub.
Partitions of names, and places in them, without a broker.
Getting to an event hub: over TLS too, and what is refused is told though the SDK keeps it to itself.
"""

import asyncio
import logging
import random
import sqlite3
import ssl
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from azure.eventhub import EventData, EventHubProducerClient
from azure.eventhub.amqp import AmqpAnnotatedMessage
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.bus import eventhubs
from hive_mind.bus.address import address_of
from hive_mind.bus.eventhubs import inbox as _eventhubs_inbox
from hive_mind.bus.eventhubs.inbox import ConsumerName, ConsumerState, Dead, Position, Stop, Watermark, partition_of
from hive_mind.devbroker import BrokerThread
from hive_mind.errors import BackendError, BackendRejected, BackendUnavailable
from tests.contract.bus_builders import envelope, listener
from tests.contract.buses.eventhubs import PARTITIONS
from tests.servers.certificates import make_certificates
from tests.unit.bus.hubs import QUICK, heard, hub, opened, run
from tests.waiting import until

# The clients leave the socket of a connection that was cut to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")


@pytest.fixture
def broker() -> Iterator[BrokerThread]:
    with hub() as thread:
        yield thread


def done_by_bob(folder: Path) -> int:
    """How far he is as another process sees it, that only knows what was written."""
    state = ConsumerState(folder, "127.0.0.1/hive")
    at = state.positions("hive")["bob"].at
    state.close()
    return at.next - len(at.open)


@pytest.mark.parametrize(("acknowledged", "every_s", "repeated_max"), [(10, 1.0, 0), (250, 3600.0, 150)])
async def test_positions_are_written_while_it_runs_so_a_killed_process_repeats_little(
    broker: BrokerThread, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, acknowledged: int, every_s: float, repeated_max: int
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


def letter(number: int, name: str = "bob") -> Dead:
    return Dead(0, name, number, 3, f"reason {number}", 1_700_000_000_000 + number, bytes([number]))


def test_positions_are_kept_by_hub_hive_and_name(tmp_path: Path) -> None:
    state = ConsumerState(tmp_path, "here/hive")
    bob, cid, other = ConsumerName("hive", "bob"), ConsumerName("hive", "cid"), ConsumerName("other", "bob")
    state.write([(bob, Stop(1, Position(7, (3, 5)))), (cid, Stop(2, Position(1)))])
    state.write([(other, Stop(0, Position(9))), (cid, Stop(3, Position(2)))])
    state.close()

    again = ConsumerState(tmp_path, "here/hive")
    assert again.positions("hive") == {"bob": Stop(1, Position(7, (3, 5))), "cid": Stop(3, Position(2))}
    assert again.positions("other") == {"bob": Stop(0, Position(9))}
    again.close()
    elsewhere = ConsumerState(tmp_path, "there/hive")
    assert elsewhere.positions("hive") == {}
    elsewhere.close()


def test_dead_letters_that_an_earlier_version_kept_are_found(tmp_path: Path) -> None:
    for number in range(3):
        kept_formerly(tmp_path, "hive", letter(number))
    kept_formerly(tmp_path, "hive", letter(9, "cid"))
    kept_formerly(tmp_path, "other", letter(4))

    again = ConsumerState(tmp_path, "hub")
    kept = again.dead("hive", 10)
    assert [replace(dead, id=0) for dead in kept] == [letter(0), letter(1), letter(2), letter(9, "cid")]
    assert again.dead_counts("hive") == {"bob": 3, "cid": 1}
    assert again.forget("hive", [kept[1].id, kept[1].id, 4242]) == 1
    assert again.dead("hive", 2) == [kept[0], kept[2]]
    again.close()


def test_of_a_dead_letter_that_is_dropped_no_byte_stays(tmp_path: Path) -> None:
    for number in range(20):
        kept_formerly(tmp_path, "hive", replace(letter(number), data=b"Ada Lovelace" * 300))
    state = ConsumerState(tmp_path, "hub")
    assert any(b"Lovelace" in path.read_bytes() for path in tmp_path.iterdir())

    assert state.forget("hive", [dead.id for dead in state.dead("hive", 100)]) == 20

    assert not any(b"Lovelace" in path.read_bytes() for path in tmp_path.iterdir())
    state.close()


def test_two_processes_may_have_the_file_open_that_is_for_its_owner_only(tmp_path: Path) -> None:
    one, two = ConsumerState(tmp_path / "new", "hub"), ConsumerState(tmp_path / "new", "hub")
    one.write([(ConsumerName("hive", "bob"), Stop(1, Position(7)))])
    two.write([(ConsumerName("hive", "cid"), Stop(2, Position(8)))])

    assert one.positions("hive") == {"bob": Stop(1, Position(7)), "cid": Stop(2, Position(8))}
    one.close()
    two.close()
    file = tmp_path / "new" / "eventhubs.sqlite"
    assert file.stat().st_mode & 0o077 == 0
    with pytest.raises(BackendError, match="eventhubs"):
        ConsumerState(file, "hub")


def kept_formerly(folder: Path, hive: str, dead: Dead) -> None:
    """As an earlier version wrote it."""
    ConsumerState(folder, "hub").close()
    row = ("hub", hive, dead.name, dead.number, dead.attempts, dead.reason, dead.at_ms, dead.data)
    with closing(sqlite3.connect(folder / "eventhubs.sqlite")) as connection, connection:
        statement = "INSERT INTO dead (hub, hive, name, number, attempts, reason, at_ms, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        connection.execute(statement, row)


def test_names_without_a_number_have_a_partition_that_never_changes() -> None:
    # Members of other versions must compute the same, so these are part of the format.
    assert [partition_of(name, 32) for name in ("bob", "Ines", "日本", "v2-beta")] == [0, 5, 12, 3]


def test_names_that_end_in_a_number_are_dealt_out_by_it_and_others_are_spread() -> None:
    numbered = {"agent-0": 0, "agent-7": 3, "shard-12": 0, "a1-b10": 2, "3": 3}
    assert {name: partition_of(name, 4) for name in numbered} == numbered
    letters = "abcdefghijklmnop"
    assert min(Counter(partition_of(a + b, 4) for a in letters for b in letters).values()) > 40


def test_what_was_open_and_is_kept_no_longer_is_given_up() -> None:
    mark = Watermark(Position(10, (2, 4)))
    assert mark.begin(4)
    assert mark.position() == Position(10, (4,))
    assert mark.next == 10


@given(st.lists(st.sampled_from("read skip finish restart".split()), max_size=60), st.integers(0, 10_000))
def test_whatever_happens_each_number_is_dealt_with_until_it_is_done_and_never_after(steps: list[str], seed: int) -> None:
    rng = random.Random(seed)
    mark, read, done, held = Watermark(Position(0)), 0, set[int](), set[int]()
    for step in steps:
        if step in {"read", "skip"}:
            number = max(mark.next, read)
            read = number + 1
            if step == "skip" and number not in held:
                mark.skip(number)
                done.add(number)
            elif mark.begin(number):
                assert number not in done
                held.add(number)
        elif step == "finish" and held:
            number = rng.choice(sorted(held))
            held.discard(number)
            mark.finish(number)
            done.add(number)
        elif step == "restart":
            mark = Watermark(mark.position())
            read, held = mark.next, set()
        position = mark.position()
        assert done == set(range(position.next)) - set(position.open)


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
