"""The part of `hive-mind doctor` that looks after an agent's record: is it whole, and with --repair, save what can be saved."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hive_mind import backends
from hive_mind.cli.output import say, show
from hive_mind.counted import counted
from hive_mind.runtime.members.recovery import GivenBack
from hive_mind.runtime.settings import Settings

_SHOWN_MAX = 10


async def problems_of(settings: Settings, path: Path) -> Sequence[str]:
    """What is damaged in a record, each by its name."""
    found: Sequence[str] = await asyncio.to_thread(backends.load("store", settings.store).problems, path)
    return found


async def repaired(settings: Settings, path: Path) -> Any | None:
    """What a repair did (`store.sqlite.repair.Repair`); None for a record that is whole."""
    found = await problems_of(settings, path)
    if not found:
        return None
    say(f"{path}: {listed(found)}; saving what can be saved")
    return await asyncio.to_thread(backends.load("store", settings.store).repair, path)


def show_repair(path: Path, done: Any) -> None:
    """What was kept, what was lost, and where the old file is."""
    kept = ", ".join(f"{count:,} {name}" for name, count in done.kept.items())
    show(f"{path}: repaired; {kept} are kept. The damaged file is {done.kept_aside}")
    if done.lost:
        say(f"lost: {listed(list(done.lost))}", style="red")
    else:
        show("Nothing was lost.")


def show_given_back(agent: str, back: GivenBack) -> None:
    """What came back from hives."""
    if not back.hives:
        show("There is no hive in this home that could give anything back.")
        return
    known = counted(back.known, "fact")
    show(f"{agent} shared {known} that nobody took back: {back.facts:,} were missing and are back (from {', '.join(back.hives)})")


def listed(found: Sequence[str]) -> str:
    """The first few, and how many more."""
    more = f" and {counted(len(found) - _SHOWN_MAX, 'more thing')}" if len(found) > _SHOWN_MAX else ""
    return "; ".join(found[:_SHOWN_MAX]) + more
