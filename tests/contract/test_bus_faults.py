"""What every bus over a broker must do when the broker, the network or another process fails it."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import cast

import msgspec
import pytest

from hive_mind import backends
from hive_mind.bus import BusSettings, EventBus
from hive_mind.bus.address import BusAddress
from hive_mind.errors import BackendRejected, BackendThrottled, BackendUnavailable, ConfigError
from tests.contract.bus_builders import Scenario, World, needs, published, text
from tests.contract.buses.base import BaseHarness
from tests.servers.forked import Forked
from tests.waiting import until

Run = Callable[[Scenario], None]


# Whatever a broker refuses is told within this time.
_TOLD_WITHIN_S = 60


def test_a_wrong_credential_is_told_at_once_and_never_shown(broker: BaseHarness) -> None:
    needs(broker, "wrong_credential")
    address, settings = broker.with_wrong_credential()

    with pytest.raises(BackendRejected) as raised:
        opened(address, settings)
    shown = f"{raised.value} {raised.value!r} {address} {address!r} {settings!r} {causes(raised.value)}"
    for secret in filter(None, (address.password, settings.credential)):
        assert secret not in shown


def test_a_missing_entity_is_told_at_once(broker: BaseHarness) -> None:
    needs(broker, "missing_entity")
    with pytest.raises(BackendRejected):
        opened(*broker.with_missing_entity())


async def test_a_name_that_may_not_subscribe_is_told_at_once(broker: BaseHarness, world: World) -> None:
    needs(broker, "forbidden")

    hive, name = broker.forbidden()
    async with asyncio.timeout(_TOLD_WITHIN_S):
        with pytest.raises(BackendRejected):
            await world.listener(name, hive=hive, is_provided=False)
    bob = await world.listener()
    await world.publish("still fine")
    assert await bob.take_and_ack() == ["still fine"]


def test_a_broker_that_is_not_there_is_told_in_time(broker: BaseHarness) -> None:
    needs(broker, "down")
    settings = replace(broker.settings(), connect_timeout_s=3.0)
    with broker.down(), pytest.raises(BackendUnavailable):
        opened(broker.address(), settings)


def test_facts_and_passwords_leave_this_machine_encrypted_or_not_at_all(broker: BaseHarness) -> None:
    address = broker.address()
    if not address.host:
        pytest.skip("this bus has no address")

    with pytest.raises(ConfigError) as raised:
        opened(replace(address, host="broker.example.org", is_encrypted=False, options=()), broker.settings())
    assert not address.password or address.password not in str(raised.value)


async def test_connections_that_drop_while_nothing_happens_do_no_harm(broker: BaseHarness, world: World) -> None:
    needs(broker, "drop")

    bob = await world.listener()
    await world.publish("before")
    assert await bob.take_and_ack() == ["before"]
    broker.drop_connections()
    await asyncio.sleep(0.1)

    await published(world.bus, [world.envelope("after")])
    assert await bob.take_and_ack() == ["after"]
    await until(lambda: world.bus.health.is_connected and world.bus.health.reconnects > 0)


async def test_connections_that_drop_under_much_traffic_lose_and_repeat_nothing(broker: BaseHarness, world: World) -> None:
    needs(broker, "drop")

    bob = await world.listener()
    said = [str(n) for n in range(200)]

    async def publish_all() -> None:
        for start in range(0, len(said), 10):
            await published(world.bus, [world.envelope(one) for one in said[start : start + 10]])

    publishing = asyncio.create_task(publish_all())
    heard: list[str] = []
    for _ in range(4):
        heard += await bob.take_and_ack(40)
        broker.drop_connections()
    heard += await bob.take_and_ack(len(said) - len(heard))
    await publishing

    assert sorted(heard) == sorted(said)
    assert await bob.has_nothing()


async def test_a_publish_in_doubt_is_seen_once(broker: BaseHarness, world: World) -> None:
    needs(broker, "in_doubt")

    bob = await world.listener()
    doubtful = world.envelope("once")
    with broker.in_doubt():
        await published(world.bus, [doubtful])
    await published(world.bus, [world.envelope("end")])

    assert await bob.take_and_ack(2) == ["once", "end"]
    assert await bob.has_nothing()


def test_who_is_idle_for_longer_than_the_broker_likes_goes_on_as_before(broker: BaseHarness, with_bus: Run) -> None:
    needs(broker, "idle")

    async def scenario(world: World) -> None:
        bob = await world.listener()
        await world.publish("before")
        assert await bob.take_and_ack() == ["before"]
        await asyncio.sleep(2.5)

        await published(world.bus, [world.envelope("after")])
        assert await bob.take_and_ack() == ["after"]

    with broker.idle_timeout(1):
        with_bus(scenario)


async def test_what_a_broker_accepted_outlives_it_where_it_says_so(broker: BaseHarness, world: World) -> None:
    needs(broker, "restart")

    if not world.bus.capabilities.survives_restart:
        pytest.skip("this broker keeps nothing")
    bob = await world.listener()
    await world.publish("acknowledged", "in hand", "waiting")
    first, in_hand = await bob.take(2)
    await first.ack()
    await asyncio.sleep(0.1)
    broker.restart()

    await published(world.bus, [world.envelope("after")])
    assert text(in_hand) == "in hand"
    assert await bob.take_and_ack(2) == ["waiting", "after"]
    await in_hand.ack()
    assert await bob.has_nothing()


async def test_everybody_goes_on_when_the_broker_is_back(broker: BaseHarness, world: World) -> None:
    needs(broker, "down")

    bob = await world.listener()
    with broker.down():
        with pytest.raises(BackendUnavailable):
            await world.bus.publish([world.envelope("to nobody")], timeout_s=0.2)
        assert world.bus.health.last_error
    await published(world.bus, [world.envelope("after")])

    heard = await bob.take_and_ack()
    while "after" not in heard:
        heard += await bob.take_and_ack()
    assert set(heard) <= {"to nobody", "after"}
    await until(lambda: is_connected(world.bus))


async def test_a_bus_can_be_closed_while_its_broker_is_gone(broker: BaseHarness, world: World) -> None:
    needs(broker, "down")

    bob = await world.listener()
    await world.publish("in hand")
    (delivery,) = await bob.take()
    with broker.down():
        await delivery.ack()
        async with asyncio.timeout(60):
            await world.bus.close(drain_s=0.2)


async def test_a_broker_that_is_full_is_waited_for_and_then_reported(broker: BaseHarness, world: World) -> None:
    needs(broker, "throttle")

    bob = await world.listener()
    with broker.throttle():
        with pytest.raises(BackendThrottled):
            await world.bus.publish([world.envelope("too much")], timeout_s=0.3)
        patient = asyncio.create_task(world.bus.publish([world.envelope("patient")], timeout_s=30))
        await asyncio.sleep(0.2)
        assert not patient.done()
    await patient

    assert await bob.take_and_ack() == ["patient"]
    assert await bob.has_nothing()


async def test_what_a_killed_process_had_in_hand_goes_to_the_next_of_its_name(world: World) -> None:
    if not world.bus.capabilities.is_durable:
        pytest.skip("nothing outlives a process here")
    world.harness.provide(world.hive, "bob")
    async with consumer(world, count=5) as process:
        await world.publish(*map(str, range(8)))
        assert await said(process) == "taken"
        process.kill()
    bob = await world.listener()

    taken = await bob.take(8)
    assert sorted(map(text, taken)) == sorted(map(str, range(8)))
    for delivery in taken:
        await delivery.ack()
    await world.publish("after")
    assert await bob.take_and_ack() == ["after"]
    assert await bob.has_nothing()


def opened(address: BusAddress, settings: BusSettings) -> None:
    """Open and close; raises what opening raises, in time."""

    async def whole() -> None:
        async with asyncio.timeout(_TOLD_WITHIN_S):
            bus = cast(EventBus, await backends.load("bus", address.backend).open(address, settings))
        await bus.close()

    asyncio.run(whole())


def causes(error: BaseException | None) -> str:
    return f"{error} {error!r} {causes(error.__cause__)} {causes(error.__context__)}" if error is not None else ""


async def is_connected(bus: EventBus) -> bool:
    return bus.health.is_connected


@asynccontextmanager
async def consumer(world: World, count: int) -> AsyncIterator[subprocess.Popen[str]]:
    """A process that has subscribed as "bob"."""
    harness = world.harness
    where = harness.address(), harness.settings().credential, str(harness.settings().state or "") or None
    command = [sys.executable, "-m", "tests.contract.bus_consumer", harness.address().backend, world.hive, "bob", str(count)]
    pipe = subprocess.PIPE
    with Forked(command, cwd=Path(__file__).parents[2], stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        process.stdin.write(msgspec.json.encode(where).decode() + "\n")
        process.stdin.flush()
        try:
            assert await said(process) == "ready"
            yield process
        finally:
            with suppress(ProcessLookupError):
                process.kill()


async def said(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return (await asyncio.to_thread(process.stdout.readline)).strip()
