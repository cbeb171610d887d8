"""For all tests: what is drawn is the same in every run of one tree, and a busy machine is no defect."""

import gc

import pytest
from hypothesis import HealthCheck, settings

from tests.chance import is_exploring

# Speed is measured in benchmarks/, so no example has a deadline here.
settings.register_profile(
    "tests",
    deadline=None,
    derandomize=not is_exploring(),
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tests")


def pytest_collection_finish() -> None:
    """The tests themselves are thousands of objects, and stay."""
    _set_aside()


@pytest.fixture(scope="module")
def settled_heap() -> None:
    """For tests of what measures memory, and so collects garbage again and again."""
    _set_aside()


def _set_aside() -> None:
    """Let collections of garbage pass over whatever is here now: with it each takes half a second."""
    gc.collect()
    gc.freeze()
