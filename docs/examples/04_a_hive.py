"""Four agents learn apart and find what others learned, in every topology. A secret stays home, a retraction goes everywhere."""

import asyncio
import tempfile
from dataclasses import replace
from pathlib import Path

from hive_mind import FleetPlan, Settings, open_embedder, open_fleet

AGENTS = ("ada", "bert", "cleo", "dora")


async def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        settings = Settings(home=Path(home), embed="none")
        embedder = await open_embedder(settings)
        for topology in ("flat", "federated", "sharded"):
            plan = FleetPlan(topology, AGENTS, group_size=2)
            async with open_fleet(replace(settings, home=Path(home) / topology), plan, embedder) as fleet:
                ada, dora = fleet.memory("ada"), fleet.memory("dora")
                port = await ada.store_fact("gateway", "The gateway listens on port 8443.", source="runbook.md")
                secret = await ada.store_fact("gateway", "The gateway's password: hunter2-Xk9q.", source="runbook.md")
                await fleet.settled()
                found = [hit.fact.content for hit in await dora.search_facts("Which port does the gateway listen on?")]
                print(f"{topology}: dora finds {found}; {secret.sharing} because {secret.held_back}")

                await ada.retract_fact(port.id)
                await fleet.settled()
                print(f"{topology}: after ada took it back, dora finds {len(await dora.search_facts('gateway port'))}")


asyncio.run(main())
