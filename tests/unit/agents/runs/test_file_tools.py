"""Tools over the files of a run: read by lines, write, edit; and what the run keeps of itself stays as it is."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hive_mind.agents.runs.memory_tools import file_tools
from hive_mind.agents.runs.run_tools import RunFiles
from hive_mind.errors import InvalidInput
from hive_mind.runs.prompt import ADAPT_CHARACTERS_MAX
from hive_mind.tools import Toolbox, ToolContext


@pytest.fixture
def files(tmp_path: Path) -> RunFiles:
    return RunFiles(tmp_path / "run", tmp_path / "adapt.md", "I keep gates.")


def use(files: RunFiles, name: str, *given: Any, **arguments: Any) -> Any:
    one = Toolbox(file_tools(files)).get(name)
    assert one is not None
    return asyncio.run(one.call(ToolContext(), dict(zip(one.spec.parameters["properties"], given, strict=False)) | arguments))


def test_a_file_is_saved_read_by_lines_also_with_nonsense_for_their_numbers_and_changed(files: RunFiles) -> None:
    assert use(files, "save_data", "notes.txt", "one\ntwo\nthree\n") == "saved 14 characters to notes.txt"
    assert use(files, "load_data", "notes.txt", offset=1, limit=1).startswith("two\n\n[Lines 1 to 1 of 3; go on with offset=2.")
    assert use(files, "load_data", "notes.txt", offset=-5, limit=500) == "one\ntwo\nthree\n"
    assert use(files, "load_data", "notes.txt", offset=0, limit=0).startswith("one\n")
    assert use(files, "edit_data", "notes.txt", "two", "2") == "notes.txt is changed"
    assert use(files, "load_data", "notes.txt") == "one\n2\nthree\n"
    with pytest.raises(InvalidInput, match=r"there is no file 'other.txt'; files: notes.txt"):
        use(files, "load_data", "other.txt")


@pytest.mark.parametrize(("old", "times"), [("x", 0), ("o", 2), ("", 8)])
def test_a_text_that_does_not_stand_there_exactly_once_is_not_replaced(old: str, times: int, files: RunFiles) -> None:
    use(files, "save_data", "notes.txt", "one two")
    with pytest.raises(InvalidInput, match=f"stands {times} times in notes.txt"):
        use(files, "edit_data", "notes.txt", old, "new")
    assert files.read("notes.txt") == "one two"


@pytest.mark.parametrize("name", ["look_1.txt", "conversation_1.md", "conversation_x"])
def test_what_the_run_keeps_of_itself_is_read_and_never_replaced(name: str, files: RunFiles) -> None:
    files.write(name, "kept")
    for act in (("save_data", name, "new"), ("edit_data", name, "kept", "new")):
        with pytest.raises(InvalidInput, match="reserved for the run"):
            use(files, *act)
    assert use(files, "load_data", name) == "kept"


@pytest.mark.parametrize("name", ["../adapt.md", "/etc/passwd", "a/b"])
@pytest.mark.parametrize("act", [("load_data",), ("save_data", "x"), ("edit_data", "x", "y")])
def test_no_tool_leads_out_of_the_folder(name: str, act: tuple[str, ...], files: RunFiles) -> None:
    with pytest.raises(InvalidInput, match="not the plain name"):
        use(files, act[0], name, *act[1:])


def test_the_memory_is_read_and_written_like_a_file_up_to_what_a_prompt_shows(files: RunFiles, tmp_path: Path) -> None:
    assert use(files, "load_data", "adapt.md").startswith("## Identity\nI keep gates.")
    use(files, "edit_data", "adapt.md", "## Rules\n", "## Rules\n- be brief\n")
    assert "- be brief" in (tmp_path / "adapt.md").read_text()
    with pytest.raises(InvalidInput, match="as it stands in every prompt"):
        use(files, "save_data", "adapt.md", "x" * (ADAPT_CHARACTERS_MAX + 1))


def test_an_edit_of_a_memory_that_is_too_long_loses_nothing_of_it(files: RunFiles, tmp_path: Path) -> None:
    text = "begin " + "x" * ADAPT_CHARACTERS_MAX + " end"
    (tmp_path / "adapt.md").write_text(text)
    with pytest.raises(InvalidInput, match="as it stands in every prompt"):
        use(files, "edit_data", "adapt.md", "begin", "start")
    assert (tmp_path / "adapt.md").read_text() == text
