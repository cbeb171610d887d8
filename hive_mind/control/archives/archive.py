"""A whole fleet in one file: its manifest, what every agent remembers, and what the hive holds, with all evidence.

While the fleet runs, agents are asked for what they remember, and journals are read as they are at this moment. `restoring` is
the way back.
"""

import asyncio
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

import hive_mind
from hive_mind.control.archives.archive_file import HIVE, MANIFEST, Archived, Writer, writing
from hive_mind.control.archives.restoring import import_, settings_at
from hive_mind.control.platforms.base import CALL_TIMEOUT_S
from hive_mind.control.state import FleetFolder, FleetState
from hive_mind.errors import BackendUnavailable, InvalidInput
from hive_mind.hive.replication.journal_snapshot import JournalSnapshot
from hive_mind.hive.settings import HiveSettings
from hive_mind.runtime.agent_files import is_kept
from hive_mind.runtime.members.generations import snapshot_of
from hive_mind.runtime.members.snapshot_lines import lines_of
from hive_mind.runtime.secrets.keys import KeyFolder
from hive_mind.runtime.wiring import open_memory
from hive_mind.runtime.workers.config import read_config

__all__ = ["Archived", "Call", "export", "import_"]


class Call(Protocol):
    """How an agent that runs is asked: `HiveController.call`."""

    async def __call__(self, agent: str, what: str, *, timeout_s: float = CALL_TIMEOUT_S, **fields: object) -> Any:
        """Raises `BackendUnavailable` where it is not running."""
        ...


async def export(home: Path, fleet: str, path: Path, *, call: Call | None = None) -> Archived:
    """Write a fleet to `path`, while it runs or not. `call` reaches agents that run; without it they must not.

    Raises `HiveError`, and has written nothing then.
    """
    folder = FleetFolder(home, fleet)
    if not folder.exists:
        raise InvalidInput(f"there is no fleet {fleet!r} in {home}")
    state = folder.state()
    # The hive first: what an agent learns meanwhile is in its memory, and will be offered to the hive again.
    snapshot = await _snapshot(folder, state)
    agents, count = [], 0
    with writing(path) as writer:
        writer.add(MANIFEST, folder.manifest_text().encode().splitlines())
        await asyncio.to_thread(writer.add, HIVE, lines_of(snapshot))
        for agent in dict.fromkeys([*state.agents, *_allocated(state)]):
            lines = await _lines(folder, state, agent, call)
            if lines is not None:
                agents.append(agent)
                count += await asyncio.to_thread(_add_agent, writer, folder, agent, lines)
        root = KeyFolder(folder.path / "keys", fleet).root_if_here()
        writer.finish(fleet, time.time_ns() // 1_000_000, hive_mind.__version__, root)
    root_id = root.id.hex() if root is not None else ""
    return Archived(fleet, tuple(agents), count, len(snapshot.vouched), len(snapshot.entries), root_id)


async def _snapshot(folder: FleetFolder, state: FleetState) -> JournalSnapshot:
    if state.last_hive is None:
        return JournalSnapshot()
    tuning = await asyncio.to_thread(_tuning, folder)
    return await snapshot_of(folder.home, state.last_hive, state.nodes, tuning, while_open=True)


def _tuning(folder: FleetFolder) -> HiveSettings:
    """As workers were configured; moderators decide what a removal counts."""
    for path in sorted(folder.config.glob("*.json")):
        try:
            return read_config(path).tuning
        except InvalidInput:
            continue
    return HiveSettings()


def _allocated(state: FleetState) -> list[str]:
    return [agent for nodes in state.allocation.values() for names in nodes.values() for agent in names]


async def _lines(folder: FleetFolder, state: FleetState, agent: str, call: Call | None) -> list[bytes] | None:
    """The lines of an agent's memory, given by itself or read in its place; None for one that remembers nothing."""
    if call is not None and agent in _allocated(state):
        try:
            reply = await call(agent, "export")
            return [str(line).encode() for line in reply["lines"]]
        except BackendUnavailable:
            pass  # It does not run.
    settings = settings_at(folder.home)
    if not is_kept(settings, agent):
        return None
    async with await open_memory(settings, agent, is_reading=True) as memory:
        return [line.encode() async for line in memory.export()]


def _add_agent(writer: Writer, folder: FleetFolder, agent: str, lines: Iterable[bytes]) -> int:
    sources = folder.agent(agent) / "sources.json"
    if sources.exists():
        writer.add(f"agents/{agent}.sources", sources.read_bytes().splitlines())
    return writer.add(f"agents/{agent}.jsonl", lines)
