"""`hive-mind retrieval index`: take in what has changed in the folders of documents, and nothing else."""

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.options import Format, Group, settings_for
from hive_mind.cli.output import plain, show, show_json
from hive_mind.cli.retrieval import workspaces
from hive_mind.cli.running import Stopped

if TYPE_CHECKING:
    from hive_mind.retrieval.indexing.updating import Indexed


Collection = Annotated[str, typer.Argument(metavar="COLLECTION", help="Which one.", show_default="all of them")]


@dataclass(frozen=True, slots=True)
class _Row:
    collection: str
    documents: int
    seconds: float
    done: "Indexed"


group = Group()


@group.called_as("hive-mind retrieval index", "hive-mind retrieval index handbook --embed none")
async def index(
    collection: Collection = "",
    workspace: workspaces.Folder = None,
    embed: options.Embed = None,
    model: options.Model = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Index the documents: only what changed since the last time, and only texts that are new are embedded.

    It may be stopped at any moment: searches go on with the index as it was. Other commands index by themselves.
    """
    from hive_mind.retrieval.indexing.index import open_index

    folder, rows = workspaces.opened(workspace), list[_Row]()
    try:
        async with workspaces.embedding(settings_for(None, embed, model)) as (settings, embedder):
            for name in (collection,) if collection else folder.collections():
                async with await open_index(folder, name, settings, embedder) as opened:
                    began = time.monotonic()
                    indexed = await workspaces.updated(opened)
                    rows.append(_Row(name, opened.counts()[0], time.monotonic() - began, indexed))
    except asyncio.CancelledError:
        raise Stopped("stopped; the index is as it was, and what was embedded is kept: run it again to go on") from None
    if output is Format.JSON:
        show_json([_plain(row) for row in rows])
        return
    for row in rows:
        show(f"collection {row.collection}: {workspaces.index_summary(row.done)} ({row.seconds:.2f} s)")


def _plain(row: _Row) -> dict[str, object]:
    return {
        "collection": row.collection,
        "documents": row.documents,
        "seconds": round(row.seconds, 3),
        **plain(row.done),
    }
