"""A memory that has grown before anybody writes into it: what is in it, who writes on, and whether all of it is still there.

Who writes also revises what was there, all over the file, so that a checkpoint has pages of every part of it to write back.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact, Relation
from hive_mind.store import AddEpisode, AddFact, Change, Link, PutVector, ReviseFact, sqlite
from hive_mind.store.sqlite import problems, record
from hive_mind.store.sqlite.reading import RecordReader
from tests.crash.workloads import COUNTER, MODEL, RecordWorkload, State, difference

_FACTS_PER_EPISODE = 100
_REVISED_PER_WRITE = 3
_WRITES_BETWEEN_SLEEPS = 300
# A prime, so that one after the other lies far apart and each has its turn.
_STRIDE = 7_919_003


def base_fact(number: int) -> Fact:
    content = f"Valve {number} of hall {number % 17} was checked in the morning and it held " + "well " * (number % 20)
    return Fact(f"base {number}", content, "valves", 0.5, ("log",), number)


def _base(facts: int) -> Iterator[list[Change]]:
    for begins in range(0, facts, _FACTS_PER_EPISODE):
        episode = Episode(f"round {begins}", f"Round {begins}", "log", "", begins)
        changes: list[Change] = [AddEpisode(episode)]
        for number in range(begins, min(facts, begins + _FACTS_PER_EPISODE)):
            fact = base_fact(number)
            changes += [AddFact(fact), Link(Relation.DERIVES_FROM, fact.id, episode.id)]
            changes.append(PutVector("base", fact.id, np.full(32, number % 50, np.float32)))
        yield changes


async def _grow(path: Path, facts: int) -> None:
    store = await sqlite.open(path)
    for changes in _base(facts):
        await store.write(changes)
    await store.close()


class Grown(RecordWorkload):
    """Writes over a memory of so many facts, and knows what must be in it."""

    def __init__(self, facts: int) -> None:
        super().__init__()
        self._facts = facts

    def changes_of(self, number: int) -> list[Change]:
        old = (base_fact((number * _REVISED_PER_WRITE + n) * _STRIDE % self._facts) for n in range(_REVISED_PER_WRITE))
        revised: list[Change] = [ReviseFact(replace(fact, sources=("log", f"log {number}"))) for fact in old]
        return super().changes_of(number) + revised

    def with_small_logs(self, _rng: random.Random) -> None:
        """Those it has, and some that bring many checkpoints."""
        pages = (record.FORMAT.log_bytes // record.FORMAT.page_bytes, 256, 64)
        record.FORMAT = replace(record.FORMAT, log_bytes=_rng.choice(pages) * record.FORMAT.page_bytes)

    async def unrest(self, opened: Any, _path: Path, rng: random.Random) -> None:
        """A memory that falls asleep writes its log back, too."""
        if rng.randrange(_WRITES_BETWEEN_SLEEPS) == 0:
            await opened.tidy()

    def grow(self, path: Path) -> int:
        """Make the memory; the last tick in it."""
        asyncio.run(_grow(path, self._facts))
        with RecordReader(path) as reader:
            return reader.last_tick

    def judged(self, path: Path, grown_at: int, acknowledged: int) -> tuple[str, int]:
        """What is wrong, "" for nothing, and how many writes there are. Changes nothing, not even the log."""
        if damaged := problems(path):
            return f"damaged: {damaged[:3]}", 0
        with RecordReader(path) as reader:
            count = int(reader.meta().get(COUNTER, "0"))
            if count < acknowledged:
                return f"{count} writes are there, {acknowledged} were acknowledged", count
            found = _found(reader, grown_at)
            kept = reader.counts()
        expected = dict(self.expected(count))
        if wrong := self._miscounted(kept, expected):
            return wrong, count
        differing = difference(found, expected)
        return (f"after {count} writes: {'; '.join(differing)}" if differing else ""), count

    def _miscounted(self, kept: Mapping[str, int], expected: State) -> str:
        named = Counter(name[0] for name in expected if isinstance(name, tuple) and not str(name[1]).startswith("base "))
        due = {"facts": self._facts + named["fact"], "vectors": self._facts + named["vector"]}
        return "; ".join(f"{kept[kind]} {kind} instead of {count}" for kind, count in due.items() if kept[kind] != count)


def _found(reader: RecordReader, grown_at: int) -> dict[object, object]:
    found: dict[object, object] = {}
    for node in reader.nodes_since(grown_at):
        if isinstance(node.value, Fact | Episode):
            found["fact" if isinstance(node.value, Fact) else "episode", node.id] = node.value
    for edge in reader.edges_since(grown_at):
        found[Link(edge.relation, edge.from_id, edge.to_id)] = True
    found |= {("meta", key): value for key, value in reader.meta().items()}
    found |= {("vector", key): value.tobytes() for key, value in reader.vectors(MODEL, (grown_at, reader.last_tick)).items()}
    return found
