"""`hive-mind worker`: look at workers and draw them. None of it runs anything."""

from typing import Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.options import Format, examples
from hive_mind.cli.output import show, show_json, show_table
from hive_mind.cli.running import command

_HELP = "List, show and draw workers."

Named = Annotated[str, typer.Argument(metavar="WORKER", help="A file of kind Worker, or the name of a built-in one.")]

group = typer.Typer(name="worker", help=_HELP, no_args_is_help=True)


@group.callback(epilog=examples("hive-mind worker list", "hive-mind worker graph incident-review"))
def worker() -> None:
    """List, show and draw workers.

    A worker is a graph: nodes that do something (a model with tools, one call, a question to a person), and edges between them.
    `hive-mind file validate` checks one.
    """


@group.command("list", epilog=examples("hive-mind worker list"))
@command
async def list_workers(output: options.Output = Format.TEXT) -> None:
    """List the built-in workers."""
    from hive_mind.agents.workers import bundled
    from hive_mind.runtime.workers.runs import worker_named

    specs = [worker_named(name) for name in bundled()]
    if output is Format.JSON:
        show_json([{"id": spec.id, "version": spec.version, "description": spec.description} for spec in specs])
    else:
        show_table(["worker", "what for"], [(spec.id, spec.description) for spec in specs])


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
