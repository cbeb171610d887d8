"""A memory without an agent: keep facts, confirm them, replace one, ask for what was true before, and see what replaced what."""

import asyncio
import tempfile
from pathlib import Path

from hive_mind import Candidate, Query, Settings, open_graph, open_memory


async def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        settings = Settings(home=Path(home), embed="none")
        async with open_memory(settings, "example") as memory:
            old = await memory.store_fact("backup", "The nightly backup starts at 02:00.", 0.9, source="handbook")
            await memory.store_fact("backup", "The nightly backup starts at 02:00.", 0.9, source="Ines")
            print("confirmed by", [fact.sources for fact in await memory.search_by_concept("backup")])

            newer = Candidate("The nightly backup starts at 04:30.", "backup", 0.9)
            await memory.supersede(old.id, newer, source="change request 17")
            for query in (Query("nightly backup"), Query("nightly backup", with_superseded=True)):
                print([hit.fact.content for hit in await memory.search_facts(query)])

            async with open_graph(settings, "example") as graph:
                print(" → ".join(thing.text for thing in await graph.history(old.id)))


asyncio.run(main())
