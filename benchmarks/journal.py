"""What a journal costs: one durable write after another, writes of a hundred records, writes at once, and loading.

`python -m benchmarks.journal` prints a table; `--output json` the same as JSON. SQLite's own insert on the same disk is the
yardstick, because absolute times depend on the disk. Records are as large as an assertion with a vector of 384 numbers.
"""

import asyncio
import os
import random
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from benchmarks.harness import Row, figure, insert_ms, latency, seconds, shown, waits_ms
from hive_mind import backends
from hive_mind.hive.effects import Put
from hive_mind.journal.base import Journal

VALUE_BYTES, LOADED = 1100, 100_000


def record(number: int) -> Put:
    """Written in the order of its keys, as a node's own dots are."""
    return Put("dots", number.to_bytes(13, "big"), os.urandom(VALUE_BYTES))


def scattered(number: int, rng: random.Random) -> Put:
    """Under a key anywhere among the others, as facts by id are."""
    return Put("facts", rng.randbytes(16) + number.to_bytes(4, "big"), os.urandom(VALUE_BYTES))


async def in_hundreds(journal: Journal, records: Sequence[Put]) -> float:
    """Records per second."""
    start = perf_counter()
    for first in range(0, len(records), 100):
        await journal.write(records[first : first + 100])
    return len(records) / (perf_counter() - start)


async def at_once(journal: Journal, records: Sequence[Put]) -> float:
    """Writes per second when all are handed in together."""
    return len(records) / await seconds(asyncio.gather(*(journal.write([one]) for one in records)))


async def measured(folder: Path) -> list[Row]:
    rng = random.Random(1)
    opener = backends.load("journal", "sqlite").open
    journal: Journal = await opener(folder / "node.sqlite")
    single = await waits_ms(lambda new: journal.write([new]), [record(n) for n in range(1000)])
    inserted = [(new.key, new.value) for new in map(record, range(300))]
    rows: list[Row] = [
        figure(
            "SQLite alone, one insert, p50",
            insert_ms(folder, "record(key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID", inserted),
            "ms",
        ),
        *latency("one write", single),
        figure("one write after another", len(single) / sum(single) * 1e3, "/s"),
        figure("records in writes of 100", await in_hundreds(journal, [record(n) for n in range(1000, 21_000)]), "/s"),
        figure(
            "records in writes of 100, keys in no order",
            await in_hundreds(journal, [scattered(n, rng) for n in range(10_000)]),
            "/s",
        ),
        figure("4000 single writes at once", await at_once(journal, [record(n) for n in range(30_000, 34_000)]), "/s"),
    ]
    await journal.close()
    return rows + await loading(folder / "load.sqlite")


async def loading(path: Path) -> list[Row]:
    """Write many records at once, close, open and load."""
    opener = backends.load("journal", "sqlite").open
    journal: Journal = await opener(path)
    records = [record(n) for n in range(LOADED)]
    start = perf_counter()
    await journal.write(records)
    written_s = perf_counter() - start
    await journal.close()
    start = perf_counter()
    journal = await opener(path)
    opened_s = perf_counter() - start
    found = await journal.load()
    loaded_s = perf_counter() - start - opened_s
    await journal.close()
    assert found == records
    return [
        figure(f"write {LOADED:,} records at once", written_s, "s"),
        figure(f"open with {LOADED:,} records, all pages checked", opened_s, "s"),
        figure(f"load {LOADED:,} records", loaded_s, "s"),
        figure("file per byte of value", path.stat().st_size / LOADED / VALUE_BYTES, "B"),  # noqa: ASYNC240 - nothing else runs
    ]


if __name__ == "__main__":
    shown(__doc__, measured)
