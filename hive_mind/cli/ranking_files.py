"""`--config FILE` of commands that search a memory: the same file that a retrieval workspace measures and deploys."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind.cli.output import say

if TYPE_CHECKING:
    from hive_mind.ranking.pipeline import RankingSettings

ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE", help="A retrieval configuration that says how to search; other options override it."
    ),
]


@dataclass(frozen=True, slots=True)
class Ways:
    """How to search. Without a `ranking`, as the memory does by itself."""

    method: str
    limit: int
    ranking: "RankingSettings | None" = None


def ways_of(context: typer.Context, file: Path | None, method: str, limit: int) -> Ways:
    """The ranking of a file, with what the command line sets instead. Raises `WorkspaceError` with all that is wrong with it.

    Parts of it that a memory can't do are named; it is about documents, and no reason to refuse the rest.
    """
    if file is None:
        return Ways(method, limit)
    from hive_mind.retrieval.files.changing import beyond_a_memory, config_in, ranking_settings

    config = config_in(file)
    for clause in beyond_a_memory(config):
        say(f"note: {file} has no effect here in {clause}", style="yellow")
    return Ways(
        method if _is_given(context, "method") else config.retrieval.method,
        limit if _is_given(context, "limit") else config.retrieval.top_k,
        ranking_settings(config),
    )


def _is_given(context: typer.Context, option: str) -> bool:
    """Whether the command line says it, rather than a default."""
    source = context.get_parameter_source(option)
    return source is not None and source.name == "COMMANDLINE"
