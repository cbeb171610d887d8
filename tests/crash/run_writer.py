"""A process that drives a run over a real file, and is killed: `python -m tests.crash.run_writer STORY FOLDER`.

What its tools do outside is a line in FOLDER/happened, synced before the call returns. People decide in the same process.
"""

import asyncio
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from hive_mind import CognitiveMemory
from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.runs.executor import RunExecutor
from hive_mind.agents.runs.performer import RunParts
from hive_mind.embed.none import NoEmbedder
from hive_mind.ledger import sqlite
from hive_mind.llm.scripted import ScriptedModel
from hive_mind.store import sqlite as store
from hive_mind.tools import Toolbox
from tests.laws.run_stories import STORIES
from tests.laws.run_world import RUN, World


class RealWorld(World):
    """Side effects that outlive the process, which is killed from outside."""

    def boundary(self) -> None:
        """Nobody looks."""

    async def side_effect(self, call: str) -> None:
        """A line on disk; it may be killed before, in between and after."""
        await asyncio.sleep(0.002)
        descriptor = os.open(Path(str(self.folder)) / "happened", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, f"{call}\n".encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        await asyncio.sleep(0.002)


def happened(folder: Path) -> Counter[str]:
    """What was done outside, by call."""
    file = folder / "happened"
    return Counter(file.read_text().splitlines()) if file.exists() else Counter()


async def drive(name: str, folder: Path) -> None:
    """Until the run has ended."""
    story = STORIES[name]
    ledger = await sqlite.open(folder / "ledger.sqlite", False)
    memory = CognitiveMemory(lambda: store.open(folder / "memory.sqlite"), NoEmbedder())
    world = RealWorld(ledger, folder, things={"memory": memory})
    model = ScriptedModel(conversation=story.model) if story.model else None
    parts = RunParts("tester", ledger, lambda _, files: Toolbox(story.tools(world, files)), model=model, folder=folder / "agent")
    executor, desk = RunExecutor(RUN, parts), LedgerDesk(ledger)
    if (await executor.journal.load()).seq:
        await executor.resume()
    else:
        await executor.start(story.spec, story.inputs)
    while (await executor.drive()).outcome is None:
        for view in await desk.open():
            await desk.decide(story.person(view))
        await executor.resume()
    await memory.close()
    await ledger.close()


if __name__ == "__main__":
    given: list[Any] = sys.argv[1:]
    asyncio.run(drive(given[0], Path(given[1])))
