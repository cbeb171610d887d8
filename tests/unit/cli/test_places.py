"""A path that no system takes, given to any option of any command, is told in a line."""

import inspect
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from hive_mind.cli.app import app
from tests.unit.cli.test_help import below

# These go on until they are stopped, or measure for minutes.
_ENDLESS = {("broker",), ("controller",), ("mcp",), ("serve",), ("simulate",), ("demo",), ("agent",), ("retrieval", "tune")}


def calls(place_named: str) -> Iterator[list[str]]:
    """Each command with each of its paths, and "x" for whatever else it needs."""
    for path, command in below(get_command(app)):
        if hasattr(command, "list_commands") or path in _ENDLESS or path[:1] == ("agent",):
            continue
        hints = inspect.signature(command.callback, eval_str=True).parameters
        for place in command.params:
            if place.name in hints and _is_path(hints[place.name].annotation):
                yield [*path, *(word for other in command.params for word in _words(other, place, place_named))]


def _is_path(hint: Any) -> bool:
    return hint is Path or any(map(_is_path, typing.get_args(hint)))


def _words(parameter: Any, place: Any, place_named: str) -> list[str]:
    if parameter is not place and not parameter.required:
        return []
    text = place_named if parameter is place else "x"
    return [parameter.opts[0], text] if parameter.opts[0].startswith("-") else [text]


@pytest.mark.parametrize("place", ["n" * 300, "loop/x", "astray/x"], ids=["too long", "a link to itself", "a link to nothing"])
def test_a_path_that_no_system_takes_is_told_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    Path("astray").symlink_to("nowhere")
    tried = list(calls(place))
    assert len(tried) > 80
    for words in tried:
        ended = CliRunner().invoke(
            app, words, input="", env={"HIVE_MIND_HOME": str(tmp_path / "home"), "HIVE_MIND_EMBED": "none"}
        )
        assert isinstance(ended.exception, SystemExit | None), (words, ended.exception)


def test_no_command_makes_a_file_of_the_word_for_standard_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only two of them can print it; with the others a person would look for it in vain."""
    monkeypatch.chdir(tmp_path)
    environment = {"HIVE_MIND_HOME": str(tmp_path / "home"), "HIVE_MIND_EMBED": "none"}
    (tmp_path / "notes.txt").write_text("The gateway listens on port 8443.\n")
    for agent in ("default", "x"):
        assert not CliRunner().invoke(app, ["learn", "notes.txt", "--agent", agent], env=environment).exit_code
    for words in [*calls("-"), ["backup", "-"], ["facts", "export", "-"], ["file", "init", "manifest", "-"]]:
        CliRunner().invoke(app, words, input="", env=environment)
        assert not (tmp_path / "-").exists(), words
