"""For all tests: what is drawn is the same in every run of one tree, and a busy machine is no defect."""

import gc

import pytest
from hypothesis import HealthCheck, settings

from tests.chance import examples, is_exploring

# Speed is measured in benchmarks/, so no example has a deadline here.
settings.register_profile(
    "tests",
    deadline=None,
    max_examples=examples(),
    derandomize=not is_exploring(),
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tests")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One process loads the embedding model's libraries, which takes seconds, and not each that comes across a test of it."""
    items.sort(key=lambda item: item.get_closest_marker("embeddings") is None)


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
