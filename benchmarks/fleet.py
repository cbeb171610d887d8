"""What a fleet of stores costs one process: memory per open store, time to open them all, and what closing gives back.

`python -m benchmarks.fleet` fills the stores in a process of its own and measures in a fresh one, so that what is measured
is waking up. `--output json` prints the same as JSON.
"""

import argparse
import asyncio
import json
import multiprocessing
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np
import psutil

from hive_mind.model.fact import Fact
from hive_mind.model.ids import fact_id, vector_key
from hive_mind.store import kuzu
from hive_mind.store.base import AddFact, Change, FactStore, PutVector

MODEL, DIMENSION = "benchmark", 384
Row = dict[str, str | float]


def resident_mb() -> float:
    return float(psutil.Process().memory_info().rss) / 2**20


def changes(store: int, facts: int) -> list[Change]:
    rng, made = np.random.default_rng(store), list[Change]()
    for n in range(facts):
        content = f"Agent {store} saw {n} birds in the park on its way to the river."
        vector = rng.standard_normal(DIMENSION).astype(np.float32)
        made += [
            AddFact(Fact(fact_id(content), content, "birds", 0.8, ("eyes",), n)),
            PutVector(MODEL, vector_key(MODEL, content), vector / np.linalg.norm(vector)),
        ]
    return made


async def fill(folder: Path, stores: int, facts: int) -> None:
    for n in range(stores):
        store = await kuzu.open(folder / f"{n}.kuzu")
        await store.write(changes(n, facts))
        await store.close()


async def load(store: FactStore) -> int:
    """Read everything, as a memory does when it wakes, and keep nothing."""
    facts = sum([len(batch) async for batch in store.facts()])
    return facts + sum([len(batch) async for batch in store.vectors(MODEL)])


async def wake(folder: Path, stores: int) -> list[Row]:
    base, start = resident_mb(), perf_counter()
    opened = [await kuzu.open(folder / f"{n}.kuzu") for n in range(stores)]
    open_s, start = perf_counter() - start, perf_counter()
    for store in opened:
        await load(store)
    load_s, awake = perf_counter() - start, resident_mb()
    for n, store in enumerate(opened):
        await store.write(changes(10_000 + n, 1))
    written, start = resident_mb(), perf_counter()
    for store in opened:
        await store.close()
    close_s, asleep = perf_counter() - start, resident_mb()
    return [
        {"what": "base", "value": base, "unit": "MB"},
        {"what": "open all", "value": open_s, "unit": "s"},
        {"what": "load all", "value": load_s, "unit": "s"},
        {"what": "per store, open and loaded", "value": (awake - base) / stores, "unit": "MB"},
        {"what": "per store, after one more write", "value": (written - base) / stores, "unit": "MB"},
        {"what": "close all", "value": close_s, "unit": "s"},
        {"what": "above base after closing", "value": asleep - base, "unit": "MB"},
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stores", type=int, default=100)
    parser.add_argument("--facts", type=int, default=100, help="facts in each store, each with a vector")
    parser.add_argument("--output", choices=["table", "json"], default="table")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        filler = multiprocessing.get_context("spawn").Process(
            target=_fill_in_process, args=(folder, arguments.stores, arguments.facts)
        )
        filler.start()
        filler.join()
        rows = asyncio.run(wake(folder, arguments.stores))
    if arguments.output == "json":
        json.dump(rows, sys.stdout, indent=1)
        return
    for row in rows:
        print(f"{row['what']:<40} {row['value']:>10.2f} {row['unit']}")


def _fill_in_process(folder: Path, stores: int, facts: int) -> None:
    asyncio.run(fill(folder, stores, facts))


if __name__ == "__main__":
    main()
