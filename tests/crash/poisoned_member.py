"""A member that one message kills: `poisoned_member HOME BUS HIVE`. Says "alive" once what lay there for it is dealt with.

The credential of its bus is in its environment.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from hive_mind.embed.none import NoEmbedder
from hive_mind.hive.effects import Effect, Event, Now, Received
from hive_mind.hive.member import Member
from hive_mind.hive.node import HiveNode
from hive_mind.model.messages import Receipt, Replicate, SearchReply, SearchRequest
from hive_mind.runtime.members import MemberPlan
from hive_mind.runtime.members.host import open_member
from hive_mind.runtime.settings import Settings
from tests.servers.azure_pace import hasten

POISON = "poison"
_handle, _search = Member.handle, HiveNode.search


def handle(self: Member, event: Event, now: Now) -> list[Effect]:
    if isinstance(event, Received) and isinstance(event.message, Replicate) and event.message.batch == POISON:
        os.kill(os.getpid(), signal.SIGKILL)
    return _handle(self, event, now)


def search(self: HiveNode, request: SearchRequest, now: Now) -> SearchReply | None:
    if request.query == POISON:
        os.kill(os.getpid(), signal.SIGKILL)
    return _search(self, request, now)


async def main(home: Path, bus: str, hive: str) -> None:
    Member.handle, HiveNode.search = handle, search  # type: ignore[method-assign]
    hasten()
    plan = MemberPlan("ada", bus, hive, members=("ada", "ben"))
    async with asyncio.timeout(100):
        member = await open_member(Settings(home=home, ann="exact"), plan, NoEmbedder())
        # Behind all that was sent before.
        await member.runner.ping(Receipt(""), timeout_s=60)
        print("alive", flush=True)
        await member.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
