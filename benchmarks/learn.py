"""What learning costs, from text to durable facts: one fact, a hundred at once, and whole documents read by the default reader.

    python -m benchmarks.learn [--facts 2000] [--output json]

Through `CognitiveMemory` and `LearningAgent`, without embeddings, which cost a hundred times more. Documents are those of
the demo, with a number added so that every copy says something new.
"""

import asyncio
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.harness import Row, figure, latency, parser_of, show, waits_ms
from hive_mind import Candidate, Content, LearningAgent, Settings, open_agent, open_memory
from hive_mind.evals.demo import documents


async def measured(folder: Path, facts: int) -> list[Row]:
    settings = Settings(home=folder, embed="none")
    async with await open_memory(settings, "facts") as memory:
        single = await waits_ms(
            lambda n: memory.store_fact("bench", f"Meter {n} shows {7 * n} litres today.", source="b"), range(200)
        )
        candidates = [Candidate(f"Valve {n} was closed by crew {n % 7} after the test.", "bench", 0.8) for n in range(facts)]
        started = time.perf_counter()
        for start in range(0, facts, 100):
            await memory.store_facts(candidates[start : start + 100], "b")
        batched_s = time.perf_counter() - started
    async with await open_agent(settings, "documents") as agent:
        learned, characters, learning_s = await learn(agent, copies=10)
    return [
        *latency("one fact, durable", single),
        figure("in hundreds", facts / batched_s, "facts/s"),
        figure("documents read and kept with episode and entities", learned / learning_s, "facts/s"),
        figure("the same", characters / learning_s / 1e3, "kB/s"),
    ]


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
    options = parser_of(__doc__, "output", facts=2_000).parse_args()
    with tempfile.TemporaryDirectory() as name:
        rows = asyncio.run(measured(Path(name), options.facts))
    show(rows, options.output)


if __name__ == "__main__":
    main()
