"""A process to be killed: writes facts with their episode, entity, edges and vector, and says what is acknowledged.

`python -m tests.crash.writer FILE SEED` prints "ACK n" once write n is durable, "CHECKPOINT" right before each checkpoint and
"WRITTEN BACK" right after it.
"""

import asyncio
import os
import random
import sys
from pathlib import Path

import numpy as np

from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact, Relation
from hive_mind.store import sqlite
from hive_mind.store.base import AddEntity, AddEpisode, AddFact, Change, Link, PutVector, ReviseFact

FACTS_PER_WRITE = 3


def say(line: str) -> None:
    """One line at once: two threads speak."""
    os.write(1, f"{line}\n".encode())


def ids(number: int, place: int) -> tuple[str, str, str]:
    """The fact, its episode and its vector's key of one place in one write."""
    return f"f{number}.{place}", f"e{number}.{place}", f"v{number}.{place}"


def changes_of(number: int) -> list[Change]:
    """Write `number`: all of it must be there after a crash, or nothing of it."""
    made: list[Change] = []
    for place in range(FACTS_PER_WRITE):
        fact_id, episode_id, key = ids(number, place)
        vector = np.full(64, number % 100, np.float32)
        made += [
            AddFact(Fact(fact_id, f"Fact {number}.{place} " + "x" * 200, "topic", 0.5, ("alice",), number)),
            AddEpisode(Episode(episode_id, f"Episode {number}.{place}", "alice", "", number)),
            AddEntity(f"n{number % 7}", "Name"),
            Link(Relation.DERIVES_FROM, fact_id, episode_id),
            Link(Relation.MENTIONS, fact_id, f"n{number % 7}"),
            PutVector("m", key, vector),
        ]
    return made


def revision_of(number: int) -> list[Change]:
    """Changes facts of an older write, so that checkpoints also meet changed rows."""
    return [ReviseFact(Fact(ids(number, 0)[0], "", "revised", 0.9, ("alice", "bob"), number))]


async def main(path: Path, seed: int) -> None:
    rng = random.Random(seed)
    store = await sqlite.open(path)
    first = (await store.counts())["facts"] // FACTS_PER_WRITE

    async def write(number: int) -> None:
        await store.write(changes_of(number))
        say(f"ACK {number}")

    say("OPEN")
    for number in range(first, first + 100_000, 4):
        # Several at once, so that some share a commit.
        at_once = 4 if rng.random() < 0.5 else 1
        for start in range(0, 4, at_once):
            await asyncio.gather(*(write(number + start + n) for n in range(at_once)))
        await store.write(revision_of(rng.randrange(number + 1)))
        # Every few dozen writes, so that many of the kills can hit one.
        if number % 32 == 0:
            say("CHECKPOINT")
            await store.tidy()
            say("WRITTEN BACK")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
