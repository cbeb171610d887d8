"""Folders of a fleet."""

from pathlib import Path

import pytest

from hive_mind.control.state import private_folder
from hive_mind.errors import InvalidInput


def test_a_folder_that_can_not_be_made_is_told_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(InvalidInput, match=r"can't be made: .*--home"):
        private_folder(tmp_path / "taken" / "home")
