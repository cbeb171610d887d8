"""`hive-mind goal`: begin one, look whether it is right, ask what can stand in it. None of it runs anything.

The readers of goals bring pydantic, which costs a fraction of a second to load: only these commands load it.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind.cli.form_commands import STDOUT, FileKind, NewFile, add_form_commands, write_first
from hive_mind.cli.options import examples
from hive_mind.cli.output import say
from hive_mind.cli.running import command
from hive_mind.errors import InvalidInput
from hive_mind.regex import regex

if TYPE_CHECKING:
    from hive_mind.forms.form import Form
    from hive_mind.goals.goal_file import GoalFile

_HELP = "Start a goal, check it, and look up its fields."
_NAME = regex("[A-Za-z0-9][A-Za-z0-9_-]{0,62}")

Name = Annotated[str, typer.Option("--id", help="Its name in verdicts and feedback.")]

group = typer.Typer(name="goal", help=_HELP, no_args_is_help=True)


@group.callback(
    epilog=examples("hive-mind goal init", "hive-mind goal validate goal.yaml", "hive-mind goal explain spec.successCriteria")
)
def goal() -> None:
    """Start a goal, check it, and look up its fields.

    A goal says what is wanted (criteria with weights) and what must not happen (constraints), and how both are seen: by a text
    that is looked for, by a condition, by a check of your own, or by a model or a person.
    """


@group.command(epilog=examples("hive-mind goal init", "hive-mind goal init --id weekly-report goals/report.yaml"))
@command
async def init(file: NewFile = Path("goal.yaml"), name: Name = "my-goal") -> None:
    """Write a commented goal to start from. An existing file is not overwritten."""
    from hive_mind.goals.goal_file import first_goal

    if not _NAME.fullmatch(name):
        raise InvalidInput(f"--id is letters, digits, dashes and underscores, at most 63 of them, not {name!r}")
    if write_first(file, first_goal(name, "goal.yaml" if file == STDOUT else str(file))):
        say(f"{file} is written. Next: hive-mind goal validate {file}")


def _form() -> "Form[GoalFile]":
    from hive_mind.goals.goal_file import GOAL

    return GOAL


def _read(text: str) -> object:
    from hive_mind.goals.goal_file import goal_of

    return goal_of(text)


add_form_commands(group, FileKind("goal", "a goal", "spec.successCriteria.metric", _form, _read))
