"""`hive-mind goal`: begin one, look whether it is right, ask what can stand in it. None of it runs anything.

What reads goals brings pydantic, which costs a fraction of a second to load: only these commands load it.
"""

import re
from pathlib import Path
from typing import Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.form_files import STDOUT, show_explained, show_problems, write_first
from hive_mind.cli.options import Format, examples
from hive_mind.cli.output import say, show_json
from hive_mind.cli.running import USAGE, command
from hive_mind.errors import GoalError, InvalidInput, Problem

_HELP = "Begin a goal, check it, and look up what can stand in it."
_NAME = re.compile("[A-Za-z0-9][A-Za-z0-9_-]{0,62}")

NewFile = Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it; - is standard output.")]
Name = Annotated[str, typer.Option("--id", help="What verdicts and feedback call it.")]
Files = Annotated[list[Path], typer.Argument(metavar="FILE", help="Files with a goal each.")]
Place = Annotated[
    str, typer.Argument(metavar="PATH", help="Such as spec.successCriteria; without, the whole.", show_default=False)
]

group = typer.Typer(name="goal", help=_HELP, no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the group."""
    app.add_typer(group)


@group.callback(
    epilog=examples("hive-mind goal init", "hive-mind goal validate goal.yaml", "hive-mind goal explain spec.successCriteria")
)
def goal() -> None:
    """Begin a goal, check it, and look up what can stand in it.

    A goal says what is wanted (criteria with weights) and what must not happen (constraints), and how both are seen: by a text
    that is looked for, by a condition, by a check of your own, or by a model or a person.
    """


@group.command(epilog=examples("hive-mind goal init", "hive-mind goal init --id weekly-report goals/report.yaml"))
@command
async def init(file: NewFile = Path("goal.yaml"), name: Name = "my-goal") -> None:
    """Write a commented goal to go on from. A file that is there stays as it is."""
    from hive_mind.goals.starting import first_goal

    if not _NAME.fullmatch(name):
        raise InvalidInput(f"--id is letters, digits, dashes and underscores, at most 63 of them, not {name!r}")
    if write_first(file, first_goal(name, "goal.yaml" if file == STDOUT else str(file))):
        say(f"{file} is written. Next: hive-mind goal validate {file}")


@group.command(epilog=examples("hive-mind goal validate goal.yaml", "hive-mind goal validate goals/*.yaml -o json"))
@command
async def validate(files: Files, output: options.Output = Format.TEXT) -> None:
    """Say all that is wrong, with line, path and what to do. Exit code 2 where something is.

    Conditions are compiled, so one that can't be used is found here and not in a run.
    """
    found = {str(file): _problems(file) for file in files}
    show_problems(found, output)
    if any(found.values()):
        raise typer.Exit(USAGE)


@group.command(epilog=examples("hive-mind goal explain", "hive-mind goal explain spec.successCriteria.metric"))
@command
async def explain(path: Place = "", output: options.Output = Format.TEXT) -> None:
    """Fields, types, defaults and what they mean, at a place of a goal."""
    from hive_mind.forms.explaining import explained
    from hive_mind.goals.goal_file import GOAL

    show_explained(explained(path, GOAL), "a goal", output)


@group.command("schema", epilog=examples("hive-mind goal schema > goal.schema.json"))
@command
async def print_schema() -> None:
    """The form of a goal as JSON Schema, for editors."""
    from hive_mind.forms.schema import schema_of
    from hive_mind.goals.goal_file import GOAL

    show_json(schema_of(GOAL))


def _problems(file: Path) -> tuple[Problem, ...]:
    from hive_mind.forms.reading import text_of
    from hive_mind.goals.goal_file import GOAL, goal_of

    try:
        text, problems = text_of(file, GOAL)
        if not problems:
            goal_of(text)
    except GoalError as error:
        return error.problems
    except InvalidInput as error:
        return (Problem("goal", 0, str(error)),)
    return problems
