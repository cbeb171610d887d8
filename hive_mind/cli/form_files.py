"""Files that people write, on the command line: the first one written, what is wrong with one, and what can stand in it."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind.cli.options import Format
from hive_mind.cli.output import plain, show, show_json, show_prose, show_table
from hive_mind.errors import InvalidInput, Problem

if TYPE_CHECKING:
    from hive_mind.forms.explaining import Explained

NewFile = Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it; - is standard output.")]
STDOUT = Path("-")


def write_first(file: Path, text: str) -> bool:
    """Write a new file, or to standard output; whether it is a file. Raises `InvalidInput` for one that is there already."""
    if file == STDOUT:
        sys.stdout.write(text)
        return False
    try:
        with file.open("x", encoding="utf-8") as new:
            new.write(text)
    except FileExistsError:
        raise InvalidInput(f"{file} is there already and stays as it is; give another name") from None
    except OSError as error:
        raise InvalidInput(f"{file} can't be written: {error.strerror or error}") from error
    return True


def show_problems(found: Mapping[str, Sequence[Problem]], output: Format) -> None:
    """All that is wrong, by file; that nothing is, too."""
    if output is Format.JSON:
        show_json([{"file": name, "is_valid": not told, "problems": [_plain(p) for p in told]} for name, told in found.items()])
        return
    for name, told in found.items():
        if not told:
            show(f"{name}: nothing is wrong")
        for one in told:
            show(one.told(name))


def show_explained(place: "Explained", whole: str, output: Format) -> None:
    """A place of a file, with the fields it has; `whole` is what the file is called."""
    if output is Format.JSON:
        show_json(plain(place))
        return
    default = f", default {place.default}" if place.default else ""
    show(f"{place.path or whole}: {place.type}{', required' if place.path and place.is_required else ''}{default}", style="bold")
    show_prose(place.description)
    if place.fields:
        show()
        show_table(["field", "type", "default", ""], [_row(field) for field in place.fields])


def _plain(problem: Problem) -> dict[str, object]:
    return {"line": problem.line, "path": problem.path, "message": problem.message}


def _row(field: "Explained") -> tuple[str, str, str, str]:
    name = field.path.rpartition(".")[2]
    return name, field.type, "required" if field.is_required else field.default, field.description
