"""`hive-mind learn`: take in files, folders or standard input, once or for as long as it runs.

A folder that stays learned: look, learn what changed, withdraw what is gone, and look again. Nothing is kept but in the memory:
notes of what was read, and what each source says. One that is killed at any moment and started again reads what changed
meanwhile. A file is read when it looked the same twice, so not while it is written or replaced. A folder that is not there
changes nothing: it may be on a disk that comes back.
"""

import asyncio
import os
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Annotated, Any

import typer

from hive_mind.cli.asking.asked import AnsweringAgent, AnyEmbeddingAgent, asked_agent
from hive_mind.cli.asking.serve import resident_agent
from hive_mind.cli.learning import learned_below, passed_over, show_learned, source_of
from hive_mind.cli.learning.pieces import Learner, Piece, Tally, learn_all, learn_one, piece_of, pieces_of, withdraw
from hive_mind.cli.options import Format, Group, iso_time
from hive_mind.cli.output import printable, progress, say, show_json, shown_source
from hive_mind.cli.running import FAILED, Stopped
from hive_mind.counted import counted
from hive_mind.errors import BackendError, InvalidInput
from hive_mind.runtime.settings import Settings

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
    paths: Annotated[
        list[str], typer.Argument(help="Files, folders (their texts and documents), or - for standard input.", metavar="PATH")
    ],
    source: Annotated[str, typer.Option(help="The source that vouches for it.", show_default="the file's path")] = "",
    said_at: SaidAt = "",
    replace: Annotated[
        bool | None,
        typer.Option(
            "--replace/--no-replace",
            help="Make former what a source no longer says; of a folder, also what deleted files said.",
            show_default="for files that are there, without --source",
        ),
    ] = None,
    explain: Explain = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Watch folders until Ctrl-C, and follow edited, new, renamed and removed files.")
    ] = False,
    *,
    at: AnyEmbeddingAgent,
) -> Coroutine[Any, Any, None]:
    """Learn from files, folders or standard input.

    Learning the same file again adds nothing; statements that an edited file no longer makes become former. Unreadable files are
    named and skipped, and the exit code is then 1. Where a fleet runs in the home folder, one of its agents learns, and shares it
    with the others.
    """
    settings = at.settings()
    if "" in paths:
        raise InvalidInput("a path is empty, as a variable is that nobody has set: name a file or folder, or . for this folder")
    if watch:
        if source or said_at or explain or replace is False or at.output is Format.JSON:
            raise InvalidInput("--watch stands with folders, --agent, --fleet and --replace alone")

        return watch_folders(settings, [Path(path) for path in paths], at.agent, at.fleet)
    pieces = pieces_of(paths, source, iso_time(said_at), is_whole=replace)
    tally = Tally(explain, [{"file": str(file), "reason": why} for file, why in passed_over(paths).items()])
    folders = [Path(path) for path in paths if replace is not False and Path(path).is_dir()]
    learning = asked_agent(settings, at.fleet, at.agent, may_begin=True, is_writing=True, opening=at.opening())
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
        # Sources of these folders that say something still, though they are gone.
        known = [source for folder in folders for source in await learner.sources(below(folder)) if source.vouches]
        names = {source.source for source in known} - {piece.source for piece in pieces}
        sources_gone = sorted(filter(is_gone, names))
        if is_replacing:
            for source in sources_gone:
                await withdraw(learner, source, tally)
        elif sources_gone:
            files = counted(len(sources_gone), "file that was learned is", "files that were learned are")
            advice = "learn the folder with --replace to make that former"
            say(f"note: {files} gone from there and still vouched for; {advice}", "yellow")
    if output is Format.JSON:
        show_json(
            {"agent": agent.name, "added": tally.added, "confirmed": tally.confirmed, "former": tally.former}
            | {"files": tally.learned, "skipped": tally.skipped, "passed_over": tally.passed_over}
            | {"withdrawn": tally.withdrawn}
        )
    else:
        show_learned(tally.learned)
        if tally.skipped:
            say(f"{len(tally.skipped)} skipped, see above")
    if tally.skipped:
        raise typer.Exit(FAILED)


def _passed_over(files: Sequence[Mapping[str, str]]) -> str:
    rest = len(files) - _NAMED_MAX
    names = ", ".join(f"{shown_source(file['file'])} ({file['reason']})" for file in files[:_NAMED_MAX])
    return f"left out (name a file to learn it all the same): {names}" + (f" and {rest} more" if rest > 0 else "")


@dataclass(frozen=True, slots=True)
class FileSignature:
    """A file as it looked: another one where any of it differs. Times are those of its content and of its name and rights."""

    path: Path
    bytes: int
    modified_ns: int
    changed_ns: int
    inode: int


@dataclass(slots=True)
class FolderWatcher:
    """Keeps folders learned, look by look."""

    folders: Sequence[Path]
    learner: Learner
    handled: dict[str, FileSignature] = field(default_factory=dict)
    """by source, as it looked before it was read last"""
    looked_s: float = 0.0
    """that it took to look, without what was learned then, or waited for in vain"""
    _last: Mapping[str, FileSignature] = field(default_factory=dict)
    _digests: dict[str, str] | None = None
    """of what each source says now, by source; None before the first look"""

    async def look(self) -> bool:
        """Look once, and do what there is to do. Whether all is learned that is there, as far as could be seen."""
        paths = [folder for folder in self.folders if folder.is_dir()]
        began_s = monotonic()
        now = await asyncio.to_thread(look_into, paths)
        self.looked_s = monotonic() - began_s
        digests = await self._known()
        still = [source for source, signature in now.items() if self._last.get(source) == signature != self.handled.get(source)]
        sources = [source for source in digests if self._is_gone(source, paths, now)]
        is_still = now == self._last
        self._last = now
        for source in still:
            await self._learn(source, now[source])
        for source in sources:
            await withdraw(self.learner, source, Tally())
            digests.pop(source, None)
            self.handled.pop(source, None)
        return is_still and len(paths) == len(self.folders)

    async def _known(self) -> dict[str, str]:
        if self._digests is None:
            sources = [source for folder in self.folders for source in await self.learner.sources(below(folder))]
            self._digests = {source.source: source.digest for source in sources if source.vouches or source.digest}
        return self._digests

    async def _learn(self, source: str, signature: FileSignature) -> None:
        digests, tally = await self._known(), Tally()
        digests[source] = await learn_one(
            self.learner, piece_of(signature.path, source), tally, lambda *_: None, digests.get(source, "")
        )
        show_learned(tally.learned)
        self.handled[source] = signature

    def _is_gone(self, source: str, paths: Iterable[Path], now: Mapping[str, FileSignature]) -> bool:
        """Twice, for a program that replaces a file may remove it first."""
        is_ours = any(source.startswith(below(folder)) for folder in paths)
        return is_ours and source not in now and source not in self._last and is_gone(source)


def look_into(folders: Iterable[Path]) -> dict[str, FileSignature]:
    """The files that are learned with folders, by source."""
    signatures: dict[str, FileSignature] = {}
    for path in (path for folder in folders for path in learned_below(folder)):
        try:
            stat = path.stat()
        except OSError:
            # Gone since, or a link that leads nowhere.
            continue
        signatures[source_of(path)] = FileSignature(path, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)
    return signatures


# An editor that saves is done by then. Looking takes a tenth of the time at most, however many files there are.
_PAUSE_S, _PAUSES_PER_LOOK = 1.0, 10


async def watch_folders(settings: Settings, folders: Sequence[Path], agent: str, fleet: str) -> None:
    """Until it is told to end. The memory is open in the resident process, so that others ask it meanwhile.

    Raises `InvalidInput` for what is no folder, `Stopped` at the end.
    """
    for folder in folders:
        if not folder.is_dir():
            raise InvalidInput(f"{folder}: there is no such folder; --watch takes folders")
    async with resident_agent(settings, fleet, agent) as served:
        say(f"watching {', '.join(shown_source(str(folder)) for folder in folders)} for agent {served.name}; Ctrl-C ends it")
        try:
            watcher = FolderWatcher(folders, Learner(served))
            last_state = ""
            while True:
                state = await state_after_look(watcher)
                if state and state != last_state:
                    say(state, style="dim")
                last_state = state
                await asyncio.sleep(max(_PAUSE_S, _PAUSES_PER_LOOK * watcher.looked_s))
        except asyncio.CancelledError:
            raise Stopped("stopped watching; the next hive-mind learn --watch reads what changes meanwhile") from None


async def state_after_look(watcher: FolderWatcher) -> str:
    """In a line; "" while files change. What may pass, such as a process that is stopped, ends no watch: it is tried again."""
    try:
        is_learned = await watcher.look()
    except BackendError as error:
        if not error.retryable:
            raise
        return f"trying again: {error}"
    if is_learned:
        return f"up to date: {counted(len(watcher.handled), 'file')}"
    missing = [shown_source(str(folder)) for folder in watcher.folders if not folder.is_dir()]
    return f"waiting for {', '.join(missing)}, which is not there" if missing else ""


def below(folder: Path) -> str:
    """How the sources begin that are files of a folder."""
    return printable(os.path.realpath(folder).rstrip(os.sep) + os.sep)


def is_gone(source: str) -> bool:
    """Whether nothing has this path any more."""
    return not os.path.lexists(source)
