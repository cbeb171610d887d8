"""`hive-mind manifest`: begin one, look whether it is right, ask which fields it can have. None of it starts anything.

The readers of manifests bring pydantic, which costs a fraction of a second to load: only these commands load it.
"""

import re
from pathlib import Path
from typing import Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.fleet import fleets
from hive_mind.cli.form_commands import STDOUT, NewFile, show_explained, show_problems, write_first
from hive_mind.cli.options import Format, examples
from hive_mind.cli.output import say, show_json
from hive_mind.cli.running import USAGE, command
from hive_mind.errors import InvalidInput, ManifestError, Problem
from hive_mind.hive.topology.spec import DEFAULT, TopologyName

_HELP = "Start a manifest, check it, and look up its fields."


Kind = Annotated[TopologyName, typer.Option("--topology", "-t", help="How its agents share what they know.")]
Name = Annotated[str, typer.Option("--name", help="The name of the fleet.")]
Files = Annotated[list[Path], typer.Argument(metavar="FILE", help="Manifests.")]
Form = Annotated[bool, typer.Option("--form", help="The text only: don't look for the variables, files and sources it names.")]
Place = Annotated[
    str, typer.Argument(metavar="PATH", help="Such as spec.topology; without it, the whole manifest.", show_default=False)
]

group = typer.Typer(name="manifest", help=_HELP, no_args_is_help=True, rich_help_panel=fleets.PANEL)


@group.callback(
    epilog=examples(
        "hive-mind manifest init", "hive-mind manifest validate hive.yaml", "hive-mind manifest explain spec.topology"
    )
)
def manifest() -> None:
    """Start a manifest, check it, and look up its fields."""


@group.command(epilog=examples("hive-mind manifest init", "hive-mind manifest init --topology federated harbour.yaml"))
@command
async def init(
    file: NewFile = Path("hive.yaml"),
    topology: Kind = DEFAULT,
    name: Name = "my-fleet",
) -> None:
    """Write a commented manifest to start from. An existing file is not overwritten."""
    from hive_mind.control.manifests.manifest import NAME
    from hive_mind.control.manifests.starting import first_manifest

    if not re.fullmatch(NAME, name):
        raise InvalidInput(f"--name is lower-case letters, digits and dashes, at most 52 of them, not {name!r}")
    shown = "hive.yaml" if file == STDOUT else str(file)
    text = first_manifest(topology, name, shown)
    if write_first(file, text):
        say(f"{file} is written. Next: hive-mind plan -f {file}")


@group.command(epilog=examples("hive-mind manifest validate hive.yaml", "hive-mind manifest validate manifests/*.yaml -o json"))
@command
async def validate(files: Files, form: Form = False, output: options.Output = Format.TEXT) -> None:
    """Report all that is wrong, with line, path and remedy. Exit code 2 where something is."""
    found = {str(file): _problems(file, is_form_only=form) for file in files}
    show_problems(found, output)
    if any(found.values()):
        raise typer.Exit(USAGE)


@group.command(epilog=examples("hive-mind manifest explain", "hive-mind manifest explain spec.topology"))
@command
async def explain(path: Place = "", output: options.Output = Format.TEXT) -> None:
    """Explain the fields of a manifest, or of one part of it: types, defaults, and what they mean."""
    from hive_mind.control.manifests.manifest import MANIFEST
    from hive_mind.forms.explaining import explained

    show_explained(explained(path, MANIFEST), "a manifest", output)


@group.command("schema", epilog=examples("hive-mind manifest schema > manifest.schema.json"))
@command
async def print_schema() -> None:
    """Print the JSON Schema of a manifest, for editors."""
    from hive_mind.control.manifests.manifest import MANIFEST
    from hive_mind.forms.form import schema_of

    show_json(schema_of(MANIFEST))


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
