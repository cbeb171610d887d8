"""What lives in the loop of a test of agents."""

import pytest

from tests.builders import Home
from tests.loops import InLoop, opened


@pytest.fixture
def memory() -> InLoop:
    return InLoop(Home().memory)


@pytest.fixture
def ledger() -> InLoop:
    return InLoop(lambda: opened("ledger", "memory"))
