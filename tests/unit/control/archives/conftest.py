"""A stopped fleet, and its archive."""

from pathlib import Path

import pytest

from tests.unit.control.archived import archive_of, stopped_fleet


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Not to be changed."""
    return stopped_fleet(tmp_path_factory.mktemp("town") / "home")


@pytest.fixture(scope="session")
def archive(home: Path) -> Path:
    return archive_of(home)
