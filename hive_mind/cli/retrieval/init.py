"""`hive-mind retrieval init`: a workspace to begin with, in which the configuration most people start with does badly."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.options import Format, Group
from hive_mind.cli.output import show, show_indented, show_json, shown_source
from hive_mind.cli.retrieval import workspaces
from hive_mind.counted import counted

if TYPE_CHECKING:
    from hive_mind.retrieval.files.workspace import Workspace


From = Annotated[
    Path | None,
    typer.Option("--from", metavar="DIR", help="Take over a workspace of document 000's project, and say what is changed."),
]


group = Group()


@group.called_as(
    "hive-mind retrieval init",
    "hive-mind retrieval init --workspace search/",
    "hive-mind retrieval init --workspace search/ --from ../hive/workspace",
)
async def init(
    workspace: workspaces.Folder = None,
    source: From = None,
    embed: options.Embed = None,
    model: options.Model = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Write a workspace to start from: documents, questions with labels, and a naive configuration.

    The folder has to be empty; nothing is overwritten. To use documents of your own, put them in place of those in
    documents/ and write your questions into evals/golden.json. With --from the files are another project's, converted.
    """
    if source is not None:
        _take_over(source, workspaces.folder_of(workspace), output, is_given=workspace is not None)
        return
    from hive_mind.retrieval.files.starting import NAIVE
    from hive_mind.retrieval.files.starting import init as begun

    folder = workspaces.folder_of(workspace)
    written_workspace = begun(folder, has_embeddings=await workspaces.has_embeddings(embed, model))
    documents = _documents(written_workspace)
    golden = written_workspace.golden()
    held_out = len(golden.split("test"))
    summary = {
        "workspace": str(folder),
        "config": NAIVE,
        "method": written_workspace.config(NAIVE).retrieval.method,
        "documents": documents,
        "questions": len(golden.queries),
        "held_out": held_out,
    }
    if output is Format.JSON:
        show_json(summary)
        return
    show(f"{shown_source(str(folder.absolute()))} is written", style="bold")
    show(
        f"{counted(documents, 'document')}, {counted(len(golden.queries), 'question')} ({held_out} of them held out), "
        f"and the configuration {NAIVE},"
    )
    show(f"which searches by {summary['method']}. Next:")
    _show_next(folder, ("index", "evaluate", "tune --name better", "deploy better"), is_given=workspace is not None)


def _take_over(source: Path, folder: Path, output: Format, *, is_given: bool) -> None:
    from hive_mind.retrieval.files.starting import begin, taken_over

    over = taken_over(source)
    workspace = begin(folder, over.files)
    documents = _documents(workspace)
    if output is Format.JSON:
        show_json({"workspace": str(folder), "from": str(source), "documents": documents, "changes": over.changes})
        return
    show(f"{shown_source(str(folder.absolute()))} is written, {source} is as it was", style="bold")
    show(f"{documents} documents, {len(workspace.configs())} configurations; changed:" if over.changes else "nothing was changed")
    for change in over.changes:
        show_indented(change)
    _show_next(folder, ("validate", "index", "evaluate"), is_given=is_given)


def _documents(workspace: "Workspace") -> int:
    return sum(len(workspace.documents(workspace.collection(name)).seen) for name in workspace.collections())


def _show_next(folder: Path, lines: tuple[str, ...], *, is_given: bool) -> None:
    at = f" -w {folder}" if is_given else ""
    for line in lines:
        show(f"  hive-mind retrieval {line}{at}")
