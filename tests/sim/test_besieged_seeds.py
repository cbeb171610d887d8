"""Fifty hives of each topology in bad weather, with liars, thieves of keys and forgers, no broken promise."""

import pytest

from tests.sim.storms import OPERATIONS_IN_TESTS, first_violation

# Open: what a liar put under another member's number, and a moderator took back, keeps that member's own fact out; and a leaver
# that waits for somebody nobody believes any more.
OPEN = {"flat": (), "federated": (4, 33), "sharded": ()}
PARTS = [(topology, range(start, start + 10)) for topology in OPEN for start in range(0, 50, 10)]


@pytest.mark.slow
@pytest.mark.parametrize(("topology", "seeds"), PARTS, ids=str)
def test_no_promise_is_broken(topology, seeds):
    sound = [seed for seed in seeds if seed not in OPEN[topology]]

    assert first_violation(topology, sound, OPERATIONS_IN_TESTS) == ""


@pytest.mark.xfail(strict=True, reason="open defects, listed above")
@pytest.mark.parametrize(("topology", "seed"), [(topology, seed) for topology, seeds in OPEN.items() for seed in seeds])
def test_what_breaks_a_promise_today(topology, seed):
    assert first_violation(topology, [seed], OPERATIONS_IN_TESTS) == ""
