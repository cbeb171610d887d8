"""Hives of every topology whose members prove who they are, under every fault, liars, thieves and forgers: no promise is broken.

A failure names the command that repeats it. `HIVE_SEEDS=500` runs as many of each.
"""

import pytest

from hive_mind.sim import TOPOLOGIES
from tests.sim.storms import OPERATIONS_IN_TESTS, SEEDS, first_violation


@pytest.mark.slow
@pytest.mark.parametrize("seeds", SEEDS, ids=str)
@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_no_promise_is_broken(topology, seeds):
    assert first_violation(topology, seeds, OPERATIONS_IN_TESTS) == ""
