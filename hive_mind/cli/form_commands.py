"""The commands that every kind of file people write has: `validate`, `explain` and `schema`.

What reads such files brings pydantic, which costs a fraction of a second to load: only these commands load it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hive_mind.cli import options
from hive_mind.cli.form_files import show_explained, show_problems
from hive_mind.cli.options import Format, examples
from hive_mind.cli.output import show_json
from hive_mind.cli.running import USAGE, command
from hive_mind.errors import FileError, InvalidInput, Problem

if TYPE_CHECKING:
    from hive_mind.forms.form import Form

Place = Annotated[str, typer.Argument(metavar="PATH", help="Of a field; without, the whole.", show_default=False)]
Files = Annotated[list[Path], typer.Argument(metavar="FILE", help="One or several.")]


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of file: its group of commands, what one is called, a field to explain, its form, and how its text is read.

    `read` raises `FileError`; both are functions so that nothing is loaded before it is needed.
    """

    group: str
    called: str
    field: str
    form: Callable[[], "Form[Any]"]
    read: Callable[[str], object]


def add_form_commands(group: typer.Typer, kind: FileKind) -> None:
    """Add the three."""
    name = f"hive-mind {kind.group}"

    @group.command(epilog=examples(f"{name} validate {kind.group}.yaml", f"{name} validate {kind.group}/*.yaml -o json"))
    @command
    async def validate(files: Files, output: options.Output = Format.TEXT) -> None:
        """Say all that is wrong, with line, path and what to do. Exit code 2 where something is.

        Conditions are compiled, so one that can't be used is found here.
        """
        found = {str(file): _problems(file, kind) for file in files}
        show_problems(found, output)
        if any(found.values()):
            raise typer.Exit(USAGE)

    @group.command(epilog=examples(f"{name} explain", f"{name} explain {kind.field}"))
    @command
    async def explain(path: Place = "", output: options.Output = Format.TEXT) -> None:
        """Fields, types, defaults and what they mean, at a place of such a file."""
        from hive_mind.forms.explaining import explained

        show_explained(explained(path, kind.form()), kind.called, output)

    @group.command("schema", epilog=examples(f"{name} schema > {kind.group}.schema.json"))
    @command
    async def print_schema() -> None:
        """The form of such a file as JSON Schema, for editors."""
        from hive_mind.forms.form import schema_of

        show_json(schema_of(kind.form()))


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
