"""Options that several commands share."""

import os
from pathlib import Path

import pytest

from hive_mind.cli.options import is_confirmed, iso_time, settings_for
from hive_mind.errors import InvalidInput


@pytest.mark.parametrize(
    "text", ["", "2025", "2025-03", "2024-02-29", "2025-03-10T09:30", "2025-03-10T09:30:15Z", "2025-03-10T09:30+02:00"]
)
def test_a_time_may_be_as_precise_as_it_is_known(text):
    assert iso_time(text) == text


@pytest.mark.parametrize("text", ["2025-13", "2025-02-30", "0000", "10.03.2025", "yesterday", "2025-03-10T25:00", "2025-03-10T"])
def test_a_time_that_is_none_is_refused(text):
    with pytest.raises(InvalidInput, match="--said-at"):
        iso_time(text)


@pytest.mark.parametrize("home", ["notes.txt", "notes.txt/deeper"])
def test_a_file_can_not_be_the_home(tmp_path, home):
    (tmp_path / "notes.txt").write_text("words")
    with pytest.raises(InvalidInput, match=r"notes.txt is a file: give --home"):
        settings_for(tmp_path / home)


@pytest.mark.parametrize("home", [Path(".hive"), None], ids=["given", "default"])
def test_a_home_whose_name_can_not_be_kept_is_refused(tmp_path, monkeypatch, home):
    folder = tmp_path / os.fsdecode(b"T\xfcr")
    folder.mkdir()
    monkeypatch.chdir(folder)
    with pytest.raises(InvalidInput, match="no UTF-8: rename it, or give --home"):
        settings_for(home, environment={})


def test_the_command_line_outweighs_the_environment():
    environment = {"HIVE_MIND_HOME": "/there", "HIVE_MIND_EMBED": "openai", "HIVE_MIND_EMBED_MODEL": "large"}
    settings = settings_for(Path("here"), "none", environment=environment)
    assert (settings.home, settings.embed, settings.embed_model) == (Path("here"), "none", "large")


def test_where_nobody_can_be_asked_it_is_said_what_to_add():
    with pytest.raises(InvalidInput, match="to forget without being asked, add --yes"):
        is_confirmed("forget", "Forget it?")
