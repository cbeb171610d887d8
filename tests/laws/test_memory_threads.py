"""Threads that come for one agent's memory: the first has it, all others are refused with a sentence, and nothing is lost.

A memory is used in one event loop at a time; so is a fleet's, in the one that opened the fleet.
"""

import asyncio
import os
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from hive_mind import FleetPlan, Settings, open_fleet
from hive_mind.errors import InvalidInput
from hive_mind.hive.topology.spec import TopologyName
from hive_mind.memory.base import Memory
from hive_mind.memory.cognitive import CognitiveMemory
from tests.builders import BagOfWords, Home

THREADS = 8
# Of each thread; 12,500 make 100,000.
CALLS = int(os.environ.get("HIVE_THREAD_CALLS", "10"))


def calls_of(memory: Memory, thread: int) -> list[Callable[[], Coroutine[Any, Any, object]]]:
    """One of each kind, in its own words."""
    said = f"Pump {thread} is red."
    return [
        lambda: memory.search_facts("pump"),
        lambda: memory.store_fact("pump", said),
        memory.get_all_facts,
        memory.get_statistics,
        lambda: memory.search_by_concept("pump"),
    ]


def refused(memory: Memory, thread: int) -> int:
    """Of so many calls, each in an event loop of its own, how many are refused; any other error is raised."""
    calls, count = calls_of(memory, thread), 0
    for number in range(CALLS):
        try:
            asyncio.run(asyncio.wait_for(calls[number % len(calls)](), 30))
        except InvalidInput as error:
            count += "open in another event loop" in str(error)
    return count


async def refused_in_threads(memory: Memory) -> list[int]:
    with ThreadPoolExecutor(THREADS) as pool:
        loop = asyncio.get_running_loop()
        return await asyncio.gather(*(loop.run_in_executor(pool, refused, memory, thread) for thread in range(THREADS)))


@pytest.mark.parametrize("topology", ["single", "flat", "federated", "sharded"])
@pytest.mark.parametrize("is_awake", [True, False])
def test_a_fleets_memories_refuse_every_thread_but_its_own(tmp_path: Path, topology: TopologyName, is_awake: bool) -> None:
    async def whole() -> None:
        plan = FleetPlan(topology, ("ada", "bert"), groups={"all": ("ada", "bert")} if topology == "federated" else {})
        async with await open_fleet(Settings(home=tmp_path, embed="none"), plan) as fleet:
            memory = fleet.memory("ada")
            if is_awake:
                await memory.store_fact("fan", "The fan is red.")

            assert await refused_in_threads(memory) == [CALLS] * THREADS

            await memory.store_fact("gate", "The gate is red.")
            found = {fact.content for fact in await memory.get_all_facts()}
            assert found == {"The gate is red."} | ({"The fan is red."} if is_awake else set())

    asyncio.run(asyncio.wait_for(whole(), 60 + THREADS * CALLS / 100))


def test_of_threads_that_wake_a_memory_at_once_one_has_it_and_the_others_are_refused() -> None:
    for _ in range(CALLS):
        memory, barrier = Home("memory").memory(BagOfWords()), Barrier(THREADS)

        with ThreadPoolExecutor(THREADS) as pool:
            outcomes = list(pool.map(lambda thread, m=memory, b=barrier: asyncio.run(once(m, b, thread)), range(THREADS)))

        # Who comes when the first has closed it is told that it is closed.
        assert outcomes.count("") == 1, outcomes
        assert all("open in another event loop" in outcome or "closed" in outcome for outcome in outcomes if outcome), outcomes


async def once(memory: CognitiveMemory, barrier: Barrier, thread: int) -> str:
    """What a thread is told that stores a fact, finds it, and closes the memory; "" if nothing."""
    await asyncio.to_thread(barrier.wait)
    try:
        async with asyncio.timeout(30):
            await memory.store_fact("pump", f"Pump {thread} is red.")
            assert [hit.fact.content for hit in await memory.search_facts("pump")] == [f"Pump {thread} is red."]
            await memory.close()
    except InvalidInput as error:
        return str(error)
    return ""


def test_a_memory_that_sleeps_is_used_by_one_event_loop_after_the_other() -> None:
    memory = Home("memory").memory(BagOfWords())

    async def several(number: int) -> None:
        # Together: some wait for the one that wakes it.
        await asyncio.gather(*(memory.store_fact("pump", f"Pump {number}.{one} is red.") for one in range(3)))
        await asyncio.gather(memory.sleep(), memory.search_facts("pump"))
        await memory.sleep()

    for number in range(3):
        asyncio.run(asyncio.wait_for(several(number), 30))

    assert len(asyncio.run(memory.get_all_facts())) == 9
