"""What lives in the loop of a test of what runs."""

from pathlib import Path

import pytest

from tests.loops import InLoop
from tests.unit.runtime.members.town import opened


@pytest.fixture
def town(tmp_path: Path) -> InLoop:
    """Members over one bus."""
    return InLoop(lambda: opened(tmp_path))
