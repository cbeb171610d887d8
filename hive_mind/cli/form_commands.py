"""The commands that every kind of file people write has: `validate`, `explain` and `schema`.

The readers of such files bring pydantic, which costs a fraction of a second to load: only these commands load it.

Files that people write, on the command line: the first one written, the mistakes in one, and the fields it can have.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hive_mind.cli import options
from hive_mind.cli.options import Format, examples
from hive_mind.cli.output import plain, show, show_json, show_prose, show_table
from hive_mind.cli.running import USAGE, command
from hive_mind.errors import FileError, InvalidInput, Problem

if TYPE_CHECKING:
    from hive_mind.forms.explaining import Explained
    from hive_mind.forms.form import Form

Place = Annotated[str, typer.Argument(metavar="PATH", help="Path of a field; without it, the whole file.", show_default=False)]
Files = Annotated[list[Path], typer.Argument(metavar="FILE", help="One or several.")]

NewFile = Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it; - is standard output.")]
STDOUT = Path("-")


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of file: its group of commands, what one is called, a field to explain, its form, and how its text is read.

    `read` raises `FileError`; both are functions so that nothing is loaded before it is needed. `has_validate`: its group has a
    command of that name with options of its own.
    """

    group: str
    called: str
    field: str
    form: Callable[[], "Form[Any]"]
    read: Callable[[str], object]
    has_validate: bool = False


def add_form_commands(group: typer.Typer, kind: FileKind) -> None:
    """Add the three."""
    name = f"hive-mind {kind.group}"

    if not kind.has_validate:

        @group.command(epilog=examples(f"{name} validate {kind.group}.yaml", f"{name} validate {kind.group}/*.yaml -o json"))
        @command
        async def validate(files: Files, output: options.Output = Format.TEXT) -> None:
            """Report all that is wrong, with line, path and remedy. Exit code 2 where something is.

            Conditions are compiled, so an invalid one is found here.
            """
            validate_files(files, kind, output)

    @group.command(epilog=examples(f"{name} explain", f"{name} explain {kind.field}"))
    @command
    async def explain(path: Place = "", output: options.Output = Format.TEXT) -> None:
        """Explain the fields of such a file, or of one part of it: types, defaults, and what they mean."""
        from hive_mind.forms.explaining import explained

        show_explained(explained(path, kind.form()), kind.called, output)

    @group.command("schema", epilog=examples(f"{name} schema > {kind.group}.schema.json"))
    @command
    async def print_schema() -> None:
        """Print the JSON Schema of such a file, for editors."""
        from hive_mind.forms.form import schema_of

        show_json(schema_of(kind.form()))


def validate_files(files: Sequence[Path], kind: FileKind, output: Format) -> None:
    """Show all that is wrong in them; the exit code says whether something is."""
    found = {str(file): _problems(file, kind) for file in files}
    show_problems(found, output)
    if any(found.values()):
        raise typer.Exit(USAGE)


def _problems(file: Path, kind: FileKind) -> tuple[Problem, ...]:
    from hive_mind.forms.reading import text_of

    form = kind.form()
    try:
        text, problems = text_of(file, form)
        if not problems:
            kind.read(text)
    except FileError as error:
        return error.problems
    except InvalidInput as error:
        return (Problem(form.name, 0, str(error)),)
    return problems


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
        show_json(
            [
                {"file": name, "is_valid": not problems, "problems": [_plain(p) for p in problems]}
                for name, problems in found.items()
            ]
        )
        return
    for name, problems in found.items():
        if not problems:
            show(f"{name}: nothing is wrong")
        for one in problems:
            show(one.in_file(name))


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
