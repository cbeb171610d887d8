"""The common options of commands: which agent, which folder, which embedding model, which form of output."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from stat import S_ISDIR
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hive_mind.cli.output import Format as Format
from hive_mind.cli.output import say
from hive_mind.cli.running import Work, command
from hive_mind.counted import IN_A_LINE, first_of
from hive_mind.errors import InvalidInput, reason_of
from hive_mind.model.bounds import LIMIT_MAX, OF_A_LIST
from hive_mind.regex import regex
from hive_mind.runtime.settings import LOCK_WAIT_S, Settings, is_kept, kept_agents, refuse_unwritable_name
from hive_mind.runtime.worker_http import SILENCE_S

if TYPE_CHECKING:
    from hive_mind.ranking.pipeline import RankingSettings


class SearchMethod(StrEnum):
    """How facts are found."""

    KEYWORD = "keyword"
    VECTOR = "vector"
    HYBRID = "hybrid"


Output = Annotated[Format, typer.Option("--output", "-o", help="text for people, json for programs.")]
Agent = Annotated[str, typer.Option("--agent", "-a", help="The agent; each has a database of its own.")]
Home = Annotated[
    Path | None,
    typer.Option("--home", help="Folder that holds all agents.", show_default="HIVE_MIND_HOME, or .hive"),
]
Embed = Annotated[
    str | None,
    typer.Option(
        "--embed", help="none, sentence_transformers or openai.", show_default="HIVE_MIND_EMBED, or sentence_transformers"
    ),
]
Model = Annotated[
    str | None,
    typer.Option("--model", help="Embedding model: its name or its folder.", show_default="HIVE_MIND_EMBED_MODEL"),
]
Method = Annotated[SearchMethod, typer.Option("--method", help="How facts are found; hybrid uses both others.")]
Timeout = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=1,
        help="How long the agent's process may say nothing. While it works it says so, however long that takes.",
        show_default=f"HIVE_MIND_TIMEOUT_S, or {SILENCE_S:g}",
    ),
]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=LIMIT_MAX, help="At most this many.")]
OfAList = Annotated[
    int, typer.Option("--limit", "-n", min=OF_A_LIST.least, max=OF_A_LIST.most, help="At most this many; 0: all.")
]
AsOf = Annotated[str, typer.Option("--as-of", metavar="TIME", help="The facts held true then: a day or a time, ISO 8601.")]

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Force = Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")]

DEFAULT_AGENT = "default"


@dataclass(frozen=True, slots=True)
class OwnAgent:
    """An agent whose record is opened here, and in which form the result is printed."""

    agent: Agent = DEFAULT_AGENT
    home: Home = None
    output: Output = Format.TEXT

    def settings(self) -> Settings:
        """See `settings_for`; without a model, for what embeds nothing."""
        return settings_for(self.home, embed="none")


@dataclass(frozen=True, slots=True)
class EmbeddingAgent(OwnAgent):
    """The same, with the model that embeds for it."""

    embed: Embed = None
    model: Model = None

    def settings(self) -> Settings:
        return settings_for(self.home, self.embed, self.model)


_ISO = regex(r"\d{4}(-\d{2}(-\d{2}(T\d{2}:\d{2}(:\d{2})?(Z|[+-]\d{2}:?\d{2})?)?)?)?")


def settings_for(
    home: Path | None = None,
    embed: str | None = None,
    model: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """The settings of the environment with what the command line says instead. Raises `InvalidInput`."""
    settings = Settings.from_environment(environment)
    home = home or settings.home
    # A file where the folder is to be would otherwise look like an agent that has learned nothing.
    for path in (home, *home.parents):
        try:
            mode = path.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise InvalidInput(f"{home}: {reason_of(error)}: give --home (or HIVE_MIND_HOME) another folder") from error
        if not S_ISDIR(mode):
            raise InvalidInput(f"{path} is a file: give --home (or HIVE_MIND_HOME) a folder, which need not exist yet")
        break
    refuse_unwritable_name(home.absolute(), "rename it, or give --home (or HIVE_MIND_HOME) another folder")
    return replace(
        settings,
        home=home,
        embed=embed or settings.embed,
        embed_model=model or settings.embed_model,
        lock_wait_s=max(settings.lock_wait_s, LOCK_WAIT_S),
    )


def for_reading(settings: Settings, agent: str) -> Settings:
    """The settings to look at an agent with: an unknown one is refused, so that a mistyped name makes no database."""
    if settings.store == "memory" or is_kept(settings, agent):
        return settings
    say(f"note: {_unknown(settings, agent)}", style="yellow")
    return replace(settings, store="memory")


def for_copying(settings: Settings, agent: str) -> Settings:
    """The same settings. Raises `InvalidInput` for an agent that does not exist: an empty copy must not replace a good one."""
    if settings.store != "memory" and not is_kept(settings, agent):
        raise InvalidInput(_unknown(settings, agent))
    return settings


def iso_time(text: str) -> str:
    """A time of day, a day, a month or a year in ISO 8601, or "". Raises `InvalidInput` for anything else."""
    if text and not (_ISO.fullmatch(text) and _is_real(text)):
        raise InvalidInput(f"--said-at is a time like 2025, 2025-03, 2025-03-10 or 2025-03-10T09:30, not {text!r}")
    return text


def as_of_field(as_of: str) -> dict[str, str]:
    """A request's field, where a time was given: a process of an earlier version has none."""
    return {"as_of": as_of} if as_of else {}


def refuse_ineffective(subject: str, /, **values: object) -> None:
    """Raises `InvalidInput` where an option is set that `subject` takes no notice of. Options are named with underscores."""
    if ineffective := [name for name, value in values.items() if value not in (None, "", False)]:
        raise InvalidInput(f"--{ineffective[0].replace('_', '-')} has no effect on {subject}: leave it out")


def is_confirmed(to_do: str, question: str) -> bool:
    """Ask the person at the terminal. Raises `InvalidInput` where nobody is there: `--yes` says it then."""
    if not sys.stdin.isatty():
        raise InvalidInput(f"to {to_do} without being asked, add --yes")
    return typer.confirm(question, err=True)


class Group(typer.Typer):
    """Commands of one module, or below one name."""

    def called_as(self, *calls: str, name: str | None = None, **settings: Any) -> Callable[[Work], Callable[..., None]]:
        """Make what follows a command of this group, see `running.command`; its help ends with these calls of it."""

        def registered(work: Work) -> Callable[..., None]:
            return self.command(name, **{"epilog": examples(*calls), **settings})(command(work))

        return registered


def examples(*lines: str) -> str:
    """Example calls as they stand at the end of a command's help."""
    return "\n".join(("Examples:", *(f"  {line}" for line in lines)))


def _unknown(settings: Settings, agent: str) -> str:
    names = kept_agents(settings)
    there = f"; --agent chooses one that has: {first_of(names, IN_A_LINE)}" if names else ""
    return f"agent {agent!r} has learned nothing yet in {settings.home}: hive-mind learn PATH --agent {agent}{there}"


def _is_real(text: str) -> bool:
    """Whether the calendar has such a day."""
    try:
        datetime.fromisoformat(text + "0001-01-01"[len(text) :] if len(text) < len("0001-01-01") else text)
    except ValueError:
        return False
    return True


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
    from hive_mind.retrieval.workspace import beyond_a_memory, config_in, ranking_settings

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
