"""For all tests: what is drawn is the same in every run of one tree, and a busy machine is no defect."""

import gc

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
    """Let collections of garbage pass over the tests themselves: they are thousands, and stay."""
    gc.collect()
    gc.freeze()
