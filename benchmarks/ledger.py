"""What a ledger costs: durable appends one after another, in groups, of 8 processes at once; reading, a follower's delay, a desk.

`python -m benchmarks.ledger` prints a table; `--output json` the same as JSON. SQLite's own insert on the same disk is the
yardstick, because absolute times depend on the disk. Entries are as large as a step of a run, 800 bytes.
"""

import asyncio
import multiprocessing
import os
import random
from collections.abc import Sequence
from itertools import count
from multiprocessing.synchronize import Barrier
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks.harness import Row, batched_per_s, figure, insert_ms, latency, seconds, shown, waits_ms
from hive_mind import backends
from hive_mind.agents.desk import LedgerDesk
from hive_mind.judge.items import OPEN_MAX, Decision, Item
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.ledger import Ledger
from hive_mind.model.entry import Entry

BODY_BYTES, PROCESSES, EACH = 800, 8, 500


def steps(number: int) -> list[Entry]:
    return [Entry("step", os.urandom(BODY_BYTES), n) for n in range(number)]


async def opened(path: Path, is_shared: bool = False) -> Ledger:
    ledger: Ledger = await backends.load("ledger", "sqlite").open(path, is_shared)
    return ledger


async def one_by_one(ledger: Ledger, stream: str, number: int) -> list[float]:
    """Milliseconds of each append."""

    async def appended(step: tuple[int, Entry]) -> None:
        assert await ledger.append(stream, step[0], [step[1]])

    return await waits_ms(appended, enumerate(steps(number)))


async def in_fifties(ledger: Ledger) -> float:
    """Entries per second."""
    firsts = count(0, 50)
    return await batched_per_s(lambda some: ledger.append("run/fifties", next(firsts), some), steps(10_000), 50)


async def at_once(ledger: Ledger) -> float:
    """Appends per second when all are handed in together."""
    entries = steps(4000)
    appended = asyncio.gather(*(ledger.append(f"item/{n}", 0, [entry]) for n, entry in enumerate(entries)))
    return len(entries) / await seconds(appended)


async def reading_ms(ledger: Ledger) -> float:
    """A run of 1,000 steps."""
    assert await ledger.append("run/long", 0, steps(1000))
    return 1e3 * await seconds(ledger.read("run/long"))


async def decided(ledger: Ledger, at_once: int) -> tuple[float, float]:
    """Items asked, and decided, per second: each durable, so many at once."""
    desk, agents = LedgerDesk(ledger), [str(n // OPEN_MAX) for n in range(1000)]
    items = [
        Item(id=f"{at_once}-{n}", kind="fact", agent=agent, subject="f", title="?", opened_ms=n) for n, agent in enumerate(agents)
    ]
    asked_ms = await waits_ms(desk.ask, items)

    async def decide(some: Sequence[Item]) -> None:
        decisions = [Decision(item=item.id, action=JudgmentAction.ACCEPT, by="me") for item in some]
        assert all(await asyncio.gather(*map(desk.decide, decisions)))

    return len(items) / sum(asked_ms) * 1e3, await batched_per_s(decide, items, at_once)


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
    inserted = [(None, os.urandom(BODY_BYTES)) for _ in range(300)]
    rows: list[Row] = [
        figure("SQLite alone, one insert, p50", insert_ms(folder, "entry(pos INTEGER PRIMARY KEY, body BLOB)", inserted), "ms"),
        *latency("one append", single),
        figure("one append after another", len(single) / sum(single) * 1e3, "/s"),
        figure("entries in appends of 50", await in_fifties(ledger), "/s"),
        figure("4000 appends at once", await at_once(ledger), "/s"),
        figure("read a stream of 1,000 entries", await reading_ms(ledger), "ms"),
    ]
    asked, single_decided = await decided(ledger, 1)
    _, many_decided = await decided(ledger, 50)
    rows += [
        figure("a desk: items asked, one after another", asked, "/s"),
        figure("a desk: items decided, one after another", single_decided, "/s"),
        figure("a desk: items decided, 50 at once", many_decided, "/s"),
    ]
    await ledger.close()
    shared = await opened(folder / "shared.sqlite", is_shared=True)
    single = await one_by_one(shared, "run/1", 1000)
    await shared.close()
    seen = await delays(folder / "followed.sqlite")
    together = of_processes(folder / "many.sqlite")
    return [
        *rows,
        figure("shared: one append after another", len(single) / sum(single) * 1e3, "/s"),
        figure(f"shared: {PROCESSES} processes, one after another each", together, "/s"),
        figure("shared: seen by a follower elsewhere, p50", median(seen), "ms"),
        figure("shared: seen by a follower elsewhere, latest", seen[-1], "ms"),
    ]


if __name__ == "__main__":
    shown(__doc__, measured)
