"""What learning costs, from text to durable facts: one fact, a hundred at once, and whole documents read by the default reader.

    python -m benchmarks.learn [--facts 2000] [--output json]

Through `CognitiveMemory` and `LearningAgent`, without embeddings, which cost a hundred times more. Documents are those of
the demo, with a number added so that every copy says something new.
"""

import time
from dataclasses import replace
from pathlib import Path

from benchmarks.harness import Row, batched_per_s, figure, latency, shown, waits_ms
from hive_mind import Candidate, Content, Settings, open_agent, open_memory
from hive_mind.evals.demo import documents


async def measured(folder: Path, facts: int) -> list[Row]:
    settings = Settings(home=folder, embed="none")
    async with await open_memory(settings, "facts") as memory:
        single = await waits_ms(
            lambda n: memory.store_fact("bench", f"Meter {n} shows {7 * n} litres today.", source="b"), range(200)
        )
        candidates = [Candidate(f"Valve {n} was closed by crew {n % 7} after the test.", "bench", 0.8) for n in range(facts)]
        per_s = await batched_per_s(lambda batch: memory.store_facts(batch, "b"), candidates)
    async with await open_agent(settings, "documents") as agent:
        contents = [renumbered(content, copy) for copy in range(10) for content in documents()]
        started_s = time.perf_counter()
        learned = sum([(await agent.learn_from_content(content)).added for content in contents])
        learning_s, characters = time.perf_counter() - started_s, sum(len(content.text) for content in contents)
    return [
        *latency("one fact, durable", single),
        figure("in hundreds", per_s, "facts/s"),
        figure("documents read and kept with episode and entities", learned / learning_s, "facts/s"),
        figure("the same", characters / learning_s / 1e3, "kB/s"),
    ]


def renumbered(content: Content, copy: int) -> Content:
    lines = [f"{line} This is number {copy}." if line.strip() else line for line in content.text.splitlines()]
    return replace(content, text="\n".join(lines), source=f"{content.source}-{copy}")


if __name__ == "__main__":
    shown(__doc__, measured, facts=2_000)
