"""`hive-mind retrieval index|query`: what a configuration finds, and why: each arm's score, flags, where it was cut.

Before them what all commands of `retrieval` need: which workspace and configuration are meant, and where it is measured.
"""

import asyncio
import shlex
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from itertools import dropwhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.options import Format, Group, settings_for
from hive_mind.cli.output import plain, printable, progress, say, show, show_indented, show_json
from hive_mind.cli.running import Stopped
from hive_mind.errors import ConfigError, InvalidInput
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_embedder

if TYPE_CHECKING:
    from hive_mind.embed import Embedder
    from hive_mind.retrieval import Golden, GoldenQuery, RetrievalConfig
    from hive_mind.retrieval.index import CollectionIndex
    from hive_mind.retrieval.measuring.evaluation import Bench
    from hive_mind.retrieval.searching import QueryResult, Result
    from hive_mind.retrieval.updating import Indexed
    from hive_mind.retrieval.workspace import Workspace


_FOLDER = "retrieval"
# The name of the configuration that is in use; no configuration can be called so.
ACTIVE = "active"
_FILE_SUFFIX = ".json"


def config_names(context: typer.Context, incomplete: str) -> list[str]:
    """For the shell: configurations of the workspace."""
    folder = folder_of(context.params.get("workspace"))
    names = (path.stem for path in (folder / "configs").glob("*.json"))
    return sorted(name for name in names if name != ACTIVE and name.startswith(incomplete))


Folder = Annotated[
    Path | None,
    typer.Option("--workspace", "-w", metavar="DIR", help="Folder of the files.", show_default="HIVE_MIND_HOME/retrieval"),
]
Config = Annotated[
    str,
    typer.Argument(metavar="CONFIG", help="A configuration.", show_default="the active one", autocompletion=config_names),
]


def folder_of(workspace: Path | None) -> Path:
    """Where the workspace is, which need not exist."""
    return Path(workspace) if workspace is not None else Settings.from_environment().home / _FOLDER


def option(workspace: Path | None) -> str:
    """The option behind a command that is to be typed next, for the same workspace."""
    return "" if workspace is None else f" -w {shlex.quote(str(workspace))}"


def opened(workspace: Path | None) -> "Workspace":
    """The workspace that is meant. Raises `InvalidInput` if there is no workspace."""
    from hive_mind.retrieval.workspace import Workspace

    return Workspace.open(folder_of(workspace))


def name_of(config: str) -> str:
    """The name of a configuration that may have been given as its file."""
    return Path(config).stem if config.endswith(_FILE_SUFFIX) else config


def known(workspace: "Workspace", config: str) -> str:
    """The name of a configuration of the workspace. Raises `InvalidInput` if there is no configuration."""
    return workspace.existing(workspace.config_file(name_of(config))).stem


def config_of(workspace: "Workspace", config: str) -> "RetrievalConfig":
    """The configuration that is meant: by its name, else the active one, else the only one there is. Raises `ConfigError`."""
    if config and name_of(config) != ACTIVE:
        return workspace.config(known(workspace, config))
    names = workspace.configs()
    if not config and not workspace.has_active and len(names) == 1:
        return workspace.config(names[0])
    if (active := workspace.active()) is None:
        there = ", ".join(names) or "none yet"
        raise InvalidInput(f"no configuration is active in {workspace.root}: name one; there are {there}")
    return active


def readable(workspace: "Workspace", names: Iterable[str]) -> "list[RetrievalConfig]":
    """Those of the configurations that can be read: the faults of others are reported where they are judged."""
    files_checked = []
    for name in names:
        with suppress(ConfigError):
            files_checked.append(config_of(workspace, name))
    return files_checked


def usable(workspace: "Workspace", config: "RetrievalConfig") -> "RetrievalConfig":
    """The same configuration. Raises `WorkspaceError` with all that is wrong with its file; what is only odd is said.

    Whether there are embeddings is not asked here: a search that has to do without says so.
    """
    from hive_mind.retrieval.validation import check_config

    if config not in readable(workspace, [config.name]):
        # A configuration edited since its deployment was checked when it was deployed.
        return config
    checked = check_config(workspace, config.name, has_embeddings=True)
    for finding in checked.findings:
        if finding.level == "warning":
            say(f"note: {checked.file.name}:{finding.line}: {finding.path}: {finding.message}", style="yellow")
    return checked.accepted()


def golden_of(workspace: "Workspace", config: "RetrievalConfig") -> "Golden":
    """The golden set for the collection of a configuration. Raises `ConfigError` with all that is wrong with it."""
    from hive_mind.retrieval.validation import check_golden

    if not workspace.golden_file.exists():
        raise InvalidInput(
            f"golden set {workspace.golden_file} is missing: write questions with the documents that answer them; see describe"
        )
    return check_golden(workspace, workspace.collection(config.collection)).accepted()


async def has_embeddings(embed: str | None, model: str | None) -> bool:
    async with embedding(settings_for(None, embed, model)) as (_, embedder):
        return embedder.dimension > 0


def settings_of(configs: Iterable["RetrievalConfig"], embed: str | None, model: str | None) -> Settings:
    """The settings; without a model where no configuration looks at meaning, as loading one takes seconds."""
    settings = settings_for(None, embed, model)
    needs_meaning = any(config.retrieval.method != "keyword" for config in configs)
    return settings if needs_meaning or embed else replace(settings, embed="none")


@asynccontextmanager
async def bench_for(
    workspace: "Workspace", configs: Iterable["RetrievalConfig"], embed: str | None, model: str | None
) -> AsyncIterator["Bench"]:
    """Where these configurations are measured, on the documents as they are now, with a bar as long as it takes."""
    from hive_mind.retrieval.measuring.evaluation import bench_of

    async with embedding(settings_of(configs, embed, model)) as (settings, embedder):
        with progress("") as report:
            yield bench_of(workspace, settings, embedder, lambda phase, done, total: report(done, total, phase))


@asynccontextmanager
async def quiet_bench(workspace: "Workspace", collection: str, embed: str | None, model: str | None) -> AsyncIterator["Bench"]:
    """The same for one collection and any configuration, without a bar once the collection is indexed."""
    from hive_mind.retrieval.measuring.evaluation import bench_of

    async with embedding(settings_for(None, embed, model)) as (settings, embedder):
        with progress("") as report:
            loud = bench_of(workspace, settings, embedder, lambda phase, done, total: report(done, total, phase))
            async with loud.open(collection):
                pass
        yield bench_of(workspace, settings, embedder)


@asynccontextmanager
async def embedding(settings: Settings) -> "AsyncIterator[tuple[Settings, Embedder]]":
    embedder = await open_embedder(settings)
    try:
        yield settings, embedder
    finally:
        await embedder.close()


async def updated(index: "CollectionIndex") -> "Indexed":
    with progress("") as report:
        indexed = await index.update(lambda phase, so_far, total: report(so_far, total, phase))
    for note in indexed.notes:
        say(f"note: {note}", style="yellow")
    for skipped in indexed.skipped:
        say(f"note: {skipped.id} is left out: it {skipped.why}", style="yellow")
    return indexed


def index_summary(indexed: "Indexed") -> str:
    nouns = ("added", "changed", "removed", "unchanged")
    parts = [f"{count} {noun}" for noun in nouns if (count := getattr(indexed, noun))]
    embedded = f", {indexed.embedded} texts embedded" if indexed.embedded else ""
    return f"documents {', '.join(parts) or 'none'}; {indexed.chunks} chunks{embedded}"


group = Group()


@group.called_as("hive-mind retrieval index", "hive-mind retrieval index handbook --embed none")
async def index(
    collection: Annotated[str, typer.Argument(metavar="COLLECTION", help="Which one.", show_default="all of them")] = "",
    workspace: Folder = None,
    embed: options.Embed = None,
    model: options.Model = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Index the documents: only what changed since the last time, and only texts that are new are embedded.

    It may be stopped at any moment: searches go on with the index as it was. Other commands index by themselves.
    """
    from hive_mind.retrieval.index import open_index
    from hive_mind.retrieval.updating import Indexed

    folder, rows = opened(workspace), list[tuple[str, int, float, Indexed]]()
    try:
        async with embedding(settings_for(None, embed, model)) as (settings, embedder):
            for name in (collection,) if collection else folder.collections():
                async with await open_index(folder, name, settings, embedder) as collection_index:
                    began = time.monotonic()
                    indexed = await updated(collection_index)
                    rows.append((name, collection_index.counts()[0], time.monotonic() - began, indexed))
    except asyncio.CancelledError:
        raise Stopped("stopped; the index is as it was, and what was embedded is kept: run it again to go on") from None
    if output is Format.JSON:
        show_json(
            [
                {"collection": name, "documents": count, "seconds": round(seconds, 3), **plain(indexed)}
                for name, count, seconds, indexed in rows
            ]
        )
        return
    for name, _, seconds, indexed in rows:
        show(f"collection {name}: {index_summary(indexed)} ({seconds:.2f} s)")


_PREVIEW_CHARACTERS = 160

ConfigOption = Annotated[
    str,
    typer.Option(
        "--config", "-c", metavar="NAME", help="A configuration.", show_default="the active one",
        autocompletion=config_names,
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
    workspace: Folder = None,
    embed: options.Embed = None,
    model: options.Model = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Search, and show how the results came about.

    Scores of both arms with the place in each, what distraction detection flagged, how many chunks were scored, and where
    dynamic-k cut and why. A question of the golden set also shows its labels.
    """
    folder = opened(workspace)
    chosen = usable(folder, config_of(folder, config))
    async with bench_for(folder, [chosen], embed, model) as bench, bench.open(chosen.collection) as index:
        query_result = await index.search(printable(question), chosen)
    labels = _labels(folder, question)
    if output is Format.JSON:
        marks = labels and {"relevant": labels.relevant, "distractors": labels.distractors}
        show_json({"config": chosen.name} | plain(query_result) | {"labels": marks})
        return
    way = query_result.method if query_result.fusion == "none" else f"{query_result.method}, {query_result.fusion}"
    weight = f", {query_result.semantic_weight:.2f} by meaning" if query_result.fusion == "linear" else ""
    let_through = f" of {query_result.filtered_to} the filters let through" if query_result.filtered_to is not None else ""
    show(f"{chosen.name}: {way}{weight}; {query_result.scored} chunks scored{let_through}", style="bold")
    if query_result.anchors:
        show(f"identifiers: {', '.join(query_result.anchors)}")
    for note in query_result.notes:
        say(f"note: {note}", style="yellow")
    for hit in query_result.results:
        label, style = _label(hit, labels)
        heading = f" › {hit.heading}" if hit.heading else ""
        show_indented(f"{hit.document}{heading}{label}", lead=f"{hit.rank:>3}.", style=style)
        show_indented(_scores(hit), style="cyan")
        show_indented(hit.text if whole else _preview(hit), style="dim")
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
