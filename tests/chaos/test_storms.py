"""Real processes, a real broker, and everything that can happen to them: nothing acknowledged is lost, nothing happens twice.

A few rounds, in which everything happens at least once; `make chaos` runs a hundred, with longer faults.
"""

import asyncio

import pytest

from tests.chance import seed_of_this_run
from tests.chaos.storm import storm
from tests.sampled import thorough

pytestmark = pytest.mark.slow

# It takes three quarters of a minute, and nobody waits for what hangs.
_HANGS_AFTER_S = 240


@pytest.mark.parametrize(("kind", "rounds"), [("redis", 7), thorough("redis", 21), thorough("amqp", 7)])
def test_a_hive_keeps_its_promises_through_a_storm(kind: str, rounds: int):
    seed = seed_of_this_run()
    report = asyncio.run(asyncio.wait_for(storm(seed, rounds, kind), _HANGS_AFTER_S))
    again = f"python -m tests.chaos.storm --seed {seed} --rounds {rounds} --over {kind} --pause-s 3"
    assert not report.violations, f"{report.violations}; {again}"
    assert report.rounds == rounds
