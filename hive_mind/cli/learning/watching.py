"""A folder that stays learned: look, learn what changed, withdraw what is gone, and look again.

Nothing is kept but in the memory: notes of what was read, and what each source says. One that is killed at any moment and started
again reads what changed meanwhile. A file is read when it looked the same twice, so not while it is written or replaced. A folder
that is not there changes nothing: it may be on a disk that comes back.

Files that were learned and are gone: deleted, renamed, or moved out of their folder.
"""

import asyncio
import os
import time
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hive_mind.cli.learning.files import learned_below, source_of
from hive_mind.cli.learning.learn_shown import show_learned
from hive_mind.cli.learning.learners import Learner
from hive_mind.cli.learning.pieces import Tally, learn_one, piece_of, withdraw
from hive_mind.cli.output import printable, say, shown_source
from hive_mind.cli.running import Stopped
from hive_mind.cli.serving.resident_agent import resident_agent
from hive_mind.counted import counted
from hive_mind.errors import InvalidInput
from hive_mind.runtime.settings import Settings


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
    _last: Mapping[str, FileSignature] = field(default_factory=dict)
    _digests: dict[str, str] | None = None
    """of what each source says now, by source; None before the first look"""

    async def look(self) -> bool:
        """Look once, and do what there is to do. Whether all is learned that is there, as far as could be seen."""
        paths = [folder for folder in self.folders if folder.is_dir()]
        now = await asyncio.to_thread(look_into, paths)
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
            self.learner, piece_of(signature.path, source), tally, _no_progress, digests.get(source, "")
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


def _no_progress(done: int, total: int) -> None:
    del done, total


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
            await _watch(FolderWatcher(folders, Learner(served)))
        except asyncio.CancelledError:
            raise Stopped("stopped watching; the next hive-mind learn --watch reads what changes meanwhile") from None


async def _watch(watcher: FolderWatcher) -> None:
    last_state = ""
    while True:
        began = time.monotonic()
        is_learned = await watcher.look()
        missing = [shown_source(str(folder)) for folder in watcher.folders if not folder.is_dir()]
        state = f"waiting for {', '.join(missing)}, which is not there" if missing else ""
        if is_learned:
            state = f"up to date: {counted(len(watcher.handled), 'file')}"
        if state and state != last_state:
            say(state, style="dim")
        last_state = state
        await asyncio.sleep(max(_PAUSE_S, _PAUSES_PER_LOOK * (time.monotonic() - began)))


def below(folder: Path) -> str:
    """How the sources begin that are files of a folder."""
    return printable(os.path.realpath(folder).rstrip(os.sep) + os.sep)


async def gone_from(learner: Learner, folders: Sequence[Path], now: Container[str]) -> list[str]:
    """Sources of these folders that say something still, though they are gone; `now` are those that are there."""
    sources = [source for folder in folders for source in await learner.sources(below(folder))]
    return sorted({source.source for source in sources if source.vouches and source.source not in now and is_gone(source.source)})


def is_gone(source: str) -> bool:
    """Whether nothing has this path any more."""
    return not os.path.lexists(source)


def print_gone(sources: Sequence[str]) -> None:
    if sources:
        files = counted(len(sources), "file that was learned is", "files that were learned are")
        say(f"note: {files} gone from there and still vouched for; learn the folder with --replace to make that former", "yellow")
