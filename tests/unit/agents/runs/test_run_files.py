"""The folder of a run: whole files under plain names, no way out of it, and a memory that people write in, too."""

import os
from pathlib import Path

import pytest

from hive_mind.agents.runs.run_tools import RunFiles
from hive_mind.errors import InvalidInput
from hive_mind.runs.prompt import ADAPT_CHARACTERS_MAX

OUTSIDE = ["../x", "/etc/passwd", "a/b", "..", ".", "", ".hidden", "a\\..\\b", "x\0", "sub/../../x"]


def files(tmp_path: Path, *, may_remember: bool = True) -> RunFiles:
    return RunFiles(tmp_path / "run", tmp_path / "adapt.md", "I keep gates.", may_remember=may_remember)


@pytest.mark.parametrize("name", OUTSIDE)
def test_no_name_leads_out_of_the_folder(name: str, tmp_path: Path) -> None:
    one = files(tmp_path)
    for act in (lambda: one.write(name, "x"), lambda: one.read(name), lambda: one.change(name, str)):
        with pytest.raises(InvalidInput, match="not the plain name"):
            act()
    assert list(tmp_path.rglob("*")) == []


def test_a_link_a_pipe_and_a_folder_are_neither_read_nor_listed_and_writing_replaces_a_link_not_what_it_leads_to(tmp_path: Path):
    one = files(tmp_path)
    secret = tmp_path / "secret"
    secret.write_text("secret")
    one.write("own.txt", "mine")
    (tmp_path / "run" / "link.txt").symlink_to(secret)
    os.mkfifo(tmp_path / "run" / "pipe")
    (tmp_path / "run" / "folder").mkdir()
    for name in ("link.txt", "pipe", "folder"):
        with pytest.raises(InvalidInput, match=rf"there is no file '{name}'; files: own.txt"):
            one.read(name)
    assert one.data_files() == ["own.txt"]
    one.write("link.txt", "new")
    assert (secret.read_text(), one.read("link.txt")) == ("secret", "new")


def test_a_write_that_fails_leaves_the_former_file_and_nothing_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = files(tmp_path)
    one.write("own.txt", "before")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        one.write("own.txt", "after")
    assert one.read("own.txt") == "before"
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["own.txt"]


def test_what_is_written_is_read_to_the_letter_and_half_a_surrogate_pair_does_not_keep_a_result_from_being_kept(tmp_path: Path):
    one = files(tmp_path)
    for text in ("", "a\r\nb\rc\n", "é\u2028", "\x00", "x" * 100_000):
        one.write("own.txt", text)
        assert one.read("own.txt") == text
    assert one.read(one.keep_result("look", 1, "a\ud800b")) == "a?b"


def test_results_are_listed_by_number_and_conversations_apart(tmp_path: Path) -> None:
    one = files(tmp_path)
    names = [one.keep_result("look", number, "x") for number in (10, 2, 1)]
    for number in (10, 9):
        one.write(f"conversation_{number}.md", "x")
    one.write("notes.txt", "x")
    assert names == ["look_10.txt", "look_2.txt", "look_1.txt"]
    assert one.data_files() == ["look_1.txt", "look_2.txt", "look_10.txt", "notes.txt"]
    assert one.conversations() == ["conversation_9.md", "conversation_10.md"]


def test_what_only_sets_or_reads_is_never_saved_again(tmp_path: Path) -> None:
    one = files(tmp_path)
    assert [one.keep_result(name, 1, "x") for name in ("load_data", "set_output", "ask_person")] == ["", "", ""]
    assert one.data_files() == []


def test_the_memory_is_seeded_once_and_then_belongs_to_whoever_writes_there(tmp_path: Path) -> None:
    one = files(tmp_path)
    assert one.adapt().startswith("## Identity\nI keep gates.\n")
    (tmp_path / "adapt.md").write_text("## Mine\n")
    assert one.adapt() == "## Mine\n"
    one.remember_outputs({"x": 1})
    assert one.adapt() == "## Mine\n\n## Outputs\n- x: 1\n"


def test_remembering_an_output_loses_nothing_of_a_memory_that_is_longer_than_a_prompt_shows(tmp_path: Path) -> None:
    path = tmp_path / "adapt.md"
    text = "## Outputs\n- x: " + "1" * 300 + "\n## Mine\n" + "y" * ADAPT_CHARACTERS_MAX + "THE END"
    path.write_text(text)
    one = files(tmp_path)
    assert one.adapt() == text[:ADAPT_CHARACTERS_MAX]
    one.remember_outputs({"x": 2})
    assert path.read_text().endswith("THE END")


def test_line_ends_of_a_person_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "adapt.md"
    path.write_bytes(b"## Rules\r\n- be brief\r\n\r\n## Outputs\r\n")
    files(tmp_path).remember_outputs({"x": 1})
    assert path.read_bytes().startswith(b"## Rules\r\n- be brief\r\n\r\n## Outputs\r\n")
    assert b"- x: 1" in path.read_bytes()


def test_a_memory_in_another_encoding_is_shown_as_far_as_it_can_be_and_never_written(tmp_path: Path) -> None:
    path = tmp_path / "adapt.md"
    path.write_bytes("## Rules\n- höflich\n".encode("latin-1"))
    one = files(tmp_path)
    assert "- h\ufffdflich" in one.adapt()
    one.remember_outputs({"x": 1})
    assert path.read_bytes() == "## Rules\n- höflich\n".encode("latin-1")
    with pytest.raises(InvalidInput, match="is not UTF-8"):
        one.change("adapt.md", str)
