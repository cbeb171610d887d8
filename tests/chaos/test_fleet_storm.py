"""A fleet under change whose processes are killed, and whose changer is; `make chaos-fleet` does it fifty times."""

import asyncio

import pytest

from tests.chance import seed_of_this_run
from tests.chaos.fleet_storm import storm

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

_HANGS_AFTER_S = 900


def test_whoever_is_killed_the_fleet_becomes_what_the_manifest_says_and_no_fact_is_lost():
    seed, kills = seed_of_this_run(), 6
    report = asyncio.run(asyncio.wait_for(storm(seed, kills), _HANGS_AFTER_S))
    assert not report.violations, f"{report.violations}; python -m tests.chaos.fleet_storm --seed {seed} --kills {kills}"
    assert sum(report.kills.values()) >= kills
