"""`hive-mind learn`: take in files, folders or standard input, each file whole before the next one starts."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from hive_mind.agents.learning import Progress
from hive_mind.cli import options
from hive_mind.cli.fleet.agents import Agent, Fleet, fleet_agent
from hive_mind.cli.learning.files import STDIN, files_of, passed_over, stdin_text
from hive_mind.cli.learning.learn_shown import show_learned
from hive_mind.cli.learning.learners import LearnedFigures, Learner, RemoteLearner
from hive_mind.cli.options import DEFAULT_AGENT, Format, examples, iso_time, settings_for
from hive_mind.cli.output import Report, printable, progress, say, show_json, shown_source
from hive_mind.cli.running import FAILED, Stopped, command
from hive_mind.counted import counted
from hive_mind.errors import HiveError, InvalidInput
from hive_mind.model.content import Content
from hive_mind.model.fact import Fact
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.texts.document import Document, Unreadable
from hive_mind.runtime.texts.text_files import read_document
from hive_mind.runtime.wiring import open_agent

_EPILOG = examples(
    "hive-mind learn notes/ minutes.md",
    "hive-mind learn call.txt --said-at 2025-03-10",
    "pbpaste | hive-mind learn - --source 'call with Ana'",
)

Paths = Annotated[list[str], typer.Argument(help="Files, folders (their text files), or - for standard input.", metavar="PATH")]
Source = Annotated[str, typer.Option(help="Who or what vouches for it.", show_default="the file's path")]
Replace = Annotated[
    bool | None,
    typer.Option(
        "--replace/--no-replace",
        help="Whether what the source said before and says no longer becomes former.",
        show_default="for files without --source",
    ),
]
Explain = Annotated[bool, typer.Option("--explain", help="Show line by line what was kept, and what was left out and why.")]
SaidAt = Annotated[str, typer.Option(help="When it was said or written: 2025, 2025-03, 2025-03-10 or 2025-03-10T09:30.")]


_NAMED_MAX = 20
# Reading so much takes a second or so.
_LARGE_CHARS = 1_000_000


@dataclass(frozen=True, slots=True)
class Piece:
    """Something to learn: how it is called, its source, when it was said, and how to get its text, or why there is none.

    `read` may take minutes. `is_whole`: it is all that its source says now.
    """

    name: str
    source: str
    said_at: str
    read: Callable[[], Document | Unreadable]
    is_whole: bool = False


@dataclass(slots=True)
class Tally:
    """What was done so far. `is_explained`: line by line. `passed_over`: files that a folder does not give, and why."""

    is_explained: bool = False
    passed_over: list[dict[str, str]] = field(default_factory=list)
    learned: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[dict[str, str]] = field(default_factory=list)
    added: int = 0
    confirmed: int = 0
    former: int = 0


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=_EPILOG)(learn)


@command
def learn(
    paths: Paths,
    source: Source = "",
    said_at: SaidAt = "",
    replace: Replace = None,
    explain: Explain = False,
    agent: Agent = "",
    fleet: Fleet = "",
    home: options.Home = None,
    embed: options.Embed = None,
    model: options.Model = None,
    output: options.Output = Format.TEXT,
) -> Coroutine[Any, Any, None]:
    """Learn from files, folders or standard input.

    Learning the same file again adds nothing; what an edited one says no longer is kept as former. What can't be read is named
    and skipped, and the exit code is then 1. Where a fleet runs in the home folder, one of its agents learns, and shares it with
    the others.
    """
    pieces = pieces_of(paths, source, iso_time(said_at), is_whole=replace)
    tally = Tally(explain, [{"file": str(file), "reason": why} for file, why in passed_over(paths).items()])
    return _learn(pieces, settings_for(home, embed, model), agent, fleet, output, tally)


def pieces_of(paths: Sequence[str], source: str, said_at: str, *, is_whole: bool | None = None) -> list[Piece]:
    """What to learn. Files are read when their turn comes, standard input at once. Raises `InvalidInput`.

    `is_whole` None: a file is all that its path says; what has a source of another name is one more thing that source says.
    """
    if STDIN not in paths:
        files = files_of(paths)
        if is_whole and source and len(files) > 1:
            raise InvalidInput("--replace with --source is for one file: each of several would replace the one before it")
        # The whole path: the same file must be the same source from wherever it is learned, or it would confirm itself.
        # Not Path.resolve, which ends everything at a link that leads to itself.
        whole = not source if is_whole is None else is_whole
        return [_piece(path, source or os.path.realpath(path), said_at, is_whole=whole) for path in files]
    if len(paths) > 1:
        raise InvalidInput("- is standard input and stands alone: learn files in another call")
    text = stdin_text()
    given = text if isinstance(text, Unreadable) else Document(text)
    return [Piece(STDIN, printable(source) or "stdin", said_at, lambda: given, bool(is_whole))]


def _piece(path: Path, source: str, said_at: str, *, is_whole: bool) -> Piece:
    # A file's name may hold bytes that are no text; what is kept and shown is text.
    return Piece(printable(str(path)), printable(source), said_at, partial(read_document, path), is_whole)


async def _learn(pieces: Sequence[Piece], settings: Settings, agent: str, fleet: str, output: Format, tally: Tally) -> None:
    if tally.passed_over:
        say(_passed_over(tally.passed_over), style="yellow")
    async with _learner(settings, agent, fleet) as (name, learner):
        with progress("files") as report:
            await learn_all(learner, pieces, tally, report)
    _tell(tally, name, output)
    if tally.skipped:
        raise typer.Exit(FAILED)


@asynccontextmanager
async def _learner(settings: Settings, agent: str, fleet: str) -> AsyncIterator[tuple[str, Learner]]:
    """Who learns, and its name: an agent of a fleet that runs, or the one whose database is here."""
    async with fleet_agent(settings.home, fleet, agent) as running:
        if running is not None:
            yield running.name, RemoteLearner(running)
            return
    async with await open_agent(settings, agent or DEFAULT_AGENT) as learner:
        yield agent or DEFAULT_AGENT, learner


async def learn_all(learner: Learner, pieces: Sequence[Piece], tally: Tally, report: Report) -> None:
    """Learn one piece after the other. Raises `Stopped`, saying how far it came, when it is cancelled."""
    far = ""

    def tell(done: int, total: int) -> None:
        nonlocal far
        percent = 100 * done // max(total, 1)
        far = f"{percent} % of {shown_source(piece.name)}" if percent else ""
        report(number + done / max(total, 1), len(pieces), f"{shown_source(piece.name)} {percent:2} %")

    try:
        for number, piece in enumerate(pieces):
            report(number, len(pieces), shown_source(piece.name))
            await _learn_one(learner, piece, tally, tell)
            far = ""
            # A place to stop, also for what needs no waiting.
            await asyncio.sleep(0)
    except HiveError:
        if len(pieces) > 1:
            say(f"failed at {shown_source(piece.name)}; {len(tally.learned)} of {len(pieces)} files learned before it are kept")
        raise
    except asyncio.CancelledError:
        done, part = len(tally.learned), f" and {far}" if far else ""
        what = f"{done} of {counted(len(pieces), 'file')}{part} learned"
        raise Stopped(f"stopped; {what}, nothing lost: run it again to go on") from None


async def _learn_one(learner: Learner, piece: Piece, tally: Tally, tell: Progress) -> None:
    document = await asyncio.to_thread(piece.read)
    if isinstance(document, Unreadable):
        tally.skipped.append({"file": piece.name, "reason": document.reason})
        say(f"skipped: {shown_source(piece.name)} {document.reason}", style="yellow")
        return
    text = document.text
    if lost := text.count("\N{REPLACEMENT CHARACTER}"):
        say(f"note: {shown_source(piece.name)}: {lost} characters are not UTF-8 and are lost; save it as UTF-8", "yellow")
    if len(text) >= _LARGE_CHARS:
        # Read whole before the first of it is stored: nothing moves for some seconds.
        say(f"{shown_source(piece.name)}: reading {len(text) / 1e6:.1f} million characters", style="dim")
    title = "" if piece.name == STDIN else Path(piece.name).stem
    content = Content(text, piece.source, piece.said_at, title=title, is_whole=piece.is_whole)
    learned = await learner.learn_from_content(content, tell)
    if learned.missing:
        say(f"note: {shown_source(piece.name)}: {learned.missing}; its facts are kept", "yellow")
    tally.added += learned.added
    tally.confirmed += learned.confirmed
    tally.former += learned.former
    tally.learned.append(
        {
            "file": piece.name,
            "source": piece.source,
            "facts": len(learned.facts),
            "added": learned.added,
            "confirmed": learned.confirmed,
            "unsure": learned.skipped,
            "missing": learned.missing,
            "former": learned.former,
            "left_out": {**learned.reasons, **document.left_out},
        }
        | ({"lines": _lines(learned)} if tally.is_explained else {})
    )


def _lines(learned: LearnedFigures) -> list[dict[str, str]]:
    """What became of each stretch of the content, as far as that is known."""
    kept = [{"what": "kept", "text": fact.content} for fact in learned.facts if isinstance(fact, Fact)]
    return [*kept, *({"what": f"left out ({one.reason})", "text": one.text} for one in learned.left_out)]


def _passed_over(files: Sequence[Mapping[str, str]]) -> str:
    more = len(files) - _NAMED_MAX
    shown = ", ".join(f"{shown_source(one['file'])} ({one['reason']})" for one in files[:_NAMED_MAX])
    return f"left out (name a file to learn it all the same): {shown}" + (f" and {more} more" if more > 0 else "")


def _tell(tally: Tally, agent: str, output: Format) -> None:
    if output is Format.JSON:
        show_json(
            {"agent": agent, "added": tally.added, "confirmed": tally.confirmed, "former": tally.former}
            | {"files": tally.learned, "skipped": tally.skipped, "passed_over": tally.passed_over}
        )
        return
    show_learned(tally.learned)
    if tally.skipped:
        say(f"{len(tally.skipped)} skipped, see above")
