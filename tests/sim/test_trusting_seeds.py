"""Fifty hives of each topology whose members prove nothing and mean well, in bad weather: no promise is broken.

Five of them in `make test`.
"""

import pytest

from hive_mind.sim import TOPOLOGIES
from tests.sampled import thorough
from tests.sim.storms import OPERATIONS_IN_TESTS, TRUSTING, first_violation

PARTS = [
    (thorough if start else pytest.param)(topology, range(start, start + 5))
    for topology in TOPOLOGIES
    for start in range(0, 50, 5)
]


@pytest.mark.slow
@pytest.mark.parametrize(("topology", "seeds"), PARTS, ids=str)
def test_no_promise_is_broken(topology, seeds):
    assert first_violation(topology, seeds, OPERATIONS_IN_TESTS, TRUSTING) == ""
