"""What an agent's memory takes of RAM, awake and asleep, with 20 and with 100 agents in one process.

Every agent has its own record, index and 384-d vectors. The peer is SQLite itself: as many empty databases, opened and written to
once, each in the one process that counts it.
"""

import asyncio
import multiprocessing
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmarks.figure import Figure, Means, once
from benchmarks.fleet import fill, memory
from benchmarks.harness import own_mb

FACTS, AGENTS = 20, (20, 100)


def measured(means: Means) -> Iterator[Figure]:
    """One process per side: what one has freed, the other would find."""
    del means
    for agents in AGENTS:
        with tempfile.TemporaryDirectory() as name:
            folder, names = Path(name), [str(number) for number in range(agents + 1)]
            in_a_process(partial(filled, folder, names))
            awake, asleep = in_a_process(partial(held, folder, names))
            (bare,) = in_a_process(partial(bare_databases, folder, agents))
        yield figure(f"awake-{agents}", f"memory per agent, awake, {agents} in one process", awake, bare, 4)
        yield figure(f"asleep-{agents}", f"memory per agent, asleep, {agents} in one process", asleep, bare, 0.15)


def figure(name: str, what: str, value: float, bare: float, target: float) -> Figure:
    return once(f"memory-{name}", what, value, "MB", "an empty SQLite database, open", bare, target)


def in_a_process(work: Callable[[], tuple[float, ...]]) -> tuple[float, ...]:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work)


def filled(folder: Path, agents: Sequence[str]) -> tuple[float, ...]:
    asyncio.run(fill(folder, agents, FACTS))
    return ()


def held(folder: Path, agents: Sequence[str]) -> tuple[float, ...]:
    return asyncio.run(_held(folder, agents))


async def _held(folder: Path, agents: Sequence[str]) -> tuple[float, float]:
    """Megabytes per agent: each was asked something, then each was put to sleep."""
    first, *fleet = [memory(folder, agent) for agent in agents]
    # What is loaded once for all agents is not counted: libraries, threads.
    await first.search_facts("any words at all", 1)
    await first.close()
    base = own_mb()
    for one in fleet:
        assert await one.search_facts("any words at all", 1)
    awake = own_mb()
    for one in fleet:
        await one.sleep()
    asleep = own_mb()
    for one in fleet:
        await one.close()
    return (awake - base) / len(fleet), (asleep - base) / len(fleet)


def bare_databases(folder: Path, number: int) -> tuple[float, ...]:
    bare_database(folder / "first.sqlite").close()
    base = own_mb()
    made = [bare_database(folder / f"bare-{one}.sqlite") for one in range(number)]
    each = (own_mb() - base) / number
    for connection in made:
        connection.close()
    return (each,)


def bare_database(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE f(id INTEGER PRIMARY KEY, content TEXT)")
    connection.execute("INSERT INTO f VALUES (1, 'a')")
    return connection
