"""A judged fleet whose processes are killed, and the person who decides; `HIVE_GATE_ROUNDS=100` does it a hundred times."""

import asyncio
import os

import pytest

from tests.chance import seed_of_this_run
from tests.chaos.gate_storm import storm

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

_ROUNDS = int(os.environ.get("HIVE_GATE_ROUNDS", "2"))
_HANGS_AFTER_S = 300 * _ROUNDS


def test_nothing_bad_is_ever_seen_nothing_good_is_lost_and_people_are_asked_once():
    seed = seed_of_this_run()
    report = asyncio.run(asyncio.wait_for(storm(seed, _ROUNDS, agents=4, facts=20 * _ROUNDS), _HANGS_AFTER_S))
    assert not report.violations, f"{report.violations}; python -m tests.chaos.gate_storm --seed {seed} --rounds {_ROUNDS}"
    assert report.kills
    assert report.asked
