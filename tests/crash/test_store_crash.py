"""Killed at any moment, a database opens again with everything acknowledged and nothing half done.

A child writes and says what is durable; the parent kills it without warning, at random moments and inside checkpoints, and
looks. The same database lives through several kills, so that checkpoints meet what earlier ones left.
"""

import asyncio
import os
import random
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

import hive_mind
from hive_mind.embed.none import NoEmbedder
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.model.fact import Relation
from hive_mind.store import sqlite
from hive_mind.store.base import FactStore
from tests.crash.writer import FACTS_PER_WRITE, ids

# A child that neither speaks nor dies would hang the test.
CHILD_MAX_S = 30.0
# A busy machine is often late for a checkpoint, which lasts some milliseconds; then more are tried.
KILLS_MAX = 300


def killed_child(path: Path, seed: int, *, in_checkpoint: bool) -> tuple[set[int], bool]:
    """Run the writer, kill it; the writes it acknowledged, and whether it was inside a checkpoint."""
    rng = random.Random(seed)
    environment = os.environ | {"PYTHONPATH": str(Path(hive_mind.__file__).parents[1])}
    command = [sys.executable, "-m", "tests.crash.writer", str(path), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
        assert child.stdout is not None
        guard = threading.Timer(CHILD_MAX_S, child.kill)
        guard.start()
        wanted, left = ("CHECKPOINT", rng.randrange(1, 4)) if in_checkpoint else ("ACK", rng.randrange(1, 60))
        acknowledged, last = set[int](), ""
        for line in child.stdout:
            last = line
            if line.startswith("ACK"):
                acknowledged.add(int(line.split()[1]))
            left -= line.startswith(wanted)
            if left <= 0:
                spin(rng.uniform(0, 0.0015) if in_checkpoint else rng.uniform(0, 0.004))
                child.kill()
                break
        rest = child.stdout.read().split("\n")
        guard.cancel()
    acknowledged |= {int(line.split()[1]) for line in rest if line.startswith("ACK ") and line[4:].isdecimal()}
    return acknowledged, in_checkpoint and last == "CHECKPOINT\n" and not any(rest)


def spin(seconds: float) -> None:
    """Let the child go on for a moment: the moment of the kill is what is tried, so it is no wait for anything."""
    threading.Event().wait(seconds)


async def whole_writes(store: FactStore) -> set[int]:
    """The writes that are there; fails when one is there in part."""
    facts = {f.id async for batch in store.facts() for f in batch}
    vectors = {key async for batch in store.vectors("m") for key in batch}
    edges = {(x.relation, x.from_id, x.to_id) async for batch in store.links() for x in batch}
    numbers = {int(fact_id[1:].partition(".")[0]) for fact_id in facts}
    for number in numbers:
        for fact_id, episode_id, key in (ids(number, place) for place in range(FACTS_PER_WRITE)):
            assert fact_id in facts, f"half a write: {number}"
            assert key in vectors, f"{fact_id} lost its vector"
            assert (Relation.DERIVES_FROM, fact_id, episode_id) in edges, f"{fact_id} lost its episode"
            assert (Relation.MENTIONS, fact_id, f"n{number % 7}") in edges, f"{fact_id} lost its entity"
    counts = await store.counts()
    assert counts["facts"] == counts["episodes"] == counts["vectors"] == len(facts)
    return numbers


async def survivors(path: Path) -> set[int]:
    """What is in the database after a kill, by opening it."""
    store = await sqlite.open(path)
    try:
        return await whole_writes(store)
    finally:
        await store.close()


async def searchable(path: Path, numbers: set[int], rng: random.Random) -> None:
    """A memory over the database knows as much as the store, and finds what it is asked for."""
    memory = CognitiveMemory(partial(sqlite.open, path), NoEmbedder())
    assert (await memory.get_statistics()).facts == FACTS_PER_WRITE * len(numbers)
    for number in rng.sample(sorted(numbers), min(5, len(numbers))):
        (hit,) = await memory.search_facts(f"Fact {number}.1", 1)
        assert hit.fact.id == ids(number, 1)[0]
    await memory.close()


def kills(folder: Path, seed: int, *, count: int, inside_min: int = 0) -> int:
    """Kill `count` times, and on until `inside_min` were inside a checkpoint; how many were. A new database every fifth time."""
    inside, expected = 0, set[int]()
    for n in range(KILLS_MAX):
        if n >= count and inside >= inside_min:
            break
        path = folder / f"{seed}-{n // 5}.sqlite"
        expected = expected if n % 5 else set()
        acknowledged, was_inside = killed_child(path, seed + n, in_checkpoint=n % 5 != 0)
        inside += was_inside
        expected |= acknowledged
        kept = asyncio.run(survivors(path)) if path.exists() or acknowledged else set()
        assert expected <= kept, f"seed {seed + n}: acknowledged writes {sorted(expected - kept)} are lost"
        if n % 5 == 4:
            asyncio.run(searchable(path, kept, random.Random(seed + n)))
        expected = kept
    return inside


def test_five_kills_lose_nothing(tmp_path: Path) -> None:
    kills(tmp_path, 1000, count=5)


@pytest.mark.slow
def test_a_hundred_kills_lose_nothing_and_many_hit_a_checkpoint(tmp_path: Path) -> None:
    assert kills(tmp_path, 1, count=100, inside_min=25) >= 25
