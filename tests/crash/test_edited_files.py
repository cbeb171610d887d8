"""A file is edited again and again, and who learns it is killed each time: what it said holds until all it says now is kept."""

import asyncio
import random
import subprocess
import sys
from pathlib import Path

from hive_mind import Settings, open_memory
from tests.crash.edit_writer import AGENT, PARTS, learn, lines_of
from tests.servers.forked import Forked

EDITIONS, SEED = 9, 1409


def test_a_kill_while_an_edited_file_is_learned_costs_nothing_it_said_before(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    asyncio.run(learned(tmp_path, 0))
    whole, seen, ends = set(lines_of(0)), set(lines_of(0)), set[bool]()
    for edition in range(1, EDITIONS):
        batches = rng.randrange(PARTS // 3)
        killed_while_learning(tmp_path, edition, batches)
        now, new = asyncio.run(current(tmp_path)), set(lines_of(edition))
        seen |= new
        ends.add(now == new)
        whole = new if now == new else whole
        assert whole <= now <= seen, f"seed {SEED}: edition {edition}, killed after {batches} batches"

    assert False in ends, f"seed {SEED}: nobody was killed while learning"
    asyncio.run(learned(tmp_path, EDITIONS))
    assert asyncio.run(current(tmp_path)) == set(lines_of(EDITIONS))


def killed_while_learning(home: Path, edition: int, batches: int) -> None:
    """Let a process learn until so many batches are kept, and kill it in the midst of what it does then."""
    command = [sys.executable, "-m", "tests.crash.edit_writer", str(home), str(edition)]
    with Forked(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for _ in range(batches):
            writer.stdout.readline()
        writer.kill()


async def learned(home: Path, edition: int) -> None:
    async with await open_memory(Settings(home=home, embed="none"), AGENT) as memory:
        await learn(memory, edition)


async def current(home: Path) -> set[str]:
    async with await open_memory(Settings(home=home, embed="none"), AGENT) as memory:
        return {fact.content for fact in await memory.get_all_facts()}
