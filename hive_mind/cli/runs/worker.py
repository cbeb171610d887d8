"""`hive-mind worker`: look at workers and draw them. None of it runs anything."""

from typing import Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.options import Format, Group, refuse_ineffective
from hive_mind.cli.output import show, show_json, show_table
from hive_mind.errors import InvalidInput

Named = Annotated[
    str,
    typer.Argument(
        metavar="WORKER", help="The name of a built-in worker; with --graph also a file of kind Worker.", show_default="list them"
    ),
]
AsGraph = Annotated[bool, typer.Option("--graph", help="Draw it as a Mermaid flowchart.")]

group = Group()


@group.called_as(
    "hive-mind worker", "hive-mind worker incident-review > review.yaml", "hive-mind worker review.yaml --graph > review.mmd"
)
async def worker(name: Named = "", graph: AsGraph = False, output: options.Output = Format.TEXT) -> None:
    """List the built-in workers, print the file of one, to start from, or draw one.

    A worker is a graph: nodes that do something (a model with tools, one call, a question to a person), and edges between them.
    `hive-mind file validate` checks one.
    """
    from hive_mind.agents.workers import bundled, text_of
    from hive_mind.runtime.workers.runs import worker_named

    if not name:
        if graph:
            raise InvalidInput("--graph draws one worker: name it, or give its file")
        specs = [worker_named(name) for name in bundled()]
        if output is Format.JSON:
            show_json([{"id": spec.id, "version": spec.version, "description": spec.description} for spec in specs])
        else:
            show_table(["worker", "what for"], [(spec.id, spec.description) for spec in specs])
        return
    refuse_ineffective("the file or the drawing of a worker", output=output is Format.JSON)
    if graph:
        from hive_mind.runs.graphs.worker_file import mermaid

        show(mermaid(worker_named(name)))
    else:
        show(text_of(name).rstrip())
