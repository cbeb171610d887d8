"""`hive-mind retrieval index|query`: what a configuration finds, and why: each arm's score, flags, where it was cut."""

import asyncio
import time
from dataclasses import dataclass
from itertools import dropwhile
from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.options import Format, Group, settings_for
from hive_mind.cli.output import plain, printable, say, show, show_indented, show_json
from hive_mind.cli.retrieval import workspaces
from hive_mind.cli.running import Stopped
from hive_mind.errors import ConfigError

if TYPE_CHECKING:
    from hive_mind.retrieval.files.configuration import GoldenQuery, RetrievalConfig
    from hive_mind.retrieval.files.workspace import Workspace
    from hive_mind.retrieval.indexing.searching import QueryResult, Result
    from hive_mind.retrieval.indexing.updating import Indexed


@dataclass(frozen=True, slots=True)
class _Row:
    collection: str
    documents: int
    seconds: float
    done: "Indexed"


group = Group()


@group.called_as("hive-mind retrieval index", "hive-mind retrieval index handbook --embed none")
async def index(
    collection: Annotated[str, typer.Argument(metavar="COLLECTION", help="Which one.", show_default="all of them")] = "",
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


_PREVIEW_CHARACTERS = 160

ConfigOption = Annotated[
    str,
    typer.Option(
        "--config", "-c", metavar="NAME", help="A configuration.", show_default="the active one",
        autocompletion=workspaces.config_names,
    ),
]  # fmt: skip


@group.called_as(
    'hive-mind retrieval query "How do I renew a token?"',
    'hive-mind retrieval query "crane_conflict" --config v1-naive',
    'hive-mind retrieval query "How do I renew a token?" -o json',
)
async def query(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="In your own words, in quotation marks.")],
    config: ConfigOption = "",
    whole: Annotated[bool, typer.Option("--whole", help="Show the whole text of each result.")] = False,
    workspace: workspaces.Folder = None,
    embed: options.Embed = None,
    model: options.Model = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Search, and show how the results came about.

    Scores of both arms with the place in each, what distraction detection flagged, how many chunks were scored, and where
    dynamic-k cut and why. A question of the golden set also shows its labels.
    """
    folder = workspaces.opened(workspace)
    chosen = workspaces.usable(folder, workspaces.config_of(folder, config))
    async with workspaces.bench_for(folder, [chosen], embed, model) as bench, bench.open(chosen.collection) as index:
        query_result = await index.search(printable(question), chosen)
    labels = _labels(folder, question)
    if output is Format.JSON:
        show_json({"config": chosen.name} | plain(query_result) | {"labels": _plain_labels(labels)})
        return
    _show_head(chosen, query_result)
    for hit in query_result.results:
        _show_result(hit, labels, is_whole=whole)
    _show_foot(query_result)


def _labels(folder: "Workspace", question: str) -> "GoldenQuery | None":
    """Nobody has to have labels to search: what is wrong with them is only said."""
    if not folder.golden_file.exists():
        return None
    try:
        return next((query for query in folder.golden().queries if query.query == question), None)
    except ConfigError as error:
        say(f"note: results are shown without labels: {error}", style="yellow")
        return None


def _plain_labels(labels: "GoldenQuery | None") -> dict[str, list[str]] | None:
    return None if labels is None else {"relevant": labels.relevant, "distractors": labels.distractors}


def _show_head(config: "RetrievalConfig", result: "QueryResult") -> None:
    way = result.method if result.fusion == "none" else f"{result.method}, {result.fusion}"
    weight = f", {result.semantic_weight:.2f} by meaning" if result.fusion == "linear" else ""
    let_through = f" of {result.filtered_to} the filters let through" if result.filtered_to is not None else ""
    show(f"{config.name}: {way}{weight}; {result.scored} chunks scored{let_through}", style="bold")
    if result.anchors:
        show(f"identifiers: {', '.join(result.anchors)}")
    for note in result.notes:
        say(f"note: {note}", style="yellow")


def _show_result(result: "Result", labels: "GoldenQuery | None", *, is_whole: bool) -> None:
    label, style = _label(result, labels)
    heading = f" › {result.heading}" if result.heading else ""
    show_indented(f"{result.document}{heading}{label}", lead=f"{result.rank:>3}.", style=style)
    show_indented(_scores(result), style="cyan")
    show_indented(result.text if is_whole else _preview(result), style="dim")


def _label(result: "Result", labels: "GoldenQuery | None") -> tuple[str, str]:
    if labels is not None and result.document in labels.relevant:
        return "  [relevant]", "green"
    if labels is not None and result.document in labels.distractors:
        return "  [distractor]", "red"
    return "", "bold"


def _scores(result: "Result") -> str:
    parts = [f"score {result.score:.4f}", f"keyword {result.keyword:.2f}{_place(result.keyword_rank)}"]
    if result.vector is not None:
        parts.append(f"cosine {result.vector:.3f}{_place(result.vector_rank)}")
    if result.exact:
        parts.append(f"identifiers named {result.exact:.2f}")
    if result.disagreement is not None:
        parts.append(f"distraction {result.disagreement:.2f}")
    return " · ".join((*parts, *result.flags))


def _place(rank: int | None) -> str:
    return " (not found)" if rank is None else f" (rank {rank})"


def _preview(result: "Result") -> str:
    lines = result.text.splitlines()
    # Headings stand above it already.
    body = dropwhile(lambda line: line.startswith("#") or not line.strip(), lines)
    line = " ".join(" ".join(body).split())
    return line if len(line) <= _PREVIEW_CHARACTERS else line[:_PREVIEW_CHARACTERS].rsplit(" ", 1)[0] + " …"


def _show_foot(result: "QueryResult") -> None:
    if not result.results:
        show("Nothing was found.")
    taken_out = [f"{result.duplicates} duplicates"] if result.duplicates else []
    taken_out += [f"{len(result.dropped)} distractions ({', '.join(result.dropped)})"] if result.dropped else []
    show(f"{len(result.results)} results: {result.why_cut}" + (f"; taken out: {', '.join(taken_out)}" if taken_out else ""))
