"""Runs of real processes over a real file, killed at random: the end is as without, and nothing happens twice without a word."""

import asyncio
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.runs.run_journal import RunJournal
from hive_mind.ledger import sqlite
from hive_mind.runs.state import RunState
from tests.crash.run_writer import happened
from tests.laws.run_stories import STORIES
from tests.laws.run_world import RUN
from tests.sampled import usually
from tests.servers.forked import Forked

KILLS = int(os.environ.get("HIVE_RUN_KILLS", "12"))
"""Over all stories."""
_AGAIN = "may have run"
KILLED_STORIES = usually(("approval", "sub-agents", "incident-review", "fan-out"), "sub-agents")


def process(name: str, folder: Path) -> "subprocess.Popen[bytes]":
    return Forked([sys.executable, "-m", "tests.crash.run_writer", name, str(folder)], cwd=Path(__file__).parents[2])


def begun_s(folder: Path) -> float:
    """From the start of a process until it has the ledger: kills before that hit nothing."""
    started = time.monotonic()
    while not (folder / "ledger.sqlite").exists():
        time.sleep(0.005)
    return time.monotonic() - started


async def came_to(folder: Path) -> tuple[RunState, list[str]]:
    ledger = await sqlite.open(folder / "ledger.sqlite", False)
    try:
        desk = LedgerDesk(ledger)
        views = [view for id in await desk.ids() if (view := await desk.view(id))]
        return await RunJournal(ledger, RUN).load(), [view.item.title for view in views]
    finally:
        await ledger.close()


def told(folder: Path, state: RunState, titles: list[str]) -> dict[str, object]:
    """Outcome, outputs, files and what people were asked, but whether to do again what may have been done."""
    found = {str(path.relative_to(folder)): path.read_text() for path in (folder / "agent").rglob("[!.]*") if path.is_file()}
    # Of branches that run at once, one or the other has the first number and sets its output first.
    found |= {name: "".join(sorted(text.splitlines())) for name, text in found.items() if name.endswith("/adapt.md")}
    files = sorted((re.sub(r"_\d+\.txt$", ".txt", name), text) for name, text in found.items())
    asked = sorted(title for title in titles if _AGAIN not in title)
    return {"outcome": state.outcome, "outputs": dict(state.buffer), "done": sorted(state.done), "files": files, "asked": asked}


@pytest.mark.slow
@pytest.mark.parametrize("name", KILLED_STORIES)
def test_a_run_that_is_killed_again_and_again_comes_to_the_same_end(name: str, tmp_path: Path) -> None:
    rng = random.Random(f"{name}-{KILLS}")
    (tmp_path / "whole").mkdir()
    undisturbed = process(name, tmp_path / "whole")
    begun_s(tmp_path / "whole")
    began = time.monotonic()
    assert undisturbed.wait(60) == 0
    takes_s = time.monotonic() - began
    whole = told(tmp_path / "whole", *asyncio.run(came_to(tmp_path / "whole")))
    killed = runs = 0
    while killed < KILLS // len(KILLED_STORIES):
        runs += 1
        folder = tmp_path / str(runs)
        folder.mkdir()
        killed += _killed_until_it_ends(name, folder, rng, takes_s)
        state, titles = asyncio.run(came_to(folder))
        assert told(folder, state, titles) == whole
        twice = [call for call, times in happened(folder).items() if times > 1 and call.split(":")[0] in STORIES[name].once]
        assert len(twice) <= sum(_AGAIN in title for title in titles)


def _killed_until_it_ends(name: str, folder: Path, rng: random.Random, takes_s: float) -> int:
    """How often it was killed, at any time in what it takes undisturbed; the third process of a run is left in peace."""
    for kills in range(3):
        running = process(name, folder)
        begun_s(folder)
        try:
            code = running.wait(rng.uniform(0.0, takes_s) if kills < 2 else 60)
        except subprocess.TimeoutExpired:
            running.send_signal(signal.SIGKILL)
            running.wait()
            continue
        assert code == 0
        return kills
    raise AssertionError("it never ended")
