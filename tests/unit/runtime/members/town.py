"""Members over one bus in this process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from hive_mind.bus.memory import MemoryBus
from hive_mind.embed.none import NoEmbedder
from hive_mind.hive.membership import MembershipSettings
from hive_mind.runtime.members import MemberPlan
from hive_mind.runtime.members.host import open_member
from hive_mind.runtime.members.member import RunningMember
from hive_mind.runtime.settings import Settings
from tests.waiting import until

QUICK = MembershipSettings(beat_ms=50, suspect_after_ms=500, settle_ms=50)


def plan(name: str, *members: str, **fields: Any) -> MemberPlan:
    return MemberPlan(name, "memory", members=members, membership=QUICK, partitions=8, **fields)


class Town:
    def __init__(self, folder: Path) -> None:
        self.bus, self.folder = MemoryBus(), folder
        self.open: list[RunningMember] = []

    async def begin(self, one: MemberPlan, store: str = "memory") -> RunningMember:
        settings = Settings(home=self.folder, store=store, ann="exact")
        self.open.append(await open_member(settings, one, NoEmbedder(), self.bus))
        return self.open[-1]

    async def end(self, *members: RunningMember) -> None:
        for member in members:
            self.open.remove(member)
            await member.close()

    async def until_met(self) -> None:
        """All that are open have heard all others."""
        await until(lambda: not any(member.silent() for member in self.open))


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Town]:
    town = Town(folder)
    try:
        yield town
    finally:
        for member in town.open:
            await member.close()
        await town.bus.close(drain_s=0)
