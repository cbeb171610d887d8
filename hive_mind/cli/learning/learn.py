"""`hive-mind learn`: take in files, folders or standard input, once or for as long as it runs."""

from collections.abc import Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Annotated, Any

import typer

from hive_mind.cli.asking.asked import AnsweringAgent, asked_agent
from hive_mind.cli.fleet.agents import AnyEmbeddingAgent
from hive_mind.cli.learning.files import passed_over
from hive_mind.cli.learning.learn_shown import show_learned
from hive_mind.cli.learning.learners import Learner
from hive_mind.cli.learning.pieces import Piece, Tally, learn_all, pieces_of, withdraw
from hive_mind.cli.learning.watching import gone_from, print_gone
from hive_mind.cli.options import Format, Group, iso_time
from hive_mind.cli.output import progress, say, show_json, shown_source
from hive_mind.cli.running import FAILED
from hive_mind.errors import InvalidInput

Paths = Annotated[
    list[str], typer.Argument(help="Files, folders (their texts and documents), or - for standard input.", metavar="PATH")
]
Source = Annotated[str, typer.Option(help="The source that vouches for it.", show_default="the file's path")]
Replace = Annotated[
    bool | None,
    typer.Option(
        "--replace/--no-replace",
        help="Make former what a source no longer says; of a folder, also what deleted files said.",
        show_default="for files that are there, without --source",
    ),
]
Watch = Annotated[
    bool, typer.Option("--watch", help="Watch folders until Ctrl-C, and follow edited, new, renamed and removed files.")
]
Explain = Annotated[bool, typer.Option("--explain", help="Show line by line what was kept, and what was left out and why.")]
SaidAt = Annotated[str, typer.Option(help="When it was said or written: 2025, 2025-03, 2025-03-10 or 2025-03-10T09:30.")]


_NAMED_MAX = 20


group = Group()


@group.called_as(
    "hive-mind learn notes/ report.pdf",
    "hive-mind learn notes/ --watch",
    "hive-mind learn call.txt --said-at 2025-03-10",
    "pbpaste | hive-mind learn - --source 'call with Ana'",
)
def learn(
    paths: Paths,
    source: Source = "",
    said_at: SaidAt = "",
    replace: Replace = None,
    explain: Explain = False,
    watch: Watch = False,
    *,
    at: AnyEmbeddingAgent,
) -> Coroutine[Any, Any, None]:
    """Learn from files, folders or standard input.

    Learning the same file again adds nothing; statements that an edited file no longer makes become former. Unreadable files are
    named and skipped, and the exit code is then 1. Where a fleet runs in the home folder, one of its agents learns, and shares it
    with the others.
    """
    settings = at.settings()
    if watch:
        if source or said_at or explain or replace is False or at.output is Format.JSON:
            raise InvalidInput("--watch stands with folders, --agent, --fleet and --replace alone")
        from hive_mind.cli.learning.watching import watch_folders

        return watch_folders(settings, [Path(path) for path in paths], at.agent, at.fleet)
    pieces = pieces_of(paths, source, iso_time(said_at), is_whole=replace)
    tally = Tally(explain, [{"file": str(file), "reason": why} for file, why in passed_over(paths).items()])
    folders = [Path(path) for path in paths if replace is not False and Path(path).is_dir()]
    learning = asked_agent(settings, at.fleet, at.agent, may_begin=True, is_writing=True)
    return _learn(pieces, tally, learning, folders, at.output, is_replacing=bool(replace))


async def _learn(
    pieces: Sequence[Piece],
    tally: Tally,
    learning: AbstractAsyncContextManager[AnsweringAgent],
    folders: Sequence[Path],
    output: Format,
    *,
    is_replacing: bool,
) -> None:
    if tally.passed_over:
        say(_passed_over(tally.passed_over), style="yellow")
    async with learning as agent:
        learner = Learner(agent)
        with progress("files") as report:
            await learn_all(learner, pieces, tally, report)
        sources_gone = await gone_from(learner, folders, {piece.source for piece in pieces})
        if not is_replacing:
            print_gone(sources_gone)
        else:
            for source in sources_gone:
                await withdraw(learner, source, tally)
    _print_tally(tally, agent.name, output)
    if tally.skipped:
        raise typer.Exit(FAILED)


def _passed_over(files: Sequence[Mapping[str, str]]) -> str:
    rest = len(files) - _NAMED_MAX
    names = ", ".join(f"{shown_source(file['file'])} ({file['reason']})" for file in files[:_NAMED_MAX])
    return f"left out (name a file to learn it all the same): {names}" + (f" and {rest} more" if rest > 0 else "")


def _print_tally(tally: Tally, agent: str, output: Format) -> None:
    if output is Format.JSON:
        show_json(
            {"agent": agent, "added": tally.added, "confirmed": tally.confirmed, "former": tally.former}
            | {"files": tally.learned, "skipped": tally.skipped, "passed_over": tally.passed_over}
            | {"withdrawn": tally.withdrawn}
        )
        return
    show_learned(tally.learned)
    if tally.skipped:
        say(f"{len(tally.skipped)} skipped, see above")
