"""Many tasks and one memory: nothing is torn, nothing is lost, and closing waits. Over every store."""

import asyncio
import random
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from hive_mind.errors import HiveError, InvalidInput
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.model.content import Content
from hive_mind.model.fact import Relation
from hive_mind.model.query import Query
from tests.builders import BagOfWords, Home, lines_of, said
from tests.contract.fleets import ALL_HOMES, home_for
from tests.sampled import usually


@pytest.fixture(params=ALL_HOMES)
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    return home_for(request.param, tmp_path)


async def test_the_same_statement_from_many_tasks_is_one_fact_with_all_sources(memory: CognitiveMemory):
    sources = [f"source {n}" for n in range(25)]
    facts = await asyncio.gather(*(memory.store_fact("pump", "The pump is red.", source=s) for s in sources * 2))

    (kept,) = await memory.get_all_facts()
    assert sorted(kept.sources) == sorted(sources)
    assert {fact.id for fact in facts} == {kept.id}
    await memory.sleep()
    assert await memory.get_all_facts() == [kept]


@pytest.mark.parametrize("seed", usually(range(5), 0, 1))
async def test_whatever_tasks_do_at_once_ram_and_disk_agree(seed: int, memory: CognitiveMemory):
    chance = random.Random(seed)

    async def act(memory: CognitiveMemory) -> None:
        texts = [f"Statement {n}." for n in range(6)]
        source = chance.choice(["ines", "otto", "zoe"])
        try:
            fact = await memory.store_fact("some", chance.choice(texts), chance.random(), source=source)
            match chance.randrange(4):
                case 0:
                    await memory.retract_fact(fact.id)
                case 1:
                    await memory.supersede(fact.id, said(chance.choice(texts)), source)
                case 2:
                    await memory.sleep()
                case _:
                    await memory.search_facts("statement")
        except InvalidInput:
            pass  # A statement that would supersede itself.

    tasks = [asyncio.create_task(act(memory)) for _ in range(60)]
    for task in tasks[::3]:
        await asyncio.sleep(0)
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

    before, hits = await lines_of(memory), await memory.search_facts("statement", 20)
    assert {hit.fact.id for hit in hits} == {fact.id for fact in await memory.get_all_facts()}
    await memory.sleep()
    assert (await lines_of(memory), await memory.search_facts("statement", 20)) == (before, hits), f"seed {seed}"


async def given_up(work: Coroutine[Any, Any, Any], turns: int) -> None:
    """Begin it, and let it go after so many turns of the loop."""
    task = asyncio.create_task(work)
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_caller_who_gives_up_leaves_a_whole_write_or_none(memory: CognitiveMemory):
    old = [await memory.store_fact("pump", f"Pump {turns} is red.") for turns in range(8)]
    for turns in range(8):
        blue = [said(f"Pump {turns} is blue, says {n}.") for n in range(5)]
        await given_up(memory.store_facts(blue, "ines"), turns)
        await given_up(memory.supersede(old[turns].id, said(f"Pump {turns} is green."), "otto"), turns)

    await memory.sleep()
    contents = [fact.content for fact in await memory.get_all_facts()]
    for turns in range(8):
        is_green = f"Pump {turns} is green." in contents
        assert sum(f"Pump {turns} is blue" in content for content in contents) in (0, 5), turns
        assert (f"Pump {turns} is red." in contents) != is_green, turns
        assert len(await memory.related(old[turns].id, Relation.SUPERSEDES, backwards=True)) == is_green, turns
    assert (await memory.get_statistics()).without_vector == 0


async def test_closing_while_others_write_finishes_or_refuses_each(home: Home):
    memory = home.memory(BagOfWords())
    writes = [asyncio.create_task(memory.store_fact("n", f"Statement {n}.")) for n in range(30)]
    for _ in range(10):
        await asyncio.sleep(0)
    await asyncio.gather(memory.close(), memory.close())
    results = await asyncio.gather(*writes, return_exceptions=True)

    kept = {fact.content for fact in results if not isinstance(fact, BaseException)}
    assert all(isinstance(result, HiveError) for result in results if isinstance(result, BaseException))
    async with home.memory(BagOfWords()) as again:
        assert kept == {fact.content for fact in await again.get_all_facts()}


async def test_waking_that_fails_can_be_tried_again(home: Home):
    async def failing() -> None:
        raise OSError("no disk")

    memory = home.memory(BagOfWords())
    good, memory._open_store = memory._open_store, failing
    with pytest.raises(OSError, match="no disk"):
        await memory.get_all_facts()
    memory._open_store = good
    await memory.store_fact("pump", "The pump is red.")
    await memory.close()


async def test_an_export_sees_one_moment_while_others_write(home: Home):
    async with home.memory(BagOfWords()) as memory, Home().memory() as copy:
        episode = await memory.store_episode(Content("Text.", "ines"))
        await memory.store_facts([said(f"Pump {n}.") for n in range(20)], "ines", episode)
        lines = []
        async for line in memory.export():
            lines.append(line)
            if len(lines) % 5 == 0:
                later = await memory.store_episode(Content(f"Text {len(lines)}.", "ines"))
                await memory.store_facts([said(f"Door {len(lines)}.")], "ines", later)

        assert await copy.import_lines(lines) == 20


async def test_a_memory_closes_though_an_export_was_left_early_and_another_one_is_half_read(home: Home):
    memory = home.memory()
    await memory.store_facts([said("The pump is red."), said("The door is blue.")], "ines")
    async for _ in memory.export():
        break
    lines = memory.export()
    first = await anext(lines)

    await memory.close()
    assert len([first, *[line async for line in lines]]) == 2


async def test_a_caller_who_gives_up_while_the_memory_wakes_or_falls_asleep_locks_nobody_out(home: Home):
    for turns in (0, 1, 2, 3, 5, 9, 20):
        memory = home.memory(BagOfWords())
        for begin in (memory.get_all_facts, memory.sleep, memory.sleep, memory.get_all_facts, memory.close):
            await given_up(begin(), turns)
            if begin != memory.close:
                await memory.store_fact("pump", "The pump is red.")
                assert len(await memory.get_all_facts()) == 1, turns
        await memory.close()
        async with home.memory() as again:
            assert len(await again.get_all_facts()) == 1, turns


async def test_others_have_their_turn_between_searches(memory: CognitiveMemory):
    await memory.store_fact("pump", "The pump is red.")
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    for _ in range(20):
        await memory.search_facts(Query("red pump", method="keyword"))
    task.cancel()

    assert turns >= 20
