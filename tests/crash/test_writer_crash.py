"""Killed at any moment, a file of each kind opens again with everything acknowledged and nothing half done.

A child writes and says what is durable; the parent kills it without warning at a random moment and looks. The same file
lives through several kills, so that each meets what the ones before left. `make chaos-store` kills more often.
"""

import asyncio
import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.crash.workloads import WORKLOADS, Workload, difference
from tests.sampled import usually
from tests.servers.forked import Forked

# A child that neither speaks nor dies would hang the test.
CHILD_MAX_S = 30.0
KILLS_PER_FILE = 5
KILLS = int(os.environ.get("HIVE_KILLS", "10"))


def killed_child(kind: str, path: Path, rng: random.Random) -> int:
    """Run the writer and kill it; the last write it acknowledged, 0 if none."""
    command = [sys.executable, "-m", "tests.crash.killed_writer", kind, path, rng.randrange(1 << 30)]
    with Forked(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        guard = threading.Timer(CHILD_MAX_S, child.kill)
        guard.start()
        lines = [child.stdout.readline() for _ in range(rng.randrange(1, 200))]
        # The moment of the kill is what is tried, so this waits for nothing.
        threading.Event().wait(rng.uniform(0, 0.003))
        child.kill()
        lines += child.stdout.read().splitlines(keepends=True)
        guard.cancel()
    return max((int(line.split()[1]) for line in lines if line.startswith("ACK ") and line.endswith("\n")), default=0)


async def survivors(work: Workload, path: Path) -> int:
    """How many writes are there; fails when one is there in part, or more than there should be."""
    opened = await work.open(path)
    try:
        count, found = await work.found(opened)
    finally:
        await opened.close()
    assert not difference(found, work.expected(count)), f"half a write among {count}"
    return count


def kills(kind: str, folder: Path, seed: int, count: int) -> None:
    work, last = WORKLOADS[kind](), 0
    for n in range(count):
        path = folder / f"{seed}-{n // KILLS_PER_FILE}.sqlite"
        expected = max(killed_child(kind, path, random.Random(seed + n)), last if n % KILLS_PER_FILE else 0)
        last = asyncio.run(survivors(work, path))
        assert last >= expected, f"seed {seed + n}: write {expected} was acknowledged and is lost"
    assert last


@pytest.mark.parametrize("kind", usually(WORKLOADS, "journal"))
def test_five_kills_lose_nothing(kind: str, tmp_path: Path) -> None:
    kills(kind, tmp_path, 1000, 5)


@pytest.mark.slow
@pytest.mark.thorough
def test_many_kills_lose_nothing(tmp_path: Path) -> None:
    kills("journal", tmp_path, 1, KILLS)
