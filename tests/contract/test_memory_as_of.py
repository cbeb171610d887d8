"""What a memory says was held true at an earlier time: of one agent over every store, and of a hive in every topology."""

import asyncio
import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from hive_mind import backends
from hive_mind.hive.topology.spec import TopologyName
from hive_mind.memory.base import Memory
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.memory.erased_from import erase_from
from hive_mind.model.erasure import erasure_of
from hive_mind.model.query import METHODS, Method, Query
from hive_mind.store import ReviseFact
from tests.builders import FIRST_US, BagOfWords, Home, found, said
from tests.contract.scenarios_of_agents import among

RED, BLUE, OPEN = "The pump is red.", "The pump is blue.", "The door by the pump is open."


async def held(memory: Memory, at_us: int, method: Method = "hybrid") -> set[str]:
    return set(await found(memory, Query("which pump, which door?", 50, method, as_of_us=at_us)))


@pytest.mark.parametrize("method", METHODS)
async def test_what_was_superseded_or_taken_back_later_is_found_as_of_before(method: Method, memory: CognitiveMemory):
    old = await memory.store_fact("pump", RED)
    open_ = await memory.store_fact("door", OPEN)
    new = await memory.supersede(old.id, said(BLUE), "otto")
    taken_back = await memory.retract_fact(open_.id)
    (_, replaced_us), (_, retracted_us) = [(await memory.get_fact(one.id)).times_held for one in (old, taken_back)]

    assert await held(memory, old.learned_at_us - 1, method) == set()
    assert await held(memory, old.learned_at_us, method) == {RED}
    (then,) = await memory.search_facts(Query("pump", 1, method, as_of_us=old.learned_at_us))
    assert (then.fact.superseded_by, then.fact.turned_at_us, then.fact.learned_at_us) == ("", (), old.learned_at_us)
    assert await held(memory, replaced_us - 1, method) >= {RED, OPEN}
    assert await held(memory, max(replaced_us, new.learned_at_us), method) == {BLUE, OPEN}
    assert await held(memory, retracted_us, method) == {BLUE} == set(await found(memory, Query("pump, door", 50, method)))


async def test_what_holds_again_did_not_hold_in_between(memory: CognitiveMemory):
    first = await memory.store_fact("pump", RED)
    await memory.supersede((await memory.supersede(first.id, said(BLUE), "otto")).id, said(RED), "ines")
    began, ceased, again = (await memory.get_fact(first.id)).times_held

    assert [RED in await held(memory, at) for at in (began, ceased - 1, ceased, again - 1, again)] == [1, 1, 0, 0, 1]
    assert BLUE not in await held(memory, again)


async def test_what_was_taken_back_and_said_by_another_source_did_not_hold_in_between(memory: CognitiveMemory):
    kept = await memory.store_fact("pump", RED, source="ines")
    await memory.retract_fact(kept.id)
    assert await held(memory, kept.learned_at_us) == {RED}
    await memory.store_fact("pump", RED, source="otto")
    began, ceased, again = (await memory.get_fact(kept.id)).times_held

    assert [bool(await held(memory, at)) for at in (began - 1, began, ceased - 1, ceased, again)] == [0, 1, 1, 0, 1]
    (then,) = await memory.search_facts(Query("pump", as_of_us=began))
    assert (then.fact.is_current, then.fact.learned_at_us) == (True, began)


async def test_what_an_earlier_version_superseded_held_at_no_time_that_is_known():
    async with Home().memory(BagOfWords()) as memory:
        old = await memory.store_fact("pump", RED)
        new = await memory.supersede(old.id, said(BLUE), "otto")
        async with memory.awake() as awake:
            await awake.store.write([ReviseFact(replace(awake.recall.facts[old.id], turned_at_us=()))])
        await memory.sleep()

        assert await held(memory, old.learned_at_us) == set()
        assert await held(memory, new.learned_at_us) == {BLUE}
        await memory.retract_fact(new.id)
        assert RED in await held(memory, (await memory.get_fact(old.id)).times_held[-1])


async def test_what_was_erased_never_comes_back():
    async with Home().memory(BagOfWords()) as memory:
        old = await memory.store_fact("pump", RED)
        await memory.supersede(old.id, said(BLUE), "otto")

        assert await held(memory, old.learned_at_us) == {RED}
        await erase_from(memory, [erasure_of("fact", old.id)], 0)
        assert await held(memory, old.learned_at_us) == set()


@pytest.mark.usefixtures("loop_of_its_own")
async def test_every_topology_says_the_same_of_an_earlier_time(topology: TopologyName):
    async with among(topology) as (agents, members):
        ada, ben, *others = agents
        moments = list[int]()

        async def moment() -> None:
            await members.settled()
            await asyncio.sleep(1)
            moments.append(members.clock().wall_ms * 1000)
            await asyncio.sleep(1)

        for agent in agents:
            agent.local._clock = lambda: members.clock().wall_ms * 1000
        await moment()
        old = await ada.store_fact("pump", RED, 0.9)
        open_ = await ben.store_fact("door", OPEN, 0.9)
        await moment()
        await ada.supersede(old.id, said(BLUE, confidence=0.9), "otto")
        await moment()
        await ben.retract_fact(open_.id)
        await moment()

        # Whoever superseded or took back knows what it held; the hive has let go of it.
        assert [await held(ada, at) for at in moments] == [set(), {RED}, {BLUE}, {BLUE}]
        assert [await held(ben, at) for at in moments] == [set(), {OPEN}, {OPEN, BLUE}, {BLUE}]
        for agent in others:
            assert [await held(agent, at) for at in moments] == [set(), set(), {BLUE}, {BLUE}]


@pytest.mark.usefixtures("loop_of_its_own")
async def test_what_was_shared_after_that_time_counts_as_learned_when_its_agent_learned_it(topology: TopologyName):
    async with among(topology) as (agents, members):
        ada, *_ = agents
        ada.local._clock = lambda: members.clock().wall_ms * 1000
        await members.begin()
        await ada.local_store_fact("pump", RED, 0.9)
        await asyncio.sleep(1)
        then_us = members.clock().wall_ms * 1000
        await asyncio.sleep(1)
        await ada.store_fact("pump", RED, 0.9)
        await members.settled()

        assert await held(ada, then_us) == {RED} == await held(ada, members.clock().wall_ms * 1000)


@pytest.mark.parametrize("store", backends.known("store"))
async def test_a_clock_that_was_set_back_by_years_loses_and_refuses_nothing(store: str, tmp_path: Path):
    home = Home(store, tmp_path / "memory.db")
    async with home.memory() as memory:
        first, other = [await memory.store_fact("pump", f"Pump {number} ran well.") for number in range(2)]
    home._clock = itertools.count(FIRST_US - 10 * 365 * 86_400 * 1_000_000)
    async with home.memory() as memory:
        await memory.retract_fact(first.id)
        newest = await memory.store_fact("pump", "Pump 2 ran well.")
        assert [fact.id for fact in await memory.get_all_facts()] == [newest.id, other.id]
    async with home.memory() as memory:
        assert {fact.id for fact in await memory.get_all_facts()} == {newest.id, other.id}
