"""Every arm that is opened measures its memory."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def _settled(settled_heap: None) -> None:
    """For each of these files."""
