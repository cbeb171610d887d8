"""Two members of a hive that know each other only by a bus: here in one process, over Redis or Azure by another URL."""

import asyncio

from hive_mind import MemberPlan, Settings, open_embedder, open_member
from hive_mind.bus import BusSettings
from hive_mind.bus.address import address_of
from hive_mind.bus.memory import open as open_bus


async def main() -> None:
    settings = Settings(store="memory", embed="none")
    embedder = await open_embedder(settings)
    # With "redis://127.0.0.1:6379" each member is a process of its own, and needs no `bus` handed in.
    bus = await open_bus(address_of("memory"), BusSettings())
    plans = [MemberPlan(name, "memory", topology="sharded", members=("ada", "ben")) for name in ("ada", "ben")]
    ada, ben = [await open_member(settings, plan, embedder, bus) for plan in plans]
    silent = await asyncio.gather(ada.until_ready(10, print), ben.until_ready(10, print))
    print(f"nobody is missing: {not any(silent)}")

    await ada.memory.store_fact("gateway", "The gateway listens on port 8443.", source="runbook.md")
    found = await ben.memory.search_facts("Which port does the gateway listen on?")
    print(f"ben found: {found[0].fact.content} ({found.completeness:.0%} of the hive was reached)")

    for member in (ada, ben):
        await member.close()
    await bus.close()
    await embedder.close()


asyncio.run(main())
