"""`hive-mind retrieval query`: what a configuration finds, and why: each arm's score, what was flagged, where it was cut."""

from itertools import dropwhile
from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.options import Format, examples
from hive_mind.cli.output import plain, printable, say, show, show_indented, show_json
from hive_mind.cli.retrieval import workspaces
from hive_mind.cli.running import command
from hive_mind.errors import ConfigError

if TYPE_CHECKING:
    from hive_mind.retrieval.files.collection import GoldenQuery
    from hive_mind.retrieval.files.configuration import RetrievalConfig
    from hive_mind.retrieval.files.workspace import Workspace
    from hive_mind.retrieval.indexing.searching import QueryResult, Result

_EPILOG = examples(
    'hive-mind retrieval query "How do I renew a token?"',
    'hive-mind retrieval query "crane_conflict" --config v1-naive',
    'hive-mind retrieval query "How do I renew a token?" -o json',
)
_PREVIEW_CHARACTERS = 160

QuestionText = Annotated[str, typer.Argument(metavar="QUESTION", help="In your own words, in quotation marks.")]
ConfigOption = Annotated[
    str,
    typer.Option(
        "--config", "-c", metavar="NAME", help="A configuration.", show_default="the active one",
        autocompletion=workspaces.config_names,
    ),
]  # fmt: skip
Whole = Annotated[bool, typer.Option("--whole", help="Show the whole text of each result.")]


group = typer.Typer()


@group.command(epilog=_EPILOG)
@command
async def query(
    question: QuestionText,
    config: ConfigOption = "",
    whole: Whole = False,
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
        found = await index.search(printable(question), chosen)
    labels = _labels(folder, question)
    if output is Format.JSON:
        show_json({"config": chosen.name} | plain(found) | {"labels": _plain_labels(labels)})
        return
    _show_head(chosen, found)
    for one in found.results:
        _show_result(one, labels, whole=whole)
    _show_foot(found)


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


def _show_head(config: "RetrievalConfig", found: "QueryResult") -> None:
    how = found.method if found.fusion == "none" else f"{found.method}, {found.fusion}"
    weight = f", {found.semantic_weight:.2f} by meaning" if found.fusion == "linear" else ""
    let_through = f" of {found.filtered_to} the filters let through" if found.filtered_to is not None else ""
    show(f"{config.name}: {how}{weight}; {found.scored} chunks scored{let_through}", style="bold")
    if found.anchors:
        show(f"identifiers: {', '.join(found.anchors)}")
    for note in found.notes:
        say(f"note: {note}", style="yellow")


def _show_result(one: "Result", labels: "GoldenQuery | None", *, whole: bool) -> None:
    label, style = _label(one, labels)
    heading = f" › {one.heading}" if one.heading else ""
    show_indented(f"{one.document}{heading}{label}", lead=f"{one.rank:>3}.", style=style)
    show_indented(_scores(one), style="cyan")
    show_indented(one.text if whole else _preview(one), style="dim")


def _label(one: "Result", labels: "GoldenQuery | None") -> tuple[str, str]:
    if labels is not None and one.document in labels.relevant:
        return "  [relevant]", "green"
    if labels is not None and one.document in labels.distractors:
        return "  [distractor]", "red"
    return "", "bold"


def _scores(one: "Result") -> str:
    parts = [f"score {one.score:.4f}", f"keyword {one.keyword:.2f}{_place(one.keyword_rank)}"]
    if one.vector is not None:
        parts.append(f"cosine {one.vector:.3f}{_place(one.vector_rank)}")
    if one.exact:
        parts.append(f"identifiers named {one.exact:.2f}")
    if one.disagreement is not None:
        parts.append(f"distraction {one.disagreement:.2f}")
    return " · ".join((*parts, *one.flags))


def _place(rank: int | None) -> str:
    return " (not found)" if rank is None else f" (rank {rank})"


def _preview(one: "Result") -> str:
    lines = one.text.splitlines()
    # Headings stand above it already.
    body = dropwhile(lambda line: line.startswith("#") or not line.strip(), lines)
    line = " ".join(" ".join(body).split())
    return line if len(line) <= _PREVIEW_CHARACTERS else line[:_PREVIEW_CHARACTERS].rsplit(" ", 1)[0] + " …"


def _show_foot(found: "QueryResult") -> None:
    if not found.results:
        show("Nothing was found.")
    taken_out = [f"{found.duplicates} duplicates"] if found.duplicates else []
    taken_out += [f"{len(found.dropped)} distractions ({', '.join(found.dropped)})"] if found.dropped else []
    show(f"{len(found.results)} results: {found.why_cut}" + (f"; taken out: {', '.join(taken_out)}" if taken_out else ""))
