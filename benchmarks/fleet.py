"""What a fleet of agents costs one process: memory awake and asleep, time to wake, and whether everything is found again.

`python -m benchmarks.fleet` fills the memories in a process of its own and measures in a fresh one, so that what is measured is
waking up. Every agent has its own record, its index and 384-d vectors. `--output json` prints the same as JSON.
"""

import asyncio
import multiprocessing
import random
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import psutil
from numpy.typing import NDArray

from benchmarks.harness import Row, figure, shown, waits_ms
from hive_mind import backends
from hive_mind.embed import Matrix, rounded_unit_rows
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.model.content import Candidate

DIMENSION = 384


class RandomEmbedder:
    """An `Embedder` that gives each text a fixed random vector: what vectors mean costs no memory."""

    model, dimension = "benchmark", DIMENSION

    async def embed_passages(self, texts: Sequence[str]) -> Matrix:
        rows = [np.random.default_rng(abs(hash(text))).standard_normal(DIMENSION) for text in texts]
        return rounded_unit_rows(np.array(rows, dtype=np.float32).reshape(-1, DIMENSION))

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        return (await self.embed_passages([text]))[0]

    async def close(self) -> None:
        pass


def resident_mb() -> float:
    return float(psutil.Process().memory_info().rss) / 2**20


def memory(folder: Path, agent: str) -> CognitiveMemory:
    open_store = partial(backends.load("store", "sqlite").open, folder / f"{agent}.sqlite")
    return CognitiveMemory(open_store, RandomEmbedder(), new_arm=backends.load("ann", "quantised").open)


def statements(agent: str, count: int) -> list[Candidate]:
    """Eighteen words each, of one vocabulary in which the n-th word is n times rarer than the first, as in a language."""
    spelling = random.Random(1)
    words = ["".join(spelling.choice("bdfgklmnprstvz") + spelling.choice("aeiou") for _ in range(3)) for _ in range(10_000)]
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    rng = random.Random(agent)
    return [Candidate(f"{marker(agent, n)} {' '.join(rng.choices(words, weights, k=18))}.", "", 0.8) for n in range(count)]


def marker(agent: str, number: int) -> str:
    return f"AG{agent.upper()}-{number:04d}"


async def fill(folder: Path, agents: Sequence[str], facts: int) -> None:
    for agent in agents:
        made = memory(folder, agent)
        await made.store_facts(statements(agent, facts), "benchmark")
        await made.close()


async def measured(folder: Path, agents: int, facts: int, large: int) -> list[Row]:
    names = [str(n) for n in range(agents)]
    with multiprocessing.get_context("spawn").Pool(1) as filler:
        filler.apply(fill_now, (folder, names, facts))
        filler.apply(fill_now, (folder, ["large"], large))
    return await measured_awake_and_asleep(folder, names, facts, large)


def fill_now(folder: Path, agents: Sequence[str], facts: int) -> None:
    asyncio.run(fill(folder, agents, facts))


async def measured_awake_and_asleep(folder: Path, agents: Sequence[str], facts: int, large: int) -> list[Row]:
    fleet = [memory(folder, agent) for agent in agents]
    base = resident_mb()
    open_s, awake = sum(await waits_ms(lambda one: one.get_fact(""), fleet)) / 1e3, resident_mb()
    found = sum([await finds_all(one, agent, facts) for one, agent in zip(fleet, agents, strict=True)])
    sleep_s, asleep = sum(await waits_ms(lambda one: one.sleep(), fleet)) / 1e3, resident_mb()
    found_again = sum([await finds_all(one, agent, facts) for one, agent in zip(fleet, agents, strict=True)])
    for one in fleet:
        await one.close()
    wake_ms = await waking_ms(memory(folder, "large"))
    return [
        figure("base of the process", base, "MB"),
        figure(f"wake all {len(agents)}", open_s, "s"),
        figure("per agent, awake", (awake - base) / len(agents), "MB"),
        figure("put all to sleep", sleep_s, "s"),
        figure("per agent, asleep", (asleep - base) / len(agents), "MB"),
        figure(f"agents of {len(agents)} that find every fact", found, ""),
        figure("and again after sleeping", found_again, ""),
        figure(f"wake one of {large:,} facts, median", wake_ms, "ms"),
    ]


async def finds_all(one: CognitiveMemory, agent: str, facts: int) -> bool:
    hits = [(await one.search_facts(marker(agent, n), 1)) for n in range(facts)]
    return all(hit and hit[0].fact.content.startswith(marker(agent, n)) for n, hit in enumerate(hits))


async def waking_ms(one: CognitiveMemory) -> float:
    times = []
    for _ in range(9):
        times += await waits_ms(one.get_fact, [""])
        await one.sleep()
    await one.close()
    return float(np.median(times))


if __name__ == "__main__":
    shown(__doc__, measured, agents=100, facts=100, large=1_000)
