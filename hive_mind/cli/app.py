"""The `hive-mind` command: the list of its subcommands, which `__main__` calls.

Only the module of the command that is called is loaded: together they take longer than most of them run, and memory that every
worker of a fleet would hold.

Values that are plainly what an option takes are taken here, as pydantic would take them; anything else is left to it. Typer makes
an adapter of it for each option of the command that is called, also where nothing is given: a quarter of what a short command
takes.
"""

import inspect
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core
from typer.core import TyperCommand, TyperGroup

from hive_mind import __version__
from hive_mind.cli.options import examples
from hive_mind.cli.running import exit_codes, is_there

# In front of every reason that is not its own.
_OF_PYDANTIC = "Value error, "


@dataclass(frozen=True, slots=True)
class PlainValues:
    """How a parameter of typer reads its values (its `RuntimeParam`); `adapted` makes the way that loads pydantic."""

    described: Any
    adapted: Any

    def coerce(self, value: Any, *, param: Any, ctx: Any) -> Any:
        """The value that a command gets for a parameter."""
        kind, info = self.described.annotation, self.described.parameter_info
        if isinstance(kind, type) and info.parser is None and not param.multiple and param.nargs == 1:
            if value is None or type(value) is kind:
                return value
            if issubclass(kind, Enum) and value in [member.value for member in kind]:
                return kind(value)
            if kind is Path and value == "-" and not info.allow_dash:
                raise typer.BadParameter("this needs a file, not standard input or output; one that is called - is ./-")
            if kind is Path and _is_any_path(info) and (os.access(value, os.R_OK) or not is_there(value)):
                return Path(value)
        try:
            return self.adapted(self.described).coerce(value, param=param, ctx=ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix(_OF_PYDANTIC)
            raise


def _is_any_path(info: Any) -> bool:
    is_checked = info.exists or info.writable or info.resolve_path or info.path_type
    return not is_checked and info.file_okay and info.dir_okay


# Versions of typer that read values themselves stay as they are.
if (adapted := getattr(typer.core, "build_runtime_param", None)) is not None:
    setattr(typer.core, "build_runtime_param", lambda described: PlainValues(described, adapted))  # noqa: B010


_EPILOG = examples(
    "hive-mind demo",
    "hive-mind learn notes/",
    'hive-mind ask "When does the ferry leave?"',
    "hive-mind apply -f manifests/flat.yaml",
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A command of the list: its module below `hive_mind.cli`, and what its help begins with. A test holds that both are so."""

    name: str
    module: str
    summary: str


_FLEETS = "Fleets"
# In the order of the help.
_GENERAL = (
    Entry("learn", "learning.learn", "Learn from files, folders or standard input."),
    Entry(
        "sources",
        "stats",
        "List the sources: when each was learned, its current and former facts, and what was left out.",
    ),
    Entry("ask", "asking.ask", "Ask what the agent has learned."),
    Entry("chat", "asking.chat", "Talk with an agent: questions are answered with their sources, anything else is learned."),
    Entry("mcp", "asking.mcp", "Serve an agent's memory over standard input and output, or over HTTP on this machine."),
    Entry("serve", "asking.serve", "Keep an agent open in a background process."),
    Entry("ui", "asking.serve", "Show in a browser what a fleet knows and why."),
    Entry("hook", "asking.hook", "Hooks for agent programs: what to know when a session begins."),
    Entry("facts", "facts", "Look at single facts: list, search, show, retract, supersede, export, import."),
    Entry("graph", "graph", "Explore how facts are connected: around one, between two, or by a query."),
    Entry("run", "runs", "Run a worker until it ends, or waits for a person."),
    Entry("runs", "runs.runs", "List, inspect, resume and cancel the runs of an agent."),
    Entry("worker", "runs", "List the built-in workers, print the file of one, to start from, or draw one."),
    Entry("rules", "review.rules", "Look at rules, try them, and learn them from what people decided."),
    Entry("inbox", "review.inbox", "See what agents ask people, and decide."),
    Entry("judge", "review.judge", "See how the judge of an agent's facts does: how sure, how right, at what cost."),
    Entry("credentials", "credentials", "Keep secrets encrypted, and refer to them by name."),
    Entry("keys", "keys", "Make, issue and revoke the keys by which members of a hive prove who they are."),
    Entry(
        "simulate",
        "simulate",
        "Simulate hives under faults; exit code 1 and the command that repeats it when one breaks a promise.",
    ),
    Entry("stats", "stats", "Count what the agent knows."),
    Entry(
        "doctor",
        "doctor",
        "Check the installation, the agent's database and this home's fleets, and say what to do about what is missing.",
    ),
    Entry("demo", "demo", "See it work in a few seconds: learn an example, answer questions, measure."),
    Entry("eval", "evals", "Compare topologies, sizes and ways to retrieve on questions with known answers."),
    Entry("retrieval", "retrieval", "Tune retrieval: configurations as files, measured before they are used."),
    Entry("reembed", "stats", "Embed everything with the current model, and delete the vectors of the former one."),
    Entry("agent", "agent", "Run an agent as a process of its own, in a hive with others."),
    Entry(
        "erase",
        "copies",
        "Forget something for good: facts, texts, vectors, graphs, journals, backups, on every member of a fleet that runs here.",
    ),
    Entry("backup", "copies", "Copy the memory of an agent, or of a whole fleet, to a file, even while it learns."),
    Entry("restore", "copies", "Put a copy back: as an agent's memory, or as a fleet."),
    Entry("broker", "broker", "Run a broker for development: Event Hubs and Service Bus on this machine, in memory."),
    Entry("bus", "bus", "Look at the bus that members of a hive share."),
    Entry("events", "events", "Look at what goes over a bus, and at its dead letters."),
    Entry("file", "file", "Start a manifest, a goal or rules, check files, and look up their fields."),
)
_OF_FLEETS = (
    Entry("apply", "fleet.apply", "Make a fleet what its manifest says."),
    Entry("plan", "fleet.apply", "Show what apply would do, and do nothing."),
    Entry("get", "fleet.get", "List fleets, agents, facts, events, members or manifests, a line each."),
    Entry("describe", "fleet.describe", "Describe one fleet, or one agent with its process and its node."),
    Entry("status", "fleet.live", "Show how a fleet is: its phase, its conditions, and every agent."),
    Entry(
        "top",
        "fleet.live",
        "Watch a fleet: processes with memory, CPU and messages per second, agents, and the last lines of their logs.",
    ),
    Entry("wait", "fleet.describe", "Wait until a condition is met. Exit code 1 means that it was not met in time."),
    Entry(
        "logs",
        "fleet.live",
        "Print what an agent's process logged, also of one that ended. Agents of one process share its log.",
    ),
    Entry("scale", "fleet.members", "Change how many agents an entry with a count stands for."),
    Entry("rollout", "fleet.members", "Restart a fleet, or go back to an earlier manifest."),
    Entry("drain", "fleet.members", "Let a process finish and end. It stays away until the next apply or rollout restart."),
    Entry("members", "fleet.members", "Evict dead or hostile members from a fleet's hive."),
    Entry("fleet", "fleet.members", "Recover the hive of a fleet when members lost what they had."),
    Entry("delete", "fleet.members", "Stop every process of a fleet, each after it has finished."),
    Entry(
        "controller",
        "fleet.members",
        "Keep a fleet running: restart what crashes, with growing pauses where it crashes again.",
    ),
)
ENTRIES = {entry.name: entry for entry in (*_GENERAL, *_OF_FLEETS)}


def _new(**settings_of_typer: Any) -> typer.Typer:
    """Commands that look like all of ours."""
    settings = {"help_option_names": ["-h", "--help"]}
    return typer.Typer(rich_markup_mode="rich", pretty_exceptions_enable=False, context_settings=settings, **settings_of_typer)


@cache
def commands_in(module: str) -> Mapping[str, Any]:
    """The commands of a module of this package, by name: those of its `group`, which has a name if they stand below one.

    Once for all calls of one process: to look at every option of a group takes longer than many a command.
    """
    commands = _new()
    commands.add_typer(import_module(f"hive_mind.cli.{module}").group)
    group = typer.main.get_group(commands)
    _let_help_flow(group)
    return group.commands


class Commands(TyperGroup):
    """Commands that are loaded when they are asked for. The list of them is made of `ENTRIES`, so that it loads none."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name; None where there is none: a mistyped name is compared with all names then."""
        if cmd_name not in ENTRIES:
            self.commands.update({entry.name: _listed(entry) for entry in ENTRIES.values() if entry.name not in self.commands})
        elif cmd_name not in self.commands:
            self.commands.update(commands_in(ENTRIES[cmd_name].module))
        return super().get_command(ctx, cmd_name)

    def make_context(self, *words: Any, **options: Any) -> Any:
        """Read the command line; help that nobody reads any more, or that has no room, ends as a command does."""
        with exit_codes():
            return super().make_context(*words, **options)

    def invoke(self, ctx: Any) -> Any:
        """Call the command, or print its help."""
        with exit_codes():
            try:
                outcome = super().invoke(ctx)
            except typer.Exit:
                sys.stdout.flush()
                raise
            # Now and not while Python shuts down, where a broken pipe or a full disk can't be caught any more.
            sys.stdout.flush()
            return outcome

    def list_commands(self, ctx: Any) -> list[str]:
        del ctx
        return list(ENTRIES)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        loaded, self.commands = self.commands, {entry.name: _listed(entry) for entry in ENTRIES.values()}
        try:
            super().format_help(ctx, formatter)
        finally:
            self.commands = loaded


def _listed(entry: Entry) -> TyperCommand:
    return TyperCommand(entry.name, help=entry.summary, rich_help_panel=_FLEETS if entry in _OF_FLEETS else None)


def _let_help_flow(command: Any) -> None:
    """Lines of a docstring are as long as the code's; on a screen a paragraph is as wide as that."""
    command.help = re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.cleandoc(command.help or ""))
    for subcommand in getattr(command, "commands", {}).values():
        _let_help_flow(subcommand)


app = _new(
    name="hive-mind",
    cls=Commands,
    help="A memory for agents: it learns from your texts and answers with sources, or says that it does not know.",
    epilog=_EPILOG,
    no_args_is_help=True,
)


def _version(is_given: bool) -> None:
    if is_given:
        typer.echo(f"hive-mind {__version__}")
        raise typer.Exit


@app.callback()
def options(
    *,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """The options before a subcommand."""
    del version
