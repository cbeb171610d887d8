"""What lives in the loop of a test of desks."""

import pytest

from tests.loops import InLoop, opened
from tests.unit.agents.judging import desk_town


@pytest.fixture
def town() -> InLoop:
    """Agents on nodes."""
    return InLoop(desk_town.opened)


@pytest.fixture
def ledger() -> InLoop:
    return InLoop(lambda: opened("ledger", "memory"))
