"""`hive-mind retrieval init`: a workspace to begin with, in which the configuration most people start with does badly."""

import typer

from hive_mind.cli import options
from hive_mind.cli.options import Format, examples
from hive_mind.cli.output import show, show_json, shown_source
from hive_mind.cli.retrieval import workspaces
from hive_mind.cli.running import command

_EPILOG = examples("hive-mind retrieval init", "hive-mind retrieval init --workspace search/")


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command(epilog=_EPILOG)(init)


@command
async def init(
    workspace: workspaces.Folder = None,
    embed: options.Embed = None,
    model: options.Model = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Write a workspace to begin with: documents, questions with labels, and a naive configuration.

    The folder has to be empty; nothing is overwritten. To begin with documents of your own, put them in place of those in
    documents/ and write your questions into evals/golden.json.
    """
    from hive_mind.retrieval.starting import NAIVE
    from hive_mind.retrieval.starting import init as begun

    folder = workspaces.folder_of(workspace)
    written = begun(folder, has_embeddings=await workspaces.has_embeddings(embed, model))
    documents = sum(len(written.documents(written.collection(name)).seen) for name in written.collections())
    golden = written.golden()
    held_out = len(golden.split("test"))
    told = {
        "workspace": str(folder),
        "config": NAIVE,
        "method": written.config(NAIVE).retrieval.method,
        "documents": documents,
        "questions": len(golden.queries),
        "held_out": held_out,
    }
    if output is Format.JSON:
        show_json(told)
        return
    show(f"{shown_source(str(folder.absolute()))} is written", style="bold")
    show(f"{documents} documents, {len(golden.queries)} questions ({held_out} of them held out), and the configuration {NAIVE},")
    show(f"which searches by {told['method']}. Next:")
    at = f" -w {folder}" if workspace is not None else ""
    for line in ("index", "evaluate", "tune --name better", "deploy better"):
        show(f"  hive-mind retrieval {line}{at}")
