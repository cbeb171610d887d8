"""A memory without an agent: keep facts, confirm them, replace one, and ask for what was true before."""

import asyncio
import tempfile
from pathlib import Path

from hive_mind import Candidate, Query, Settings, open_memory


async def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        async with await open_memory(Settings(home=Path(home), embed="none"), "example") as memory:
            old = await memory.store_fact("backup", "The nightly backup starts at 02:00.", 0.9, source="handbook")
            await memory.store_fact("backup", "The nightly backup starts at 02:00.", 0.9, source="Ines")
            print("confirmed by", [fact.sources for fact in await memory.search_by_concept("backup")])

            newer = Candidate("The nightly backup starts at 04:30.", "backup", 0.9)
            await memory.supersede(old.id, newer, source="change request 17")
            for query in (Query("nightly backup"), Query("nightly backup", with_superseded=True)):
                print([hit.fact.content for hit in await memory.search_facts(query)])


asyncio.run(main())
