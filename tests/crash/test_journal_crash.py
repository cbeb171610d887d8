"""Killed at any moment, a journal opens again with everything acknowledged and nothing half done.

A child writes and says what is durable; the parent kills it without warning at a random moment and looks. The same file
lives through several kills, so that each meets what the ones before left. `make chaos-store` kills three times as often.
"""

import asyncio
import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import hive_mind
from hive_mind.hive.effects import Put
from hive_mind.journal import sqlite
from tests.crash.journal_writer import COUNTER, RECORDS_PER_WRITE, key, value
from tests.servers.forked import Forked

# A child that neither speaks nor dies would hang the test.
CHILD_MAX_S = 30.0
KILLS_PER_FILE = 5
KILLS = int(os.environ.get("HIVE_KILLS", "10"))


def killed_child(path: Path, rng: random.Random) -> int:
    """Run the writer and kill it; the last write it acknowledged, -1 if none."""
    environment = os.environ | {"PYTHONPATH": str(Path(hive_mind.__file__).parents[1])}
    command = [sys.executable, "-m", "tests.crash.journal_writer", str(path), str(rng.randrange(1 << 30))]
    with Forked(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
        assert child.stdout is not None
        guard = threading.Timer(CHILD_MAX_S, child.kill)
        guard.start()
        left, lines = rng.randrange(0, 200), []
        for line in child.stdout:
            lines.append(line)
            left -= 1
            if left <= 0:
                # The moment of the kill is what is tried, so this waits for nothing.
                threading.Event().wait(rng.uniform(0, 0.003))
                child.kill()
                break
        lines += child.stdout.read().splitlines(keepends=True)
        guard.cancel()
    return max((int(line.split()[1]) for line in lines if line.startswith("ACK ") and line.endswith("\n")), default=-1)


async def survivors(path: Path) -> list[Put]:
    journal = await sqlite.open(path)
    try:
        return await journal.load()
    finally:
        await journal.close()


def last_whole_write(path: Path) -> int:
    """The last write that is there; fails when one is there in part, or more than there should be."""
    kept = {(put.table, put.key): put.value for put in asyncio.run(survivors(path))}
    last = int(kept.pop(COUNTER, b"-1"))
    # Every write took the first record of the one before.
    expected = {
        ("dots", key(number, place)): value(number, place)
        for number in range(last + 1)
        for place in range(0 if number == last else 1, RECORDS_PER_WRITE)
    }
    assert kept == expected, f"half a write among {last + 1}"
    return last


def kills(folder: Path, seed: int, count: int) -> None:
    last = -1
    for n in range(count):
        path = folder / f"{seed}-{n // KILLS_PER_FILE}.sqlite"
        acknowledged = killed_child(path, random.Random(seed + n))
        expected = max(acknowledged, last if n % KILLS_PER_FILE else -1)
        last = last_whole_write(path)
        assert last >= expected, f"seed {seed + n}: write {expected} was acknowledged and is lost"


def test_five_kills_lose_nothing(tmp_path: Path) -> None:
    kills(tmp_path, 1000, 5)


@pytest.mark.slow
@pytest.mark.thorough
def test_many_kills_lose_nothing(tmp_path: Path) -> None:
    kills(tmp_path, 1, KILLS)
