"""What a message tells people to type is a command that there is."""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import typer

from hive_mind.cli.app import MODULES, commands_in

ROOT = Path(__file__).parents[3]
_COMMAND = re.compile(r"hive-mind ([a-z]+)(?: ([a-z]+)\b(?!-))?")
# Prose about the program.
_PROSE = frozenset({"hive-mind began with", "hive-mind writes to"})


def test_messages_name_only_commands_that_there_are():
    named = set(told_by(file for folder in ("hive_mind", "deploy") for file in (ROOT / folder).rglob("*.py")))
    assert len(named) > 100
    assert {f"{file.name}: {command[0]}" for file, command in named if not _is_there(command[1], command[2])} == set()


def told_by(files: Iterator[Path]) -> Iterator[tuple[Path, re.Match[str]]]:
    for file in files:
        # Few name one, and reading the syntax of all takes seconds.
        if "hive-mind" not in (text := file.read_text("utf-8")):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from ((file, match) for match in _COMMAND.finditer(node.value) if match[0] not in _PROSE)


def _is_there(name: str, within: str | None) -> bool:
    return name in MODULES and (within is None or (subs := _below(name)) is None or within in subs or name == "judge")


@lru_cache
def _below(name: str) -> frozenset[str] | None:
    """The commands of a group; None where it is none."""
    commands = getattr(typer.main.get_group(commands_in(MODULES[name])).commands.get(name), "commands", None)
    return None if commands is None else frozenset(commands)
