"""What keeping facts durably costs: one at a time, in batches, with their episode and entities, and waking up again.

`python -m benchmarks.store` prints a table; `--output json` the same as JSON. SQLite's insert on the same disk is the
yardstick, because absolute times depend on the disk.
"""

import asyncio
import random
from contextlib import closing
from pathlib import Path

import numpy as np

from benchmarks.harness import Row, batched_per_s, durable_sqlite, figure, latency, seconds, shown, waits_ms, wall_times_ms
from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact, Relation
from hive_mind.model.ids import entity_id, episode_id, fact_id, vector_key
from hive_mind.store import AddEntity, AddEpisode, AddFact, Change, FactStore, Link, PutVector
from hive_mind.store import sqlite as record

MODEL, DIMENSION = "benchmark", 384


def a_fact(number: int) -> Fact:
    content = f"Measurement {number}: the pump in hall {number % 97} ran {number % 1009} hours without a fault."
    return Fact(fact_id(content), content, "pumps", 0.8, ("log",), number, entities=("pump",))


def with_vector(number: int, rng: np.random.Generator) -> list[Change]:
    fact = a_fact(number)
    vector = rng.standard_normal(DIMENSION).astype(np.float32)
    return [AddFact(fact), PutVector(MODEL, vector_key(MODEL, fact.content), vector / np.linalg.norm(vector))]


def with_relations(number: int, rng: random.Random) -> list[Change]:
    """A fact, its new episode and two of 200 entities."""
    fact, text = a_fact(number), f"Report {number}: all pumps were looked at and one was not as it should be."
    episode = Episode(episode_id(text, "log"), text, "log", "", number)
    changes: list[Change] = [AddFact(fact), AddEpisode(episode), Link(Relation.DERIVES_FROM, fact.id, episode.id)]
    for name in [f"Hall {rng.randrange(200)}" for _ in range(2)]:
        changes += [AddEntity(entity_id(name), name), Link(Relation.MENTIONS, fact.id, entity_id(name))]
    return changes


async def per_second(store: FactStore, facts: list[list[Change]]) -> float:
    """Facts per second when a hundred facts are one write."""
    return await batched_per_s(lambda batch: store.write([change for changes in batch for change in changes]), facts)


async def keeping(store: FactStore) -> list[Row]:
    rng, choices = np.random.default_rng(1), random.Random(1)
    related = "fact, episode, 2 entities, 3 edges"
    rows = latency("one fact, durable", await waits_ms(store.write, [[AddFact(a_fact(n))] for n in range(500)]))
    speed = await per_second(store, [[AddFact(a_fact(n))] for n in range(1000, 9000)])
    rows.append(figure("facts in writes of 100", speed, "/s"))
    at_once = await seconds(asyncio.gather(*(store.write([AddFact(a_fact(n))]) for n in range(10_000, 14_000))))
    rows.append(figure("4000 single writes at once", 4000 / at_once, "/s"))
    speed = await per_second(store, [with_vector(n, rng) for n in range(20_000, 24_000)])
    rows.append(figure(f"facts with {DIMENSION}-d vectors in writes of 100", speed, "/s"))
    rows += latency(related, await waits_ms(store.write, [with_relations(n, choices) for n in range(30_000, 30_300)]))
    speed = await per_second(store, [with_relations(n, choices) for n in range(31_000, 34_000)])
    return [*rows, figure(f"{related}, in writes of 100", speed, "/s")]


async def waking(path: Path, count: int) -> list[Row]:
    """Write `count` facts with vectors, close, and load everything from the file again."""
    rng = np.random.default_rng(2)
    store = await record.open(path)
    await per_second(store, [with_vector(number, rng) for number in range(count)])
    closed_s = await seconds(store.close())
    opened = asyncio.ensure_future(record.open(path))
    opened_s = await seconds(opened)
    store = opened.result()

    async def load() -> None:
        loaded = sum([len(batch) async for batch in store.facts()])
        assert loaded + sum([len(batch) async for batch in store.vectors(MODEL)]) == 2 * count

    loaded_s = await seconds(load())
    await store.close()
    return [
        figure(f"{count} facts: close", closed_s * 1e3, "ms"),
        figure(f"{count} facts: open", opened_s * 1e3, "ms"),
        figure(f"{count} facts: load facts and vectors", loaded_s * 1e3, "ms"),
        figure(f"{count} facts: file", path.stat().st_size / 1e6, "MB"),  # noqa: ASYNC240 - nothing else runs
    ]


def sqlite(path: Path) -> list[Row]:
    """One fact per commit in SQLite with a write-ahead log and full synchronisation."""
    facts = [(f.id, f.content, f.concept, f.confidence) for f in map(a_fact, range(500))]
    with closing(durable_sqlite(path, "fact(id TEXT PRIMARY KEY, content TEXT, concept TEXT, confidence REAL)")) as connection:
        return latency(
            "SQLite: one row, durable",
            wall_times_ms(lambda row: connection.execute("INSERT INTO fact VALUES (?, ?, ?, ?)", row), facts),
        )


async def measured(folder: Path, facts: int) -> list[Row]:
    store = await record.open(folder / "kept.sqlite")
    rows = [*await keeping(store), *sqlite(folder / "yardstick.sqlite")]
    await store.close()
    for count in (facts // 10, facts):
        rows += await waking(folder / f"wake{count}.sqlite", count)
    p50_ms = {str(row["what"]): float(row["value"]) for row in rows}
    ratio = p50_ms["one fact, durable, p50"] / p50_ms["SQLite: one row, durable, p50"]
    return [*rows, figure("one durable fact, times SQLite's row", ratio, "×")]


if __name__ == "__main__":
    shown(__doc__, measured, facts=10_000)
