"""A process that puts one request to an agent: `python -m tests.crash.request_writer HOME REQUEST KILLED`.

REQUEST is JSON. Where KILLED is "yes" the process kills itself after the write that makes it durable, before anybody hears of it.
It prints the reply.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from hive_mind import Settings, open_agent
from hive_mind.runtime.calls import AgentCalls
from hive_mind.store import Change
from hive_mind.store.sqlite import SqliteStore


async def main(home: Path, request: bytes) -> None:
    async with await open_agent(Settings(home=home, embed="none"), "ada") as agent:
        fields = msgspec.json.decode(request)
        reply = await AgentCalls(agent, None, is_kept=True).answer(fields.pop("do"), **fields)
    print(msgspec.json.encode(reply).decode())


def die_once_durable() -> None:
    """Of facts: what a memory notes when it wakes is not meant."""
    write = SqliteStore.write

    async def written(self: SqliteStore, changes: Sequence[Change]) -> None:
        await write(self, changes)
        if any(type(change).__name__ in ("AddFact", "ReviseFact") for change in changes):
            os.kill(os.getpid(), signal.SIGKILL)

    SqliteStore.write = written  # type: ignore[method-assign]


if __name__ == "__main__":
    if sys.argv[3] == "yes":
        die_once_durable()
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2].encode()))
