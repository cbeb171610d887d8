"""Whole hives under every fault at once, many seeds, no broken promise. A failure names the command that repeats it.

Half of the seeds are always the same. The others roll on with the code, so that each change meets storms that none met before,
and whoever repeats a test of the same code still gets the same ones. See the Makefile's `soak` for many more.
"""

from hashlib import blake2b
from pathlib import Path

import pytest

import hive_mind
from tests.sim.storms import first_violation

SEEDS = 500
CHUNK = 25
# What a continuous run can afford: the storm is shorter than by default, what follows it is the same.
OPERATIONS = 60


def rolling_base() -> int:
    """A seed from 1,000,000 that follows from the replication code as it is."""
    package = Path(hive_mind.__file__).parent
    digest = blake2b(digest_size=4)
    for folder in ("crdt", "hive", "sim"):
        for path in sorted((package / folder).glob("*.py")):
            digest.update(path.read_bytes())
    return 1_000_000 + int.from_bytes(digest.digest(), "big") % 1_000_000 * SEEDS


STARTS = [*range(0, SEEDS // 2, CHUNK), *range(rolling_base(), rolling_base() + SEEDS // 2, CHUNK)]


@pytest.mark.slow
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("topology", ["flat", "federated", "sharded"])
def test_no_promise_is_broken(topology, start):
    assert first_violation(topology, range(start, start + CHUNK), OPERATIONS) == ""


@pytest.mark.parametrize("topology", ["flat", "federated", "sharded"])
def test_a_few_seeds_for_every_commit(topology):
    assert first_violation(topology, range(8), OPERATIONS) == ""
