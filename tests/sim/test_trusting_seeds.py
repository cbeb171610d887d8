"""Fifty hives of each topology whose members prove nothing and mean well, in bad weather: no promise is broken.

Ten of them in `make test`.
"""

import pytest

from hive_mind.sim.hives import TOPOLOGIES
from tests.sim.storms import OPERATIONS_IN_TESTS, TRUSTING, first_violation

PARTS = [
    pytest.param(topology, range(start, start + 10), marks=[pytest.mark.thorough] if start >= 10 else [])
    for topology in TOPOLOGIES
    for start in range(0, 50, 10)
]


@pytest.mark.slow
@pytest.mark.parametrize(("topology", "seeds"), PARTS, ids=str)
def test_no_promise_is_broken(topology, seeds):
    assert first_violation(topology, seeds, OPERATIONS_IN_TESTS, TRUSTING) == ""
