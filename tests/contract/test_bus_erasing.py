"""What is to be forgotten goes from every bus that can delete: from what somebody away has not read, and from dead letters."""

import asyncio
import gc
import types
from collections.abc import Iterator
from typing import Any

import pytest

from hive_mind import backends
from hive_mind.bus import Envelope, admin_of
from hive_mind.bus.servicebus.admin import taken_off
from hive_mind.model.messages import Receipt
from tests.contract.bus_builders import World, only_where, texts
from tests.contract.buses.redis import Harness as Redis
from tests.contract.buses.servicebus import Harness as ServiceBus

pytestmark = pytest.mark.slow

ADA, FERRY = "Ada Lovelace lives in Corrin.", "The ferry leaves at nine."


def is_meant(envelope: Envelope) -> bool:
    return isinstance(envelope.message, Receipt) and "Lovelace" in envelope.message.batch


def reached(thing: Any, *but: Any) -> Iterator[bytes]:
    """All bytes that a broker in this process, or a part of it, holds, wherever."""
    seen, waiting = set(map(id, but)), [thing]
    skipped = (
        *(type, types.ModuleType, types.FunctionType, types.FrameType, types.CoroutineType, types.CodeType),
        asyncio.AbstractEventLoop,
    )
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, skipped):
            continue
        seen.add(id(one))
        if isinstance(one, bytes | bytearray):
            yield bytes(one)
        elif isinstance(one, memoryview):
            yield one.tobytes()
        else:
            waiting += gc.get_referents(one)


async def test_of_what_is_to_be_forgotten_nothing_stays_where_a_broker_deletes_and_else_it_is_said_until_when(world: World):
    back_end = world.harness.address().backend
    only_where(world.bus.capabilities.is_durable, "keep what nobody has read")
    cleo = await world.listener("cleo")
    await world.publish(ADA, FERRY, to=("cleo",))
    await cleo.inbox.close()
    if isinstance(world.harness, ServiceBus | Redis):
        # Of the broker itself, or of a node of an earlier version. What a node refuses today is in its own file.
        await asyncio.to_thread(world.harness.give_up, world.hive, "bob", [world.envelope(text) for text in (ADA, FERRY)])
        bob = await world.listener()
        assert len(await admin_of(world.bus).dead_letters(world.hive)) == 2
        await bob.inbox.close()
    if isinstance(world.harness, ServiceBus):
        assert any(b"Lovelace" in data for data in reached(world.harness.broker.broker))

    scrub = backends.load("bus", back_end).scrub
    why = await scrub(world.harness.address(), world.harness.settings(), [world.hive], ["bob", "cleo", "dan"], is_meant)

    if back_end == "eventhubs":
        assert "retention time" in why
        return
    assert why == ""
    letters = [letter.envelope for letter in await admin_of(world.bus).dead_letters(world.hive)]
    assert not any(one is not None and is_meant(one) for one in letters)
    again = await world.listener("cleo")
    await world.publish("the end", to=("cleo",))
    said = texts(await again.take(1))
    while said[-1] != "the end":
        said += texts(await again.take(1))
    assert ADA not in said
    if isinstance(world.harness, ServiceBus):
        assert said == [FERRY, "the end"]
        assert not any(b"Lovelace" in data for data in reached(world.harness.broker.broker))


async def test_what_comes_meanwhile_goes_as_well(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    only_where(isinstance(world.harness, ServiceBus), "be looked through more than once")
    await (await world.listener("cleo")).inbox.close()
    await world.publish(ADA, FERRY, to=("cleo",))
    later = [ADA]

    async def taken_off_while_another_comes(*args: Any) -> int:
        taken = await taken_off(*args)
        if later:
            await world.publish(later.pop(), to=("cleo",))
        return taken

    monkeypatch.setattr("hive_mind.bus.servicebus.admin.taken_off", taken_off_while_another_comes)
    why = await backends.load("bus", "servicebus").scrub(
        world.harness.address(), world.harness.settings(), [world.hive], ["cleo"], is_meant
    )
    assert (why, later) == ("", [])
    again = await world.listener("cleo")
    await world.publish("the end", to=("cleo",))
    assert texts(await again.take(2)) == [FERRY, "the end"]
