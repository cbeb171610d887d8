"""What a journal costs: one durable write after another, writes of a hundred records, writes at once, and loading.

`python -m benchmarks.journal` prints a table; `--output json` the same as JSON. SQLite's own insert on the same disk is the
yardstick, because absolute times depend on the disk. Records are as large as an assertion with a vector of 384 numbers.
"""

import asyncio
import os
import random
from pathlib import Path
from time import perf_counter

from benchmarks.harness import Row, batched_per_s, figure, insert_ms, latency, seconds, shown, waits_ms
from hive_mind import backends
from hive_mind.hive.effects import Put
from hive_mind.journal import Journal

VALUE_BYTES, LOADED = 1100, 100_000


def record(number: int) -> Put:
    """Written in the order of its keys, as a node's own dots are."""
    return Put("dots", number.to_bytes(13, "big"), os.urandom(VALUE_BYTES))


def scattered(number: int, rng: random.Random) -> Put:
    """Under a key anywhere among the others, as facts by id are."""
    return Put("facts", rng.randbytes(16) + number.to_bytes(4, "big"), os.urandom(VALUE_BYTES))


async def measured(folder: Path) -> list[Row]:
    rng = random.Random(1)
    opener = backends.load("journal", "sqlite").open
    journal: Journal = await opener(folder / "node.sqlite")
    single = await waits_ms(lambda new: journal.write([new]), [record(n) for n in range(1000)])
    inserted = [(new.key, new.value) for new in map(record, range(300))]
    insert = insert_ms(folder, "record(key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID", inserted)
    ordered = await batched_per_s(journal.write, [record(n) for n in range(1000, 21_000)])
    in_no_order = await batched_per_s(journal.write, [scattered(n, rng) for n in range(10_000)])
    at_once_s = await seconds(asyncio.gather(*(journal.write([record(n)]) for n in range(30_000, 34_000))))
    rows: list[Row] = [
        figure("SQLite alone, one insert, p50", insert, "ms"),
        *latency("one write", single),
        figure("one write after another", len(single) / sum(single) * 1e3, "/s"),
        figure("records in writes of 100", ordered, "/s"),
        figure("records in writes of 100, keys in no order", in_no_order, "/s"),
        figure("4000 single writes at once", 4000 / at_once_s, "/s"),
    ]
    await journal.close()
    return rows + await loading(folder / "load.sqlite")


async def loading(path: Path) -> list[Row]:
    """Write many records at once, close, open and load."""
    opener = backends.load("journal", "sqlite").open
    journal: Journal = await opener(path)
    records = [record(n) for n in range(LOADED)]
    written_s = await seconds(journal.write(records))
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
