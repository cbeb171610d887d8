"""A test of a bus leaves no thread behind."""

from collections.abc import Iterator

import pytest

from tests.contract.bus_builders import no_thread_left


@pytest.fixture(autouse=True)
def _no_thread_left() -> Iterator[None]:
    with no_thread_left():
        yield
