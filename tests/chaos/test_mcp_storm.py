"""Clients of MCP lose nothing and write nothing twice, whoever of them, and whatever is behind them, is killed.

`tests/acceptance/test_mcp.py` kills what is behind them; `make chaos-mcp` does it at length.
"""

import asyncio
import random
from pathlib import Path

import pytest

from tests.chaos.mcp_storm import Storm
from tests.servers.home_guard import HomeGuard

pytestmark = [pytest.mark.slow, pytest.mark.thorough]


@pytest.mark.parametrize(("clients", "writes", "kills"), [(3, 60, 3), (20, 4_000, 40)])
def test_each_write_is_one_fact_whoever_is_killed(tmp_path: Path, clients: int, writes: int, kills: int) -> None:
    seed = random.randrange(1 << 31)
    storm = Storm(tmp_path / "home", clients, writes, kills, random.Random(seed))
    guard = HomeGuard(storm.home)

    async def story() -> tuple[int, list[str]]:
        await storm.rage()
        return await storm.found()

    assert (asyncio.run(story()), storm.errors) == ((writes, []), []), f"seed {seed}, kills {storm.kills}"
    assert storm.kills.total() >= 1
    guard.release()
