"""Common parts of `hive-mind retrieval`: which workspace and configuration are meant, and where it is measured."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind.cli.options import settings_for
from hive_mind.cli.output import progress, say
from hive_mind.errors import ConfigError, InvalidInput
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_embedder

if TYPE_CHECKING:
    from hive_mind.embed.base import Embedder
    from hive_mind.retrieval.files.configuration import Golden, RetrievalConfig
    from hive_mind.retrieval.files.workspace import Workspace
    from hive_mind.retrieval.indexing.index import CollectionIndex
    from hive_mind.retrieval.indexing.updating import Indexed
    from hive_mind.retrieval.measuring.evaluation import Bench

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
NamedConfig = Annotated[str, typer.Argument(metavar="CONFIG", help="A configuration.", autocompletion=config_names)]


def folder_of(workspace: Path | None) -> Path:
    """Where the workspace is, which need not exist."""
    return Path(workspace) if workspace is not None else Settings.from_environment().home / _FOLDER


def opened(workspace: Path | None) -> "Workspace":
    """The workspace that is meant. Raises `InvalidInput` if there is no workspace."""
    from hive_mind.retrieval.files.workspace import Workspace

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
    if config or workspace.has_active or len(workspace.configs()) != 1:
        return _active(workspace)
    return workspace.config(workspace.configs()[0])


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
    counts = (
        (indexed.added, "added"),
        (indexed.changed, "changed"),
        (indexed.removed, "removed"),
        (indexed.unchanged, "unchanged"),
    )
    parts = [f"{count} {noun}" for count, noun in counts if count]
    embedded = f", {indexed.embedded} texts embedded" if indexed.embedded else ""
    return f"documents {', '.join(parts) or 'none'}; {indexed.chunks} chunks{embedded}"


def _active(workspace: "Workspace") -> "RetrievalConfig":
    active = workspace.active()
    if active is None:
        names = ", ".join(workspace.configs()) or "none yet"
        raise InvalidInput(f"no configuration is active in {workspace.root}: name one; there are {names}")
    return active
