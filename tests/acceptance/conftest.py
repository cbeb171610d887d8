"""What acceptance tests share."""

from pathlib import Path

import pytest

from tests.acceptance.hive_mind_command import HiveMind


@pytest.fixture
def hive_mind(tmp_path: Path) -> HiveMind:
    return HiveMind(tmp_path / "home")


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A file worth learning."""
    file = tmp_path / "notes.txt"
    file.write_text("The ferry to Corrin leaves at nine. Pump D4 cools the transformers. Pump D40 drains the tunnel.\n")
    return file
