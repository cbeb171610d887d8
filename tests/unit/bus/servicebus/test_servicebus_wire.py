"""What is special about Service Bus on the wire: TLS, duplicate detection, rules, silence that means something."""

import asyncio
import base64
import hmac
import logging
import ssl
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import pytest

from hive_mind.bus import BusSettings, Subscription, servicebus
from hive_mind.bus.address import address_of
from hive_mind.bus.servicebus.account import subscription_of, target_of_all
from hive_mind.devbroker import BrokerThread
from hive_mind.errors import BackendError, BackendRejected, BackendThrottled, BackendUnavailable
from tests.contract.bus_builders import World, envelope, opened
from tests.contract.buses.servicebus import Harness, add_subscription
from tests.loops import InLoop
from tests.servers.certificates import Certificates, make_certificates
from tests.waiting import until


@pytest.fixture(scope="module")
def broker() -> Iterator[Harness]:
    harness = Harness()
    harness.start()
    yield harness
    harness.stop()


@pytest.fixture
def world(broker: Harness) -> Iterator[InLoop]:
    yield InLoop(lambda: opened(broker))
    broker.reset()


async def test_the_broker_drops_what_is_sent_again(broker: Harness, world: World) -> None:
    bob = await world.listener()
    before = broker.figures()["messages_out"]
    doubtful = world.envelope("once")
    with broker.in_doubt():
        await world.bus.publish([doubtful])
    await world.bus.publish([doubtful])
    await world.publish("end")

    assert await bob.take_and_ack(2) == ["once", "end"]
    assert broker.figures()["messages_out"] - before == 2
    assert world.bus.health.duplicates == 0


async def test_a_topic_without_duplicate_detection_is_made_up_for_by_the_reader(broker: Harness, world: World) -> None:
    broker.broker.add_topic("plain")
    add_subscription(broker.broker, "plain", subscription_of(world.hive, "bob"))
    bus = await servicebus.open(replace(broker.address(), path="plain"), broker.settings())
    bob = await world.listener(bus=bus)
    broker.broker.inject("send", "plain", "accept-then-drop")
    await world.publish("once", bus=bus)
    await world.publish("end", bus=bus)

    assert await bob.take_and_ack(2) == ["once", "end"]
    assert await bob.has_nothing()
    assert bus.health.duplicates == 1
    await bus.close()


async def test_more_than_one_batch_takes_is_sent_in_order_all_the_same(world: World) -> None:
    bob = await world.listener()
    said = [f"{n}{'x' * 300_000}" for n in range(7)]
    await world.publish(*said)
    assert await bob.take_and_ack(7) == said


async def test_what_had_to_be_sent_again_keeps_its_order(broker: Harness, world: World) -> None:
    bob = await world.listener()
    broker.broker.inject("send", "hive", times=1)
    await world.publish("1", "2", "3", "4")
    assert await bob.take_and_ack(4) == ["1", "2", "3", "4"]


async def test_a_publisher_that_is_cancelled_leaves_its_envelope_whole_or_unsent(broker: Harness, world: World) -> None:
    bob, cid = await world.listener(), await world.listener("cid")
    with broker.throttle():
        begun = asyncio.create_task(world.bus.publish([world.envelope("begun", "bob", "cid")]))
        await until(lambda: any("faults send" in name for name in broker.figures()))
        waiting = asyncio.create_task(world.bus.publish([world.envelope("waiting")]))
        await asyncio.sleep(0)
        for task in (begun, waiting):
            task.cancel()
        await asyncio.gather(begun, waiting, return_exceptions=True)
    await world.publish("end", to=("bob", "cid"))

    assert await bob.take_and_ack() == await cid.take_and_ack() == ["end"]
    assert await bob.has_nothing()


async def test_a_busy_broker_says_when_to_come_again(broker: Harness, world: World) -> None:
    with broker.throttle(), pytest.raises(BackendThrottled, match="busy") as caught:
        await world.bus.publish([world.envelope()], timeout_s=0.2)
    assert (caught.value.retry_after_s or 0) > 0


async def test_a_subscription_without_its_rules_is_told_what_it_needs(broker: Harness, world: World) -> None:
    path = subscription_of(world.hive, "deaf")
    add_subscription(broker.broker, "hive", path, targets=("somebody else",))
    bus = await world.open(connect_timeout_s=6.0)

    with pytest.raises(BackendError, match="rules") as caught:
        await bus.subscribe(Subscription(world.hive, "deaf"), lambda: None)
    assert path in str(caught.value)
    assert target_of_all(path) in str(caught.value)


async def test_a_subscription_that_does_not_exist_is_told_with_how_to_make_it(world: World) -> None:
    with pytest.raises(BackendRejected, match=r"'unknown\.bob'.*hive-mind broker.*rules.*'unknown\.\*'"):
        await world.bus.subscribe(Subscription("unknown", "bob"), lambda: None)
    # The name is free again.
    with pytest.raises(BackendRejected, match="does not exist"):
        await world.bus.subscribe(Subscription("unknown", "bob"), lambda: None)


async def test_who_hears_nothing_of_its_own_pings_connects_anew(broker: Harness, world: World) -> None:
    bus = await world.open(watch_every_s=0.2)
    bob = await world.listener(bus=bus)
    subscriptions = broker.broker.broker.entities.namespace.find("hive")._subscriptions
    mine = next(one for one in subscriptions if one[0].path.endswith(subscription_of(world.hive, "bob")))
    broker.broker.call(subscriptions.remove, mine)
    await until(lambda: bus.health.reconnects > 0)

    broker.broker.call(subscriptions.append, mine)
    await until(lambda: is_connected(bus))
    await world.publish("again", bus=bus)
    assert await bob.take_and_ack() == ["again"]


async def test_pings_do_not_pile_up_nor_reach_anybody(broker: Harness, world: World) -> None:
    bus = await world.open(watch_every_s=0.05)
    bob = await world.listener(bus=bus)
    before = broker.figures()["messages_out"]
    await until(lambda: broker.figures()["messages_out"] > before + 5)

    assert await bob.has_nothing()
    assert bus.health.reconnects == 0


async def test_dead_letters_are_seen_by_a_bus_that_is_told_their_names(broker: Harness, world: World) -> None:
    await given_up(broker, world, "bad")
    teller = await servicebus.open(replace(broker.address(), options=(("names", "bob"),)), broker.settings())

    async def is_there() -> bool:
        return [letter.reason[:24] for letter in await teller.dead_letters(world.hive)] == ["MaxDeliveryCountExceeded"]

    await until(is_there)
    assert [state.name for state in await teller.queues(world.hive)] == ["bob"]
    await teller.close()


async def test_looking_at_dead_letters_and_dropping_one_leaves_the_others(broker: Harness, world: World) -> None:
    await given_up(broker, world, "1", "2", "3")
    await world.listener()

    async def are_there() -> bool:
        return len(await world.bus.dead_letters(world.hive)) == 3

    await until(are_there)
    letters = await world.bus.dead_letters(world.hive)
    assert await world.bus.drop(world.hive, [letters[1].id, "nonsense", "other.bob/1"]) == 1
    assert await world.bus.drop("another hive", [letters[0].id]) == 0
    assert [letter.id for letter in await world.bus.dead_letters(world.hive)] == [letters[0].id, letters[2].id]
    assert len(await world.bus.dead_letters(world.hive, limit=1)) == 1
    # What was read only to find the other one is there again at once.
    assert await world.bus.drop(world.hive, [letters[0].id]) == 1


async def test_the_sdk_fills_no_logs_and_tells_no_secret(broker: Harness, world: World, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        bob = await world.listener()
        broker.drop_connections()
        await world.publish("after")
        assert await bob.take_and_ack() == ["after"]
        await until(lambda: is_connected(world.bus))
        assert "SAS_KEY_VALUE" not in repr(world.bus.health)
        await world.close()

    assert not [record for record in caplog.records if record.name.startswith("azure.servicebus")]
    assert "SAS_KEY_VALUE" not in caplog.text


async def test_what_nobody_reads_is_kept_for_as_long_as_was_said(world: World) -> None:
    await (await world.listener()).inbox.close()
    await world.publish("short-lived", bus=await world.open(kept_s=0.5))
    await world.publish("kept")
    await asyncio.sleep(1.5)

    heir = await world.listener()
    assert await heir.take_and_ack() == ["kept"]
    assert await heir.has_nothing()


async def test_a_signature_instead_of_a_key_lets_in_as_well(broker: Harness, world: World) -> None:
    where = f"sb://127.0.0.1:{broker.address().port}"
    bob = await world.listener(bus=await world.open(credential=signature(where, "SAS_KEY_VALUE")))
    await world.publish("let in")
    assert await bob.take_and_ack() == ["let in"]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def encrypted(certificates: Certificates) -> Iterator[BrokerThread]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.certificate, certificates.key)
    with BrokerThread(tls=context) as thread:
        thread.add_topic("hive", RequiresDuplicateDetection=True)
        add_subscription(thread, "hive", "hive.bob")
        yield thread


async def test_a_bus_speaks_tls_with_an_authority_of_ones_own(encrypted: BrokerThread, certificates: Certificates) -> None:
    ready = asyncio.Event()
    bus = await servicebus.open(*place(encrypted, certificates.certificate))
    inbox = await bus.subscribe(Subscription("hive", "bob"), ready.set)
    await bus.publish([envelope("sealed")])
    await ready.wait()
    (delivery,) = inbox.take(1)
    assert delivery.envelope.message == envelope("sealed").message
    await delivery.ack()
    await bus.close()


def test_a_certificate_nobody_vouches_for_is_refused(encrypted: BrokerThread, tmp_path_factory: pytest.TempPathFactory) -> None:
    others = make_certificates(tmp_path_factory.mktemp("others"))
    with pytest.raises(BackendUnavailable, match=r"(?i)certificate"):
        asyncio.run(servicebus.open(*place(encrypted, others.certificate)))


def place(thread: BrokerThread, certificate: Path) -> tuple[Any, BusSettings]:
    credential = thread.connection_string(is_emulator=False)
    return address_of(f"servicebus://127.0.0.1:{thread.port}"), BusSettings(credential, certificate=certificate)


def signature(where: str, key: str) -> str:
    """As the portal of Azure gives them out."""
    place, expires = quote_plus(where), int(time.time()) + 600
    signed = base64.b64encode(hmac.digest(key.encode(), f"{place}\n{expires}".encode(), "sha256"))
    return f"SharedAccessSignature sr={place}&sig={quote_plus(signed)}&se={expires}&skn=RootManageSharedAccessKey"


async def is_connected(bus: servicebus.ServiceBus) -> bool:
    return bus.health.is_connected


async def given_up(broker: Harness, world: World, *texts: str) -> None:
    """Dead letters of bob that the broker makes."""
    await asyncio.to_thread(broker.give_up, world.hive, "bob", [world.envelope(text) for text in texts])
