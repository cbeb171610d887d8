"""Two hundred flat hives under every fault at once, no broken promise. A failure names the command that repeats it.

`HIVE_SEEDS=500` runs so many.
"""

import pytest

from tests.sim.storms import OPERATIONS_IN_TESTS, SEEDS, first_violation


@pytest.mark.slow
@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_no_promise_is_broken(seeds):
    assert first_violation("flat", seeds, OPERATIONS_IN_TESTS) == ""
