"""What a journal costs: one durable write after another, writes of a hundred records, writes at once, and loading.

`python -m benchmarks.journal` prints a table; `--output json` the same as JSON. SQLite's own insert on the same disk is the
yardstick, because absolute times depend on the disk. Records are as large as an assertion with a vector of 384 numbers.
"""

import argparse
import asyncio
import json
import os
import random
import sqlite3
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter

from hive_mind import backends
from hive_mind.hive.effects import Put
from hive_mind.journal.base import Journal

VALUE_BYTES, LOADED = 1100, 100_000
Row = dict[str, str | float]


def record(number: int) -> Put:
    """Written in the order of its keys, as a node's own dots are."""
    return Put("dots", number.to_bytes(13, "big"), os.urandom(VALUE_BYTES))


def scattered(number: int, rng: random.Random) -> Put:
    """Under a key anywhere among the others, as facts by id are."""
    return Put("facts", rng.randbytes(16) + number.to_bytes(4, "big"), os.urandom(VALUE_BYTES))


async def one_by_one(journal: Journal, records: Sequence[Put]) -> list[float]:
    """Milliseconds of each write."""
    times = []
    for one in records:
        start = perf_counter()
        await journal.write([one])
        times.append((perf_counter() - start) * 1e3)
    return sorted(times)


async def in_hundreds(journal: Journal, records: Sequence[Put]) -> float:
    """Records per second."""
    start = perf_counter()
    for first in range(0, len(records), 100):
        await journal.write(records[first : first + 100])
    return len(records) / (perf_counter() - start)


async def at_once(journal: Journal, records: Sequence[Put]) -> float:
    """Writes per second when all are handed in together."""
    start = perf_counter()
    await asyncio.gather(*(journal.write([one]) for one in records))
    return len(records) / (perf_counter() - start)


def yardstick(folder: Path, count: int = 300) -> float:
    """Milliseconds of a single durable insert in SQLite as it comes."""
    connection = sqlite3.connect(folder / "yardstick.sqlite", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE record (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")
    times = []
    for number in range(count):
        start = perf_counter()
        connection.execute("INSERT INTO record VALUES (?, ?)", (number.to_bytes(13, "big"), os.urandom(VALUE_BYTES)))
        times.append((perf_counter() - start) * 1e3)
    connection.close()
    return median(times)


async def measured(folder: Path) -> list[Row]:
    rng = random.Random(1)
    opener = backends.load("journal", "sqlite").open
    journal: Journal = await opener(folder / "node.sqlite")
    single = await one_by_one(journal, [record(n) for n in range(1000)])
    rows: list[Row] = [
        {"what": "SQLite alone, one insert, p50", "value": yardstick(folder), "unit": "ms"},
        {"what": "one write, p50", "value": median(single), "unit": "ms"},
        {"what": "one write, p99", "value": single[int(len(single) * 0.99)], "unit": "ms"},
        {"what": "one write after another", "value": len(single) / sum(single) * 1e3, "unit": "/s"},
        {
            "what": "records in writes of 100",
            "value": await in_hundreds(journal, [record(n) for n in range(1000, 21_000)]),
            "unit": "/s",
        },
        {
            "what": "records in writes of 100, keys in no order",
            "value": await in_hundreds(journal, [scattered(n, rng) for n in range(10_000)]),
            "unit": "/s",
        },
        {
            "what": "4000 single writes at once",
            "value": await at_once(journal, [record(n) for n in range(30_000, 34_000)]),
            "unit": "/s",
        },
    ]
    await journal.close()
    return rows + await loading(folder / "load.sqlite")


def size_of(path: Path) -> int:
    return path.stat().st_size


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
        {"what": f"write {LOADED:,} records at once", "value": written_s, "unit": "s"},
        {"what": f"open with {LOADED:,} records, all pages checked", "value": opened_s, "unit": "s"},
        {"what": f"load {LOADED:,} records", "value": loaded_s, "unit": "s"},
        {"what": "file per byte of value", "value": size_of(path) / LOADED / VALUE_BYTES, "unit": "B"},
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", choices=["table", "json"], default="table")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = asyncio.run(measured(Path(folder)))
    if options.output == "json":
        print(json.dumps(rows))
    else:
        for row in rows:
            print(f"{row['what']:<52} {row['value']:>12,.2f} {row['unit']}")


if __name__ == "__main__":
    main()
