"""`hive-mind learn --watch`: looks at files. The memory is open in the resident process, so that others ask it meanwhile."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

from hive_mind.cli.learning.learners import RemoteLearner
from hive_mind.cli.learning.watching import Watcher
from hive_mind.cli.output import say, shown_source
from hive_mind.cli.running import Stopped
from hive_mind.cli.serving.resident_agent import resident_agent
from hive_mind.counted import counted
from hive_mind.errors import InvalidInput
from hive_mind.runtime.settings import Settings

# An editor that saves is done by then. Looking takes a tenth of the time at most, however many files there are.
_PAUSE_S, _PAUSES_PER_LOOK = 1.0, 10


async def watch_folders(settings: Settings, folders: Sequence[Path], agent: str, fleet: str) -> None:
    """Until it is told to end. Raises `InvalidInput` for what is no folder, `Stopped` at the end."""
    for folder in folders:
        if not folder.is_dir():
            raise InvalidInput(f"{folder}: there is no such folder; --watch takes folders")
    async with resident_agent(settings, fleet, agent) as served:
        say(f"watching {', '.join(shown_source(str(folder)) for folder in folders)} for agent {served.name}; Ctrl-C ends it")
        try:
            await _watch(Watcher(folders, RemoteLearner(served)))
        except asyncio.CancelledError:
            raise Stopped("stopped watching; the next hive-mind learn --watch reads what changes meanwhile") from None


async def _watch(watcher: Watcher) -> None:
    shown = ""
    while True:
        began = time.monotonic()
        is_learned = await watcher.look()
        missing = [shown_source(str(folder)) for folder in watcher.folders if not folder.is_dir()]
        state = f"waiting for {', '.join(missing)}, which is not there" if missing else ""
        if is_learned:
            state = f"up to date: {counted(len(watcher.handled), 'file')}"
        if state and state != shown:
            say(state, style="dim")
        shown = state
        await asyncio.sleep(max(_PAUSE_S, _PAUSES_PER_LOOK * (time.monotonic() - began)))
