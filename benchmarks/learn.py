"""What learning costs, from text to durable facts: one fact, a hundred at once, and whole documents read by the default reader.

    python -m benchmarks.learn [--facts 2000] [--output json]

Through `CognitiveMemory` and `LearningAgent`, without embeddings, which cost a hundred times more. Documents are those of
the demo, with a number added so that every copy says something new.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from hive_mind import Candidate, Content, LearningAgent, Settings, open_agent, open_memory
from hive_mind.evals.demo import documents

Row = dict[str, str | float]


async def measured(folder: Path, facts: int) -> list[Row]:
    settings = Settings(home=folder, embed="none")
    async with await open_memory(settings, "facts") as memory:
        single = await times_ms(200, lambda n: memory.store_fact("bench", f"Meter {n} shows {7 * n} litres today.", source="b"))
        candidates = [Candidate(f"Valve {n} was closed by crew {n % 7} after the test.", "bench", 0.8) for n in range(facts)]
        started = time.perf_counter()
        for start in range(0, facts, 100):
            await memory.store_facts(candidates[start : start + 100], "b")
        batched_s = time.perf_counter() - started
    async with await open_agent(settings, "documents") as agent:
        learned, characters, learning_s = await learn(agent, copies=10)
    return [
        {"what": "one fact, durable: p50", "value": float(np.median(single)), "unit": "ms"},
        {"what": "one fact, durable: p99", "value": float(np.quantile(single, 0.99)), "unit": "ms"},
        {"what": "in hundreds", "value": facts / batched_s, "unit": "facts/s"},
        {"what": "documents read and kept with episode and entities", "value": learned / learning_s, "unit": "facts/s"},
        {"what": "the same", "value": characters / learning_s / 1e3, "unit": "kB/s"},
    ]


async def times_ms(count: int, action: Callable[[int], Awaitable[object]]) -> list[float]:
    times = []
    for number in range(count):
        started = time.perf_counter()
        await action(number)
        times.append(1e3 * (time.perf_counter() - started))
    return times


async def learn(agent: LearningAgent, copies: int) -> tuple[int, int, float]:
    """Facts kept, characters read, seconds."""
    contents = [renumbered(content, copy) for copy in range(copies) for content in documents()]
    started = time.perf_counter()
    kept = [await agent.learn_from_content(content) for content in contents]
    seconds = time.perf_counter() - started
    return sum(learned.added for learned in kept), sum(len(content.text) for content in contents), seconds


def renumbered(content: Content, copy: int) -> Content:
    lines = [f"{line} This is number {copy}." if line.strip() else line for line in content.text.splitlines()]
    return replace(content, text="\n".join(lines), source=f"{content.source}-{copy}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", type=int, default=2_000, help="facts stored in hundreds")
    parser.add_argument("--output", choices=["table", "json"], default="table")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        rows = asyncio.run(measured(Path(name), options.facts))
    if options.output == "json":
        json.dump(rows, sys.stdout, indent=1)
        return
    for row in rows:
        print(f"{row['what']:<52} {row['value']:>10.2f} {row['unit']}")


if __name__ == "__main__":
    main()
