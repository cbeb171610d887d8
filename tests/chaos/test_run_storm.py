"""Runs of a fleet over Redis whose processes are killed; `make chaos-runs` does it two hundred times."""

import asyncio

import pytest

from tests.chance import seed_of_this_run
from tests.chaos.run_storm import storm
from tests.servers.redis_server import redis_program

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

_HANGS_AFTER_S = 600


def test_whoever_is_killed_each_run_ends_as_one_that_was_left_alone_and_a_stall_is_one_ticket() -> None:
    redis_program()
    seed, kills = seed_of_this_run(), 4
    report = asyncio.run(asyncio.wait_for(storm(seed, kills), _HANGS_AFTER_S))
    assert not report.violations, f"{report.violations}; python -m tests.chaos.run_storm --seed {seed} --kills {kills}"
    assert sum(report.kills.values()) >= kills
