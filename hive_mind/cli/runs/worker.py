"""`hive-mind worker`: look at workers, check them, draw them, and ask what can stand in one. None of it runs anything."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.form_commands import FileKind, Files, add_form_commands, validate_files
from hive_mind.cli.options import Format, examples
from hive_mind.cli.output import show, show_json, show_table
from hive_mind.cli.running import command
from hive_mind.cli.runs.run import Functions, functions_of

if TYPE_CHECKING:
    from hive_mind.forms.form import Form
    from hive_mind.runs.graphs.worker_file import WorkerFile

_HELP = "List, show, draw and check workers."

Named = Annotated[str, typer.Argument(metavar="WORKER", help="A file of kind Worker, or the name of a built-in one.")]

group = typer.Typer(name="worker", help=_HELP, no_args_is_help=True)


@group.callback(epilog=examples("hive-mind worker list", "hive-mind worker graph incident-review"))
def worker() -> None:
    """List, show, draw and check workers.

    A worker is a graph: nodes that do something (a model with tools, one call, a question to a person), and edges between them.
    """


@group.command("list", epilog=examples("hive-mind worker list"))
@command
async def list_workers(output: options.Output = Format.TEXT) -> None:
    """List the built-in workers."""
    from hive_mind.agents.workers import bundled
    from hive_mind.runtime.workers.runs import worker_named

    found = [worker_named(name) for name in bundled()]
    if output is Format.JSON:
        show_json([{"id": one.id, "version": one.version, "description": one.description} for one in found])
    else:
        show_table(["worker", "what for"], [(one.id, one.description) for one in found])


@group.command("show", epilog=examples("hive-mind worker show incident-review > review.yaml"))
@command
async def show_worker(name: Named) -> None:
    """Print the file of a built-in worker, to start from."""
    from hive_mind.agents.workers import text_of

    show(text_of(name).rstrip())


@group.command(epilog=examples("hive-mind worker graph incident-review", "hive-mind worker graph review.yaml > review.mmd"))
@command
async def graph(name: Named) -> None:
    """Draw a worker as a Mermaid flowchart."""
    from hive_mind.runs.graphs.worker_file import mermaid
    from hive_mind.runtime.workers.runs import worker_named

    show(mermaid(worker_named(name)))


def _form() -> "Form[WorkerFile]":
    from hive_mind.runs.graphs.worker_file import WORKER

    return WORKER


def _read(text: str, known: Sequence[str] = (), functions: Sequence[str] = ()) -> object:
    from hive_mind.model.dialogue import ToolSpec
    from hive_mind.runs.graphs.checks import ANY_SERVER
    from hive_mind.runs.graphs.worker_file import worker_of
    from hive_mind.runtime.workers.runs import tools_without_agent

    tools = tools_without_agent() | {name: ToolSpec(name, "", {}) for name in (ANY_SERVER, *known)}
    return worker_of(text, tools=tools, functions=functions_of(functions))


@group.command(epilog=examples("hive-mind worker validate review.yaml", "hive-mind worker validate review.yaml --tool weigh"))
@command
async def validate(
    files: Files,
    tool: Annotated[list[str] | None, typer.Option("--tool", metavar="NAME", help="A tool that your program adds.")] = None,
    function: Functions = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Report all that is wrong, with line, path and remedy. Exit code 2 where something is.

    Conditions are compiled; tools, their arguments, judges and checks of your own, and the values that nodes and the goal look at
    are looked up. Tools of MCP servers are looked up when a run begins.
    """
    validate_files(files, replace(_WORKER, read=lambda text: _read(text, tool or (), function or ())), output)


_WORKER = FileKind("worker", "a worker", "spec.nodes", _form, _read, has_validate=True)
add_form_commands(group, _WORKER)
