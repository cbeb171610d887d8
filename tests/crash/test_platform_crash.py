"""The program that starts and stops processes is killed at any moment: the next one finds every process, and can end it."""

import asyncio
import random
import subprocess
import sys
import time
from pathlib import Path
from signal import SIGKILL

import pytest

from tests.contract.platforms import FAKE, PATIENCE_S, STOP_S, Ground
from tests.servers.forked import Forked
from tests.servers.guard import Guard

NAMES = ("ada", "ben", "cleo")
KILLS = 5


@pytest.mark.parametrize("seed", [1])
def test_nothing_is_out_of_sight_after_any_number_of_kills(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    ground = Ground(tmp_path / "home", "local", FAKE)
    try:
        for _ in range(KILLS):
            kill_at_work(ground.home, chance.randrange(1 << 30), chance.uniform(0.0, 0.7))
            asyncio.run(all_in_sight(ground))
        asyncio.run(all_ended(ground))
        assert ground.pids() == [], f"seed {seed}"
    finally:
        asyncio.run(ground.close())


def kill_at_work(home: Path, seed: int, after_s: float) -> None:
    """Let the program start and stop processes for so long."""
    command = [sys.executable, str(Path(__file__).with_name("platform_writer.py")), str(home), str(seed), *NAMES]
    with Forked(command, stdout=subprocess.PIPE) as writer:
        guard = Guard(writer.pid, SIGKILL)
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"begins\n"
        time.sleep(after_s)
        guard.release()
        writer.kill()


async def all_in_sight(ground: Ground) -> None:
    """Return when every process is known, and has said how it is or ended."""
    platform = await ground.open()
    async with asyncio.timeout(PATIENCE_S):
        while True:
            seen = await platform.observe()
            known = {one.pid for one in seen.values()}
            for pid in known:
                ground.watch(pid)
            if set(ground.pids()) <= known and not any(one.is_alive and one.status is None for one in seen.values()):
                break
            await asyncio.sleep(0.05)
    await platform.close()


async def all_ended(ground: Ground) -> None:
    platform = await ground.open()
    for name in NAMES:
        await platform.stop(name, STOP_S)
    assert await platform.observe() == {}
    await platform.close()
