"""What every command says about itself, and what is said about a command that there is not."""

from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from hive_mind.cli.app import app


def below(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """A command and all under it, by the words that call them."""
    yield path, command
    if hasattr(command, "list_commands"):
        for name in command.list_commands(None):
            yield from below(command.get_command(None, name), (*path, name))


COMMANDS = dict(below(get_command(app)))


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_has_an_example_and_says_once_what_may_be_left_out(path):
    told = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "100"}).output

    assert f"Usage: {' '.join(('hive-mind', *path))} " in told
    assert f"Examples:\n {' '.join(('hive-mind', *path))}" in "\n".join(line.rstrip() for line in told.splitlines())
    assert not any(twice in told for twice in ("[[", "]]", "{["))


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_paragraphs_of_help_break_where_the_screen_ends(path):
    assert all("\n" not in paragraph for paragraph in COMMANDS[path].help.split("\n\n"))


@pytest.mark.parametrize(
    ("typed", "meant"),
    [(["lern"], "learn"), (["statsu"], "status"), (["facts", "lst"], "list"), (["events", "dlq", "lst"], "list")],
)
def test_a_mistyped_command_is_told_which_one_may_be_meant(typed, meant):
    ended = CliRunner().invoke(app, typed, env={"COLUMNS": "100"})

    assert ended.exit_code == 2
    assert f"'{meant}'" in ended.output.partition("Did you mean")[2]
