"""The `hive-mind` command: its subcommands put together, and `main`, which `__main__` calls.

Only the module of the command that is called is loaded: together they take longer than most of them run, and memory that every
worker of a fleet would hold.
"""

import inspect
import re
import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from hive_mind import __version__
from hive_mind.cli.options import examples
from hive_mind.cli.running import STOPPED

_EPILOG = examples(
    "hive-mind demo",
    "hive-mind learn notes/",
    'hive-mind ask "When does the ferry leave?"',
    "hive-mind apply -f manifests/flat.yaml",
)
# In the order of the help. A test holds that these are the names they register.
MODULES = {
    **{name: f"learning.{name}" for name in ("learn", "sources")},
    **{name: f"asking.{name}" for name in ("ask", "chat")},
    **{name: f"serving.{name}" for name in ("mcp", "serve", "ui", "hook")},
    **{name: f"facts.{name}" for name in ("facts", "graph")},
    **{name: f"runs.{name}" for name in ("run", "runs", "worker")},
    **{name: f"review.{name}" for name in ("rules", "inbox", "judge")},
    **{name: name for name in ("credentials", "keys", "simulate")},
    "stats": "facts.stats",
    "doctor": "doctor",
    "demo": "demo.demo",
    "eval": "evals.app",
    "retrieval": "retrieval.app",
    "reembed": "facts.reembed",
    "agent": "agent",
    **dict.fromkeys(("erase", "receipt"), "facts.erase"),
    **dict.fromkeys(("backup", "restore"), "facts.backup"),
    "broker": "bus.broker",
    "bus": "bus.check",
    "events": "bus.events",
    "file": "file",
    **dict.fromkeys(("apply", "plan", "diff"), "fleet.apply"),
    **{name: f"fleet.views.{name}" for name in ("get", "describe", "status", "top", "wait", "logs")},
    **dict.fromkeys(("scale", "rollout", "drain"), "fleet.rollout"),
    "members": "fleet.members",
    "fleet": "fleet.members",
    **{name: f"fleet.{name}" for name in ("delete", "controller")},
    "export": "fleet.archive",
    "import": "fleet.archive",
}


def _new(**more: Any) -> typer.Typer:
    """Commands that look like all of ours."""
    settings = {"help_option_names": ["-h", "--help"]}
    return typer.Typer(rich_markup_mode="rich", pretty_exceptions_enable=False, context_settings=settings, **more)


def commands_in(module: str) -> typer.Typer:
    """The commands of a module of this package: those of its `group`, which has a name if they stand below one."""
    some, found = _new(), import_module(f"hive_mind.cli.{module}")
    # Typer leaves out the panel that a group was made with.
    some.add_typer(found.group, rich_help_panel=found.group.rich_help_panel)
    return some


class Commands(TyperGroup):
    """Commands that are loaded when they are asked for; all of them where they are listed."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name; None where there is none."""
        if cmd_name in MODULES:
            self._load(cmd_name)
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        del ctx
        for name in MODULES:
            self._load(name)
        return list(MODULES)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called, and the rest of the line. A mistyped name is compared with all names, loaded or not."""
        if args[0] not in MODULES:
            self.list_commands(ctx)
        return super().resolve_command(ctx, args)

    def _load(self, name: str) -> None:
        if name not in self.commands:
            group = typer.main.get_group(commands_in(MODULES[name]))
            _let_help_flow(group)
            self.commands.update(group.commands)


def _let_help_flow(command: Any) -> None:
    """Lines of a docstring are as long as the code's; on a screen a paragraph is as wide as that."""
    command.help = re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.cleandoc(command.help or ""))
    for one in getattr(command, "commands", {}).values():
        _let_help_flow(one)


app = _new(
    name="hive-mind",
    cls=Commands,
    help="A memory for agents: it learns from your texts and answers with sources, or says that it does not know.",
    epilog=_EPILOG,
    no_args_is_help=True,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hive-mind {__version__}")
        raise typer.Exit


@app.callback()
def options(
    *,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """The options before a subcommand."""
    del version


def main() -> None:
    """Run the command line of this process, and end the process."""
    try:
        app(prog_name="hive-mind")
    except KeyboardInterrupt:
        # Between commands' own handling: while modules load, or a second Ctrl-C.
        sys.exit(STOPPED)
