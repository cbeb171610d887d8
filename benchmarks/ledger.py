"""What a ledger costs: durable appends one after another, in groups, of 8 processes at once; reading, a follower's delay, a desk.

`python -m benchmarks.ledger` prints a table; `--output json` the same as JSON. SQLite's own insert on the same disk is the
yardstick, because absolute times depend on the disk. Entries are as large as a step of a run, 800 bytes.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import random
import sqlite3
import tempfile
from multiprocessing.synchronize import Barrier
from pathlib import Path
from statistics import median
from time import perf_counter

from hive_mind import backends
from hive_mind.agents.desk import LedgerDesk
from hive_mind.judge.items import OPEN_MAX, Decision, Item
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.ledger.base import Ledger
from hive_mind.model.entry import Entry

BODY_BYTES, PROCESSES, EACH = 800, 8, 500
Row = dict[str, str | float]


def steps(count: int) -> list[Entry]:
    return [Entry("step", os.urandom(BODY_BYTES), n) for n in range(count)]


async def opened(path: Path, is_shared: bool = False) -> Ledger:
    ledger: Ledger = await backends.load("ledger", "sqlite").open(path, is_shared)
    return ledger


async def one_by_one(ledger: Ledger, stream: str, count: int) -> list[float]:
    """Milliseconds of each append."""
    times = []
    for seq, entry in enumerate(steps(count)):
        start = perf_counter()
        assert await ledger.append(stream, seq, [entry])
        times.append((perf_counter() - start) * 1e3)
    return sorted(times)


async def in_fifties(ledger: Ledger) -> float:
    """Entries per second."""
    entries = steps(10_000)
    start = perf_counter()
    for first in range(0, len(entries), 50):
        assert await ledger.append("run/fifties", first, entries[first : first + 50])
    return len(entries) / (perf_counter() - start)


async def at_once(ledger: Ledger) -> float:
    """Appends per second when all are handed in together."""
    entries = steps(4000)
    start = perf_counter()
    await asyncio.gather(*(ledger.append(f"item/{n}", 0, [entry]) for n, entry in enumerate(entries)))
    return len(entries) / (perf_counter() - start)


async def reading(ledger: Ledger) -> float:
    """Milliseconds to read a run of 1,000 steps."""
    assert await ledger.append("run/long", 0, steps(1000))
    start = perf_counter()
    assert len(await ledger.read("run/long")) == 1000
    return (perf_counter() - start) * 1e3


async def heads(ledger: Ledger) -> float:
    """Milliseconds to find the ends of 4,000 streams."""
    start = perf_counter()
    assert len(await ledger.heads("item/")) == 4000
    return (perf_counter() - start) * 1e3


async def decided(ledger: Ledger, at_once: int) -> tuple[float, float]:
    """Items asked, and decided, per second: each durable, so many at once."""
    desk, count = LedgerDesk(ledger), 1000
    items = [
        Item(id=f"{at_once}-{n}", kind="fact", agent=str(n // OPEN_MAX), subject="f", title="?", opened_ms=n)
        for n in range(count)
    ]
    start = perf_counter()
    for item in items:
        assert await desk.ask(item)
    asked_s = perf_counter() - start
    start = perf_counter()
    for first in range(0, count, at_once):
        some = [Decision(item=item.id, action=JudgmentAction.ACCEPT, by="me") for item in items[first : first + at_once]]
        assert all(await asyncio.gather(*map(desk.decide, some)))
    return count / asked_s, count / (perf_counter() - start)


def yardstick(folder: Path, count: int = 300) -> float:
    """Milliseconds of a single durable insert in SQLite as it comes."""
    connection = sqlite3.connect(folder / "yardstick.sqlite", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE entry (pos INTEGER PRIMARY KEY, body BLOB)")
    times = []
    for _ in range(count):
        start = perf_counter()
        connection.execute("INSERT INTO entry (body) VALUES (?)", (os.urandom(BODY_BYTES),))
        times.append((perf_counter() - start) * 1e3)
    connection.close()
    return median(times)


def one_of_many(path: Path, number: int, start: Barrier) -> None:
    async def appending() -> None:
        ledger = await opened(path, is_shared=True)
        start.wait(60)
        await one_by_one(ledger, f"run/{number}", EACH)
        await ledger.close()

    asyncio.run(appending())


def of_processes(path: Path) -> float:
    """Appends per second over all of them, from the moment all have it open."""
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(PROCESSES + 1)
    processes = [context.Process(target=one_of_many, args=(path, number, start)) for number in range(PROCESSES)]
    for process in processes:
        process.start()
    start.wait(60)
    begun = perf_counter()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * PROCESSES
    return PROCESSES * EACH / (perf_counter() - begun)


async def delays(path: Path) -> list[float]:
    """Milliseconds until one who follows sees what another, as of another process, appended."""
    writer, reader = await opened(path, is_shared=True), await opened(path, is_shared=True)
    following, times, rng = reader.follow(0), [], random.Random(1)
    for seq, entry in enumerate(steps(50)):
        waiting = asyncio.ensure_future(anext(following))
        # At any moment between two looks of the follower.
        await asyncio.sleep(rng.uniform(0.05, 0.15))
        start = perf_counter()
        await writer.append("item/1", seq, [entry])
        assert (await waiting).seq == seq
        times.append((perf_counter() - start) * 1e3)
    await writer.close()
    await reader.close()
    return sorted(times)


async def measured(folder: Path) -> list[Row]:
    ledger = await opened(folder / "alone.sqlite")
    single = await one_by_one(ledger, "run/1", 1000)
    rows: list[Row] = [
        {"what": "SQLite alone, one insert, p50", "value": yardstick(folder), "unit": "ms"},
        {"what": "one append, p50", "value": median(single), "unit": "ms"},
        {"what": "one append, p99", "value": single[int(len(single) * 0.99)], "unit": "ms"},
        {"what": "one append after another", "value": len(single) / sum(single) * 1e3, "unit": "/s"},
        {"what": "entries in appends of 50", "value": await in_fifties(ledger), "unit": "/s"},
        {"what": "4000 appends at once", "value": await at_once(ledger), "unit": "/s"},
        {"what": "read a stream of 1,000 entries", "value": await reading(ledger), "unit": "ms"},
        {"what": "ends of 4,000 streams", "value": await heads(ledger), "unit": "ms"},
    ]
    asked, single_decided = await decided(ledger, 1)
    _, many_decided = await decided(ledger, 50)
    rows += [
        {"what": "a desk: items asked, one after another", "value": asked, "unit": "/s"},
        {"what": "a desk: items decided, one after another", "value": single_decided, "unit": "/s"},
        {"what": "a desk: items decided, 50 at once", "value": many_decided, "unit": "/s"},
    ]
    await ledger.close()
    shared = await opened(folder / "shared.sqlite", is_shared=True)
    single = await one_by_one(shared, "run/1", 1000)
    await shared.close()
    seen = await delays(folder / "followed.sqlite")
    together = of_processes(folder / "many.sqlite")
    return [
        *rows,
        {"what": "shared: one append after another", "value": len(single) / sum(single) * 1e3, "unit": "/s"},
        {"what": f"shared: {PROCESSES} processes, one after another each", "value": together, "unit": "/s"},
        {"what": "shared: seen by a follower elsewhere, p50", "value": median(seen), "unit": "ms"},
        {"what": "shared: seen by a follower elsewhere, latest", "value": seen[-1], "unit": "ms"},
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
