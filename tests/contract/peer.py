"""A process that is a member of one hive after another, as it is told on its standard input; ends with it."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from hive_mind.embed.none import NoEmbedder
from hive_mind.runtime.members import MemberPlan
from hive_mind.runtime.members.host import open_member
from hive_mind.runtime.members.member import RunningMember
from hive_mind.runtime.node import RunnerSettings
from hive_mind.runtime.settings import Settings
from tests.builders import BagOfWords
from tests.servers.azure_pace import hasten

# Nobody here is silent, so a busy machine must not look like one who is.
PATIENT = RunnerSettings(ask_deadline_ms=30_000, fetch_deadline_ms=30_000)
NAMES = ("ada", "ben", "cleo", "dan")


def plan_of(name: str, hive: str, topology: str, bus: str, searches: str) -> MemberPlan:
    return MemberPlan(name, bus, hive, topology, NAMES, searches=searches, replicas=2, partitions=64, runner=PATIENT)


async def opened(plan: MemberPlan, folder: Path, *, has_vectors: bool) -> RunningMember:
    if plan.searches:
        hasten()
    embedder = BagOfWords() if has_vectors else NoEmbedder()
    return await open_member(Settings(home=folder, store="sqlite", ann="exact"), plan, embedder)


async def main() -> None:
    member: RunningMember | None = None
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        told: dict[str, Any] = json.loads(line)
        if member is not None:
            await member.close()
            member = None
        if "plan" in told:
            member = await opened(plan_of(**told["plan"]), Path(told["folder"]), has_vectors=told["has_vectors"])
        print("done", flush=True)
    if member is not None:
        await member.close()


if __name__ == "__main__":
    asyncio.run(main())
