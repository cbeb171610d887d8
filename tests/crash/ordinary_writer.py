"""A process that uses a memory as agents do, fact by fact, and then waits to be killed or told to close.

`python -m tests.crash.ordinary_writer HOME store|update|retract COUNT`; each line it prints is a change that is acknowledged.
"""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from hive_mind import Candidate, CognitiveMemory, Settings, open_memory

AGENT = "ada"


def said(number: int, version: int = 0) -> str:
    return f"Pump {number} ran {number * 7 + version} hours."


async def store(memory: CognitiveMemory, number: int) -> str:
    return f"current {(await memory.store_fact('pumps', said(number), source='log')).id}"


async def update(memory: CognitiveMemory, number: int) -> str:
    """One fact in twenty versions, and so on: each change also revises the row of the former."""
    first, version = number - number % 20, number % 20
    if not version:
        return await store(memory, number)
    former = next(fact for fact in await memory.get_all_facts(1) if fact.content == said(first, version - 1))
    newer = await memory.supersede(former.id, Candidate(said(first, version), "pumps", 0.9), source="log")
    return f"superseded {former.id} current {newer.id}"


async def retract(memory: CognitiveMemory, number: int) -> str:
    fact = await memory.store_fact("pumps", said(number), source="log")
    await memory.retract_fact(fact.id)
    return f"retracted {fact.id}"


WORK: dict[str, Callable[[CognitiveMemory, int], Awaitable[str]]] = {"store": store, "update": update, "retract": retract}


async def main(home: Path, work: str, count: int) -> None:
    async with await open_memory(Settings(home=home, embed="none"), AGENT) as memory:
        for number in range(count):
            print(await WORK[work](memory, number), flush=True)
        print("done", flush=True)
        # Closed when whoever started it closes this.
        await asyncio.to_thread(os.read, 0, 1)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
