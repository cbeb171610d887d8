"""Two buses as one: questions go over one and what must be kept over the other, and nobody can tell."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import get_args

import pytest

from hive_mind.bus import DeadLetter, Envelope, Subscription, type_of
from hive_mind.bus.memory import MemoryBus
from hive_mind.errors import BackendUnavailable, ConfigError, InvalidInput
from hive_mind.model.messages import (
    LIVE,
    AppMessage,
    FactsReply,
    FactsRequest,
    Heartbeat,
    Message,
    Receipt,
    SearchReply,
    SearchRequest,
)
from hive_mind.runtime.node.outgoing import OutgoingSettings
from hive_mind.runtime.routes import Lines, Routed
from tests.unit.runtime.running import listener


@asynccontextmanager
async def over() -> AsyncIterator[tuple[Routed, MemoryBus, MemoryBus]]:
    durable, live = MemoryBus(), MemoryBus()
    yield Routed(durable, live), durable, live
    await Routed(durable, live).close(drain_s=0)


def envelope(message: Message, number: int = 1, *to: str) -> Envelope:
    return Envelope(f"{number}", "hive", "ann", to or ("bob",), type_of(message), message)


async def test_questions_replies_and_beats_are_live_and_all_else_is_kept() -> None:
    assert set(LIVE) == {*get_args(SearchRequest), *get_args(SearchReply), Heartbeat}
    messages = [FactsRequest("q", (), 1), Receipt("p"), FactsReply("q", ()), AppMessage(b"", 1, 1, "", b""), Heartbeat(b"", 1, 1)]
    async with over() as (routed, durable, live):
        kept, fresh = await listener(durable, "bob"), await listener(live, "bob")
        await routed.publish([envelope(message, number) for number, message in enumerate(messages)])

        assert [one.envelope.type for one in await kept.take(2)] == ["receipt", "tell"]
        assert [one.envelope.type for one in await fresh.take(3)] == ["facts?", "facts", "beat"]


async def test_one_inbox_has_both_and_what_is_live_comes_first() -> None:
    async with over() as (routed, durable, live):
        del durable, live
        bob = await listener(routed, "bob")
        await routed.publish([envelope(Receipt("1"), 1), envelope(Receipt("2"), 2), envelope(FactsRequest("q", (), 1), 3)])

        first = await bob.take(2)
        assert [one.envelope.type for one in first] == ["facts?", "receipt"]
        for one in (*first, *await bob.take(1)):
            await one.ack()
        await bob.inbox.close()
        await listener(routed, "bob")


async def test_when_one_bus_is_gone_the_other_carries_its_own() -> None:
    async with over() as (routed, durable, live):
        bob = await listener(live, "bob")
        await durable.close()
        with pytest.raises(BackendUnavailable):
            await routed.publish([envelope(Receipt("1"), 1), envelope(FactsRequest("q", (), 1), 2)])

        assert [one.envelope.type for one in await bob.take(1)] == ["facts?"]
        await routed.publish([envelope(FactsRequest("q", (), 1), 3)])
        assert not routed.health.is_connected


async def test_a_name_that_is_taken_on_one_is_left_free_on_the_other() -> None:
    async with over() as (routed, durable, live):
        await listener(live, "bob")
        with pytest.raises(InvalidInput):
            await routed.subscribe(Subscription("hive", "bob"), lambda: None)
        await listener(durable, "bob")


async def test_dead_letters_of_both_are_listed_and_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    async def letters(bus: MemoryBus, hive: str, *, limit: int = 1) -> list[DeadLetter]:
        return [DeadLetter("bob", None, 1, "bad", f"{hive}-{limit}-{bus is durable_bus}")]

    dropped: list[str] = []

    async def drop(_: MemoryBus, hive: str, ids: Sequence[str]) -> int:
        dropped.extend(f"{hive}/{id}" for id in ids)
        return len(ids)

    monkeypatch.setattr(MemoryBus, "dead_letters", letters)
    monkeypatch.setattr(MemoryBus, "drop", drop)
    async with over() as (routed, durable_bus, _):
        ids = [letter.id for letter in await routed.dead_letters("hive", limit=2)]
        assert ids == ["durable:hive-2-True", "live:hive-2-False"]
        assert await routed.drop("hive", ids) == 2
        assert dropped == ["hive/hive-2-True", "hive/hive-2-False"]
        with pytest.raises(ConfigError):
            await routed.drop("hive", ["7"])


async def test_everything_must_fit_both_and_is_as_safe_as_the_durable_one() -> None:
    async with over() as (routed, durable, live):
        del live
        assert routed.capabilities == durable.capabilities
        watched: list[str] = []
        watch = await routed.watch("hive", lambda one: watched.append(one.type))
        await routed.publish([envelope(Receipt("1"), 1), envelope(FactsRequest("q", (), 1), 2)])
        assert sorted(watched) == ["facts?", "receipt"]
        await watch.close()


async def test_questions_are_sent_at_once_while_the_bus_for_all_else_is_gone_and_that_follows_when_it_is_back() -> None:
    class Moody(MemoryBus):
        is_gone = False
        has_refused = asyncio.Event()

        async def publish(self, envelopes: Sequence[Envelope], *, timeout_s: float = 10.0) -> None:
            if self.is_gone:
                self.has_refused.set()
                raise BackendUnavailable("memory", "it went away")
            await super().publish(envelopes, timeout_s=timeout_s)

    durable, live = Moody(), MemoryBus()
    back: list[None] = []
    lines = Lines("ann", Routed(durable, live), OutgoingSettings(), lambda: back.append(None))
    running = asyncio.create_task(lines.run())
    bob = await listener(durable, "bob"), await listener(live, "bob")
    durable.is_gone = True
    async with asyncio.timeout(60):
        for number in range(3):
            lines.add(envelope(Receipt(f"{number}"), 2 * number))
            lines.add(envelope(FactsRequest(f"{number}", (), 1), 2 * number + 1))
        assert [one.envelope.type for one in await bob[1].take(3)] == ["facts?"] * 3
        assert len(lines) == 3
        await durable.has_refused.wait()
        assert not back
        durable.is_gone = False
        assert [one.envelope.message for one in await bob[0].take(3)] == [Receipt("0"), Receipt("1"), Receipt("2")]
        await lines.until_empty()
    assert (len(lines), lines.lost, back) == (0, 0, [None])
    lines.stop()
    await running
