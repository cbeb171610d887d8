"""What keeping facts durably costs: one at a time, in batches, with their episode and entities, and waking up again.

`python -m benchmarks.store` prints a table; `--output json` the same as JSON. SQLite's insert on the same disk is the
yardstick, because absolute times depend on the disk.
"""

import asyncio
import random
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.harness import Row, durable_sqlite, figure, latency, parser_of, seconds, show, waits_ms, wall_times_ms
from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact, Relation
from hive_mind.model.ids import entity_id, episode_id, fact_id, vector_key
from hive_mind.store import sqlite as record
from hive_mind.store.base import AddEntity, AddEpisode, AddFact, Change, FactStore, Link, PutVector

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
    entities = [f"Hall {rng.randrange(200)}" for _ in range(2)]
    made: list[Change] = [AddFact(fact), AddEpisode(episode), Link(Relation.DERIVES_FROM, fact.id, episode.id)]
    for name in entities:
        made += [AddEntity(entity_id(name), name), Link(Relation.MENTIONS, fact.id, entity_id(name))]
    return made


async def per_second(store: FactStore, writes: list[list[Change]], batch: int = 100) -> float:
    """Facts per second when `batch` facts are one write."""
    start = perf_counter()
    for first in range(0, len(writes), batch):
        await store.write([change for changes in writes[first : first + batch] for change in changes])
    return len(writes) / (perf_counter() - start)


async def in_new_store(folder: Path, work: Callable[[FactStore], Awaitable[list[Row]]]) -> list[Row]:
    store = await record.open(folder / f"{random.getrandbits(64)}.sqlite")
    try:
        return await work(store)
    finally:
        await store.close()


async def plain(store: FactStore) -> list[Row]:
    rows = latency("one fact, durable", await waits_ms(store.write, [[AddFact(a_fact(n))] for n in range(500)]))
    speed = await per_second(store, [[AddFact(a_fact(n))] for n in range(1000, 9000)])
    at_once = 4000 / await seconds(asyncio.gather(*(store.write([AddFact(a_fact(n))]) for n in range(10_000, 14_000))))
    return [
        *rows,
        figure("facts in writes of 100", speed, "/s"),
        figure("4000 single writes at once", at_once, "/s"),
    ]


async def vectors(store: FactStore) -> list[Row]:
    rng = np.random.default_rng(1)
    speed = await per_second(store, [with_vector(n, rng) for n in range(4000)])
    return [figure(f"facts with {DIMENSION}-d vectors in writes of 100", speed, "/s")]


async def relations(store: FactStore) -> list[Row]:
    rng = random.Random(1)
    name = "fact, episode, 2 entities, 3 edges"
    rows = latency(name, await waits_ms(store.write, [with_relations(n, rng) for n in range(300)]))
    speed = await per_second(store, [with_relations(n, rng) for n in range(1000, 4000)])
    return [*rows, figure(f"{name}, in writes of 100", speed, "/s")]


async def waking(folder: Path, count: int) -> list[Row]:
    """Write `count` facts with vectors, close, and load everything from the file again."""
    path, rng = folder / f"wake{count}.sqlite", np.random.default_rng(2)
    store = await record.open(path)
    for first in range(0, count, 500):
        await store.write([change for n in range(first, first + 500) for change in with_vector(n, rng)])
    start = perf_counter()
    await store.close()
    closed = perf_counter()
    store = await record.open(path)
    opened = perf_counter()
    loaded = sum([len(batch) async for batch in store.facts()])
    loaded += sum([len(batch) async for batch in store.vectors(MODEL)])
    done = perf_counter()
    await store.close()
    assert loaded == 2 * count
    return [
        figure(f"{count} facts: close", (closed - start) * 1e3, "ms"),
        figure(f"{count} facts: open", (opened - closed) * 1e3, "ms"),
        figure(f"{count} facts: load facts and vectors", (done - opened) * 1e3, "ms"),
        figure(f"{count} facts: file", path.stat().st_size / 1e6, "MB"),
    ]


def sqlite(folder: Path) -> list[Row]:
    """One fact per commit, and commits of 100, in SQLite with a write-ahead log and full synchronisation."""
    connection = durable_sqlite(
        folder / "yardstick.sqlite", "fact(id TEXT PRIMARY KEY, content TEXT, concept TEXT, confidence REAL)"
    )
    insert = "INSERT INTO fact VALUES (?, ?, ?, ?)"
    values = [(f.id, f.content, f.concept, f.confidence) for f in map(a_fact, range(8500))]
    times = wall_times_ms(lambda row: connection.execute(insert, row), values[:500])
    start = perf_counter()
    for first in range(500, 8500, 100):
        connection.execute("BEGIN")
        connection.executemany(insert, values[first : first + 100])
        connection.execute("COMMIT")
    speed = 8000 / (perf_counter() - start)
    connection.close()
    return [*latency("SQLite: one row, durable", times), figure("SQLite: rows in commits of 100", speed, "/s")]


async def measure(folder: Path, sizes: list[int]) -> list[Row]:
    rows: list[Row] = []
    for work in (plain, vectors, relations):
        rows += await in_new_store(folder, work)
    for size in sizes:
        rows += await waking(folder, size)
    rows += sqlite(folder)
    values = {str(row["what"]): float(row["value"]) for row in rows}
    ratio = values["one fact, durable, p50"] / values["SQLite: one row, durable, p50"]
    return [*rows, figure("one durable fact, times SQLite's row", ratio, "×")]


def main() -> None:
    parser = parser_of(__doc__, "output")
    parser.add_argument("--sizes", type=int, nargs="*", default=[1000, 10_000], help="facts to wake up with; multiples of 500")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = asyncio.run(measure(Path(folder), arguments.sizes))
    show(rows, arguments.output)


if __name__ == "__main__":
    main()
