"""Real processes, a real broker, and everything that can happen to them: nothing acknowledged is lost, nothing happens twice.

A few rounds; `make chaos` runs a hundred, with longer faults.
"""

import asyncio
import secrets

import pytest

from tests.chaos.storm import storm

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("kind", "rounds"), [("redis", 15), ("amqp", 4)])
def test_a_hive_keeps_its_promises_through_a_storm(kind: str, rounds: int):
    seed = secrets.randbits(32)

    report = asyncio.run(storm(seed, rounds, kind))

    assert not report.violations, f"python -m tests.chaos.storm --seed {seed} --rounds {rounds} --over {kind} --pause-s 3"
    assert report.rounds == rounds
