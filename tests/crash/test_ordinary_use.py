"""Some hundred or thousand small changes, then a kill or a clean stop: the memory opens again with every one of them.

That much was enough to destroy a memory while Kuzu kept it. `HIVE_USES="5000 20000"` makes so many too,
`make chaos-store` 5,000.
"""

import asyncio
import gc
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from hive_mind import CognitiveMemory, Fact, Settings, open_memory
from hive_mind.embed.none import NoEmbedder
from hive_mind.store import sqlite
from tests.crash.ordinary_writer import AGENT, WORK
from tests.sampled import thorough
from tests.servers.forked import Forked

COUNTS = (250, thorough(1_000), *(thorough(int(count)) for count in os.environ.get("HIVE_USES", "").split()))
# Of the second part of a storm; the first fills the caches, of words for instance, that have a bound.
# 3.8 MB were measured; 8.9 where all that was ever taken back is held.
_GROWTH_MAX_BYTES, _WARM, _CYCLES, _LIVE = 6 << 20, 6_000, 12_000, 300
_SAME, _ROUNDS = 20, 25


@pytest.mark.parametrize("is_killed", [True, False], ids=["killed", "closed"])
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("work", WORK)
def test_after_so_much_ordinary_use_everything_is_there(work: str, count: int, is_killed: bool, tmp_path: Path) -> None:
    acknowledged = used(tmp_path, work, count, is_killed=is_killed)
    kept = asyncio.run(states(tmp_path, acknowledged))
    assert len(acknowledged) >= count
    assert kept == acknowledged


def used(home: Path, work: str, count: int, *, is_killed: bool) -> dict[str, str]:
    """What became of each fact by all that a process was told is done, before it ended."""
    command = [sys.executable, "-m", "tests.crash.ordinary_writer", str(home), work, str(count)]
    with Forked(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        told = dict(changes(writer.stdout))
        if is_killed:
            writer.kill()
        else:
            writer.communicate()
    assert writer.returncode == (-9 if is_killed else 0)
    return told


def changes(lines: Iterator[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        if line == "done\n":
            return
        words = line.split()
        yield from zip(words[1::2], words[::2], strict=True)


async def states(home: Path, ids: dict[str, str]) -> dict[str, str]:
    async with await open_memory(Settings(home=home, embed="none"), AGENT) as memory:
        return {fact_id: state(await memory.get_fact(fact_id)) for fact_id in ids}


def state(fact: Fact | None) -> str:
    if fact is None:
        return "missing"
    return "retracted" if fact.is_retracted else "superseded" if fact.superseded_by else "current"


@pytest.mark.usefixtures("settled_heap")
def test_the_same_facts_stored_and_taken_back_again_and_again_take_no_more_memory(tmp_path: Path) -> None:
    growth = asyncio.run(grown_by_the_same(tmp_path / "memory.sqlite"))

    # Of what a round leaves for good a hundred bytes for each fact would be seen.
    assert growth < _SAME * _ROUNDS * 100, f"{growth:,} bytes"


_OF_A_MEMORY = [tracemalloc.Filter(True, f"*/hive_mind/{room}/*") for room in ("memory", "model", "ranking", "sqlite", "store")]


async def grown_by_the_same(path: Path) -> int:
    """Bytes that Python's objects grew by, once everything has been done a few times."""
    async with CognitiveMemory(lambda: sqlite.open(path), NoEmbedder()) as memory:

        async def rounds(count: int) -> int:
            for _ in range(count):
                ids = [(await memory.store_fact("pump", f"Pump {number} ran {number * 7} hours.")).id for number in range(_SAME)]
                for fact_id in ids:
                    await memory.retract_fact(fact_id)
            gc.collect()
            # Brokers of other tests may run in this process, too.
            return sum(one.size for one in tracemalloc.take_snapshot().filter_traces(_OF_A_MEMORY).statistics("filename"))

        tracemalloc.start()
        try:
            before = await rounds(_ROUNDS)
            return await rounds(_ROUNDS) - before
        finally:
            tracemalloc.stop()


@pytest.mark.thorough
def test_an_agent_that_stores_and_retracts_without_end_does_not_grow(tmp_path: Path) -> None:
    growth = asyncio.run(grown(tmp_path / "memory.sqlite"))
    assert growth < _GROWTH_MAX_BYTES, f"{growth:,} bytes for {_CYCLES} facts stored and retracted"


async def grown(path: Path) -> int:
    async with CognitiveMemory(lambda: sqlite.open(path), NoEmbedder()) as memory:
        kept: list[str] = []

        async def turn(number: int) -> None:
            kept.append((await memory.store_fact("pump", f"Run {number}: pump {number % 97} ran {number % 1009} hours.")).id)
            if len(kept) > _LIVE:
                await memory.retract_fact(kept.pop(0))

        for number in range(_WARM):
            await turn(number)
        before = psutil.Process().memory_info().rss
        for number in range(_WARM, _WARM + _CYCLES):
            await turn(number)
        return int(psutil.Process().memory_info().rss) - before
