"""Whole hives under every fault at once, many seeds, no broken promise. A failure names the command that repeats it.

Always the same seeds, so that a change is judged by what it changes. See the Makefile's `soak` for many more, and new ones.
"""

import pytest

from tests.sim.storms import first_violation

SEEDS = 500
CHUNK = 25
# What a continuous run can afford: the storm is shorter than by default, what follows it is the same.
OPERATIONS = 60


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, SEEDS, CHUNK))
@pytest.mark.parametrize("topology", ["flat", "federated", "sharded"])
def test_no_promise_is_broken(topology, start):
    assert first_violation(topology, range(start, start + CHUNK), OPERATIONS) == ""


@pytest.mark.parametrize("topology", ["flat", "federated", "sharded"])
def test_a_few_seeds_for_every_commit(topology):
    assert first_violation(topology, range(8), OPERATIONS) == ""
