"""Flat hives of members that prove who they are, under every fault, liars, thieves and forgers: no promise is broken.

A failure names the command that repeats it. `HIVE_SEEDS=500` runs as many.
"""

import pytest

from tests.sim.storms import OPERATIONS_IN_TESTS, SEEDS, first_violation


@pytest.mark.slow
@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_no_promise_is_broken(seeds):
    assert first_violation("flat", seeds, OPERATIONS_IN_TESTS) == ""
