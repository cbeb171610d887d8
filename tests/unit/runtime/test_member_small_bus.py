"""Members over a bus that writes what it carries, and takes small messages only: what is large all the same arrives, in parts."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace

import pytest

from hive_mind.bus import BusCapabilities, Envelope, codec
from hive_mind.bus.memory import MemoryBus
from hive_mind.errors import InvalidInput, MessageTooLarge
from hive_mind.hive.trust.trust_book import rating_value
from hive_mind.model.bounds import COUNT_MAX, LIMIT_MAX
from hive_mind.model.content import Candidate
from hive_mind.runtime.members.member import RunningMember
from tests.unit.runtime.members.town import Town, plan
from tests.waiting import until

BYTES_MAX = 64 * 1024


class SmallBus(MemoryBus):
    """Refuses what is too large; never at once, so that it sees everything."""

    @property
    def capabilities(self) -> BusCapabilities:
        return replace(super().capabilities, envelope_bytes_max=BYTES_MAX)

    async def publish(self, envelopes: Sequence[Envelope], *, timeout_s: float = 10.0) -> None:
        for envelope in envelopes:
            if (size := len(codec.encode(envelope))) > BYTES_MAX:
                raise MessageTooLarge("small", size, BYTES_MAX)
        await super().publish(envelopes, timeout_s=timeout_s)


async def two(town: Town, topology: str = "federated") -> tuple[RunningMember, RunningMember]:
    """Ann and bob, over a small bus; a federated hive has each in a group of its own."""
    town.bus, names = SmallBus(), ("ann", "bob") if topology == "flat" else ("x:ann", "y:bob")
    ann, bob = [await town.begin(plan(name, *names, topology=topology)) for name in ("ann", "bob")]
    await asyncio.gather(ann.until_ready(10, print), bob.until_ready(10, print))
    return ann, bob


async def test_long_facts_promoted_together_reach_the_others_and_are_known_to_have(town: Town) -> None:
    ann, bob = await two(town, "flat")
    said = [Candidate(f"Pump {number}. " + "word " * 2_000, "pump", 0.8) for number in range(12)]
    await ann.memory.store_facts(said, "manual")
    await until(lambda: not ann.is_busy)

    assert {fact.sharing.value for fact in await ann.memory.local_get_all_facts()} == {"shared"}
    assert len(await bob.memory.search_facts("pump", 20)) == 12


async def test_more_facts_than_fit_a_message_are_listed_and_found_from_another_process(town: Town) -> None:
    ann, bob = await two(town)
    said = [Candidate(f"Pump {number}. " + "word " * 2_000, "pump", 0.8) for number in range(16)]
    await bob.memory.store_facts(said, "manual")
    await until(lambda: not bob.is_busy)

    listed = await ann.runner.facts()
    found = await ann.memory.search_facts("pump", 16)

    assert (len(listed.facts), listed.missing) == (16, ())
    assert len(found) == 16


async def test_what_can_not_be_written_is_not_found_and_stops_no_node(town: Town) -> None:
    ann, bob = await two(town)
    await bob.memory.store_fact("pump", "The pump is red.")
    await until(lambda: not bob.is_busy)

    assert await ann.memory.search_by_concept("half \udcff") == []
    assert await ann.runner.fetch([("half \udcff", "")]) == ()
    with pytest.raises(InvalidInput, match="unpaired surrogate"):
        await ann.runner.tell(("bob",), "half \udcff", b"")
    assert [fact.content for fact in await ann.memory.get_all_facts(COUNT_MAX)] == ["The pump is red."]
    assert [hit.fact.content for hit in await ann.memory.search_facts("pump", LIMIT_MAX)] == ["The pump is red."]
    assert ann.runner.failure is None


async def test_what_a_rated_agent_said_is_found_and_fetched_from_another_process(town: Town) -> None:
    ann, bob = await two(town)
    await bob.memory.store_fact("pump", "The pump is red.")
    await until(lambda: not bob.is_busy)
    assert list(await bob.runner.write([("rating/cleo/bob", rating_value(None, True, time.time_ns() // 10**6))], "cleo")) == [""]

    (hit,) = await ann.memory.search_facts("pump")
    (fact,) = await ann.runner.fetch([(hit.fact.id, "bob")])

    assert fact.trust > 1.0
    assert [one.content for one in await ann.memory.get_all_facts()] == ["The pump is red."]
    assert bob.runner.failure is None
