"""One agent's facts: durable and findable in batches, and searches of 1,000 and 10,000 of them, by wall time.

Keeping is compared with what no store can do without, writing the same bytes and waiting for the disk, batch by batch; and with
SQLite's rows, which nobody can find by their words. Searches are hybrid over 384-d vectors; the peer is Kuzu's own full-text
index.
"""

import asyncio
import os
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path

import kuzu

from benchmarks.figure import Figure, Means, Round, beside, side_by_side
from benchmarks.fleet import memory, statements
from benchmarks.harness import batched_per_s, durable_sqlite, waits_ms, wall_ms
from hive_mind import Settings, open_memory
from hive_mind.memory.base import Memory
from hive_mind.model.content import Candidate

BATCHES, BATCH, QUESTIONS = 20, 100, 50
TABLE = "fact(content TEXT PRIMARY KEY, concept TEXT, confidence REAL)"
Write = Callable[[Sequence[Candidate]], object]


def storing(means: Means) -> Iterator[Figure]:
    """Without embeddings, which cost a hundred times more."""
    numbers = count()
    with tempfile.TemporaryDirectory() as name, asyncio.Runner() as runner:
        folder = Path(name)
        opened = runner.run(open_memory(Settings(home=folder, embed="none"), "facts"))

        def kept(batch: Sequence[Candidate]) -> object:
            return runner.run(opened.store_facts(batch, "bench"))

        with (folder / "raw").open("ab", buffering=0) as raw, closing(durable_sqlite(folder / "rows.sqlite", TABLE)) as rows:
            peers: dict[str, tuple[str, Write]] = {
                "record-store": ("the same bytes and fsync", lambda batch: appended(raw.fileno(), batch)),
                "record-store-sqlite": ("SQLite's rows in commits of as many", lambda batch: inserted(rows, batch)),
            }
            for figure, (peer, write) in peers.items():
                sides = side_by_side(rate(kept, numbers), rate(write, numbers), means.rounds)
                what = f"store facts in batches of {BATCH}, durable and findable"
                yield beside(figure, what, "/s", peer, sides, 2_000, better="higher")
        runner.run(opened.close())


def rate(write: Write, numbers: Iterator[int]) -> Round:
    """Facts a second, none twice."""

    def round_rate() -> float:
        batches = [[a_fact(next(numbers)) for _ in range(BATCH)] for _ in range(BATCHES)]
        began_s = time.perf_counter()
        for batch in batches:
            write(batch)
        return BATCHES * BATCH / (time.perf_counter() - began_s)

    return round_rate


def a_fact(number: int) -> Candidate:
    return Candidate(f"Valve {number} in hall {number % 97} was closed by crew {number % 7} after the test.", "bench", 0.8)


def appended(file: int, batch: Sequence[Candidate]) -> None:
    os.write(file, "\n".join(one.content for one in batch).encode())
    os.fsync(file)


def inserted(rows: sqlite3.Connection, batch: Sequence[Candidate]) -> None:
    rows.execute("BEGIN")
    rows.executemany("INSERT INTO fact VALUES (?, ?, ?)", [(one.content, one.concept, one.confidence) for one in batch])
    rows.execute("COMMIT")


def searching(means: Means) -> Iterator[Figure]:
    for facts, target in ((1_000, 2), (10_000, 5)):
        with tempfile.TemporaryDirectory() as name, asyncio.Runner() as runner:
            folder, told = Path(name), statements("memory", facts)
            ours = memory(folder, "memory")
            runner.run(batched_per_s(lambda batch, ours=ours: ours.store_facts(batch, "bench"), told, 500))
            peer = full_text(folder, told)
            questions = [" ".join(random.Random(n).choice(told).content.split()[1:9]) for n in range(QUESTIONS)]
            sides = side_by_side(partial(run_asked, runner, ours, questions), partial(wall_ms, peer, questions), means.rounds)
            name, what = f"memory-search-{facts // 1000}k", f"search {facts:,} facts of a memory, hybrid, wall p50"
            yield beside(name, what, "ms", "Kuzu's own full-text index", sides, target)
            runner.run(ours.close())


def run_asked(runner: asyncio.Runner, ours: Memory, questions: Sequence[str]) -> float:
    return runner.run(asked(ours, questions))


async def asked(ours: Memory, questions: Sequence[str]) -> float:
    async def search(text: str) -> None:
        assert len(await ours.search_facts(text, 10)) == 10

    return sorted(await waits_ms(search, questions))[len(questions) // 2]


def full_text(folder: Path, told: Sequence[Candidate]) -> Callable[[str], object]:
    connection = kuzu.Connection(kuzu.Database(str(folder / "peer.kuzu"), max_db_size=1 << 34))
    connection.execute("LOAD FTS")
    connection.execute("CREATE NODE TABLE F(id INT64 PRIMARY KEY, content STRING)")
    insert = connection.prepare("CREATE (:F {id: $id, content: $content})")
    connection.execute("BEGIN TRANSACTION")
    for number, one in enumerate(told):
        connection.execute(insert, {"id": number, "content": one.content})
    connection.execute("COMMIT")
    connection.execute("CALL CREATE_FTS_INDEX('F', 'text', ['content'])")
    statement = connection.prepare("CALL QUERY_FTS_INDEX('F', 'text', $q, top := 10) RETURN node.id, score")

    def search(text: str) -> object:
        found = connection.execute(statement, {"q": text})
        assert isinstance(found, kuzu.QueryResult)
        return found.get_all()

    return search
