"""`hive-mind manifest`: begin one, look whether it is right, ask what can stand in it. None of it starts anything.

What reads manifests brings pydantic, which costs a fraction of a second to load: only these commands load it.
"""

import re
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.fleet import fleets
from hive_mind.cli.options import Format, examples
from hive_mind.cli.output import plain, say, show, show_json, show_prose, show_table
from hive_mind.cli.running import USAGE, command
from hive_mind.errors import InvalidInput, ManifestError, Problem

if TYPE_CHECKING:
    from hive_mind.control.manifests.explaining import Explained

_HELP = "Begin a manifest, check it, and look up what can stand in it."
_STDOUT = Path("-")


class Topology(StrEnum):
    """Those a manifest can begin with."""

    SINGLE = "single"
    FLAT = "flat"
    FEDERATED = "federated"
    SHARDED = "sharded"


Kind = Annotated[Topology, typer.Option("--topology", "-t", help="How its agents share what they know.")]
NewFile = Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it; - is standard output.")]
Name = Annotated[str, typer.Option("--name", help="What the fleet is called.")]
Files = Annotated[list[Path], typer.Argument(metavar="FILE", help="Manifests.")]
Form = Annotated[bool, typer.Option("--form", help="The text only: don't look for the variables, files and sources it names.")]
Place = Annotated[str, typer.Argument(metavar="PATH", help="Such as spec.topology; without, the whole.", show_default=False)]

group = typer.Typer(name="manifest", help=_HELP, no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the group."""
    app.add_typer(group, rich_help_panel=fleets.PANEL)


@group.callback(
    epilog=examples(
        "hive-mind manifest init", "hive-mind manifest validate hive.yaml", "hive-mind manifest explain spec.topology"
    )
)
def manifest() -> None:
    """Begin a manifest, check it, and look up what can stand in it."""


@group.command(epilog=examples("hive-mind manifest init", "hive-mind manifest init --topology federated harbour.yaml"))
@command
async def init(
    file: NewFile = Path("hive.yaml"),
    topology: Kind = Topology.FLAT,
    name: Name = "my-fleet",
) -> None:
    """Write a commented manifest to go on from. A file that is there stays as it is."""
    from hive_mind.control.manifests.manifest import NAME
    from hive_mind.control.manifests.starting import first_manifest

    if not re.fullmatch(NAME, name):
        raise InvalidInput(f"--name is lower-case letters, digits and dashes, at most 52 of them, not {name!r}")
    shown = "hive.yaml" if file == _STDOUT else str(file)
    text = first_manifest(topology.value, name, shown)
    if file == _STDOUT:
        sys.stdout.write(text)
        return
    try:
        with file.open("x", encoding="utf-8") as new:
            new.write(text)
    except FileExistsError:
        raise InvalidInput(f"{file} is there already and stays as it is; give another name") from None
    except OSError as error:
        raise InvalidInput(f"{file} can't be written: {error.strerror or error}") from error
    say(f"{file} is written. Next: hive-mind plan -f {file}")


@group.command(epilog=examples("hive-mind manifest validate hive.yaml", "hive-mind manifest validate manifests/*.yaml -o json"))
@command
async def validate(files: Files, form: Form = False, output: options.Output = Format.TEXT) -> None:
    """Say all that is wrong, with line, path and what to do. Exit code 2 where something is."""
    found = {str(file): _problems(file, is_form_only=form) for file in files}
    if output is Format.JSON:
        show_json([{"file": name, "is_valid": not told, "problems": [_plain(p) for p in told]} for name, told in found.items()])
    else:
        for name, told in found.items():
            _show_problems(name, told)
    if any(found.values()):
        raise typer.Exit(USAGE)


@group.command(epilog=examples("hive-mind manifest explain", "hive-mind manifest explain spec.topology"))
@command
async def explain(path: Place = "", output: options.Output = Format.TEXT) -> None:
    """Fields, types, defaults and what they mean, at a place of the manifest."""
    from hive_mind.control.manifests.explaining import explained

    place = explained(path)
    if output is Format.JSON:
        show_json(plain(place))
    else:
        _show_explained(place)


@group.command("schema", epilog=examples("hive-mind manifest schema > manifest.schema.json"))
@command
async def print_schema() -> None:
    """The form of a manifest as JSON Schema, for editors."""
    from hive_mind.control.manifests.explaining import schema

    show_json(schema())


def _problems(file: Path, *, is_form_only: bool) -> tuple[Problem, ...]:
    from hive_mind.control.manifests.reading import read_form, read_manifest

    try:
        source = (read_form if is_form_only else read_manifest)(file)
        if not is_form_only:
            fleets.say_without_effect(source)
    except ManifestError as error:
        return error.problems
    except InvalidInput as error:
        return (Problem("manifest", 0, str(error)),)
    return ()


def _plain(problem: Problem) -> dict[str, object]:
    return {"line": problem.line, "path": problem.path, "message": problem.message}


def _show_problems(name: str, problems: tuple[Problem, ...]) -> None:
    if not problems:
        show(f"{name}: nothing is wrong")
    for one in problems:
        show(one.told(name))


def _show_explained(place: "Explained") -> None:
    head = place.path or "a manifest"
    default = f", default {place.default}" if place.default else ""
    show(f"{head}: {place.type}{', required' if place.path and place.is_required else ''}{default}", style="bold")
    show_prose(place.description)
    if place.fields:
        show()
        show_table(["field", "type", "default", ""], [_row(field) for field in place.fields])


def _row(field: "Explained") -> tuple[str, str, str, str]:
    name = field.path.rpartition(".")[2]
    return name, field.type, "required" if field.is_required else field.default, field.description
