"""The common ground of every SQLite file of this package: one owner, one thread, writes that are on disk when they return.

A node's journal, an agent's record and its ledger stand on it; a ledger may have several owners that take turns. It knows none of
them: a `Format` describes a file, they bring the statements. Here are the lock of a file, and another file in its place.

A lock beside the file also names its holder. SQLite's own is lost as soon as anything in the same process opens and closes the
file (POSIX), and its message does not name the holder. The operating system releases this one when its holder dies, so a file
left behind harms nobody. Where the system has no `flock`, SQLite's lock remains.

A file that takes the place of another is whole and on disk before a note says what is to happen. From then on it happens: the
next opening, even after a kill or a power failure, carries out what is left. Until then nothing has changed. So one of both is
always there; the former file and its log are kept beside it under another name.

Writes that wait together share a commit; a group that fails is tried write by write, so no write suffers for a neighbour. A
caller that stops waiting changes nothing: a write handed in is done, whole.
"""

import asyncio
import logging
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from hive_mind.awaiting import Waiter, settle
from hive_mind.errors import BackendUnavailable, DatabaseLocked, DatabaseUnreadable
from hive_mind.model.decoding import json_decoder
from hive_mind.safe_files import (
    holder_in,
    is_locked,
    lock,
    note_holder,
    replacing,
    sync_file,
    sync_folder,
    try_lock,
    unlock,
    write_whole,
)

_COMMAND_CHARACTERS_MAX = 200


class Lock:
    """Held from construction to `release`. Raises `DatabaseLocked`, and `OSError` where the file system has no locks.

    With `is_shared` others that share may hold it, too; a lone holder may make and mend the file until it calls `share`.
    """

    def __init__(self, database: Path, owner: str, *, is_shared: bool = False) -> None:
        self._database, self._owner = database, owner
        self._descriptor = os.open(lock_path(database), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            self.is_alone = try_lock(self._descriptor)
            if not self.is_alone and not (is_shared and try_lock(self._descriptor, is_shared=True)):
                raise locked_error(self._database, self._owner, holder_in(self._descriptor))
        except BaseException:
            os.close(self._descriptor)
            raise
        note_holder(self._descriptor, os.getpid())

    def share(self) -> None:
        """Let others that share in. Raises `DatabaseLocked` where one that does not was faster."""
        if not try_lock(self._descriptor, is_shared=True):
            raise locked_error(self._database, self._owner, holder_in(self._descriptor))

    def release(self) -> None:
        if holder_in(self._descriptor) == os.getpid():
            note_holder(self._descriptor, None)
        unlock(self._descriptor)
        os.close(self._descriptor)


@contextmanager
def turn(database: Path) -> Iterator[None]:
    """Processes that share a file open it one after the other, so that the first can check, create or repair it."""
    descriptor = os.open(database.with_name(database.name + ".turn"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def lock_path(database: Path) -> Path:
    return database.with_name(database.name + ".lock")


def in_use_by(database: Path) -> int | None:
    try:
        with lock_path(database).open("rb") as file:
            holder = holder_in(file.fileno())
    except OSError:
        return None
    # One that was killed leaves its number behind. Nobody is kept out by looking where there is none.
    return holder if holder and is_locked(lock_path(database)) else None


def locked_error(database: Path, owner: str, holder_pid: int = 0) -> DatabaseLocked:
    """The error for finding an `owner`'s file taken by `holder_pid`, 0 where that is not known."""
    if holder_pid == os.getpid():
        problem = f"this process has it open already; use that {owner}, or close it first"
    elif holder_pid:
        stop = "stop it (hive-mind serve --stop, if serve, mcp or ui started it)"
        problem = f"process {holder_pid}{_command(holder_pid)} has it open; {stop}, or give this {owner} another path"
    else:
        problem = f"another process has it open; find it with `fuser` and stop it, or give this {owner} another path"
    return DatabaseLocked("sqlite", f"{database}: {problem}", holder_pid or None)


def _command(pid: int) -> str:
    """ " (command line)" of a process, "" where the system does not tell."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return ""
    line = " ".join(words).strip()[:_COMMAND_CHARACTERS_MAX]
    return f" ({line})" if line else ""


_log = logging.getLogger(__name__)

KEPT = ("before", "damaged")
"""Words by which former files are called: after a restoration, after a repair."""


class _Replacement(msgspec.Struct, frozen=True):
    """By their names in the folder: the file that takes the place, and where the former one goes."""

    made: str
    kept: str


def replace_database(path: Path, made: Path, word: str) -> Path | None:
    """Put `made`, a closed database, in the place of the one at `path`, which this process owns. Where the former one is now."""
    sync_file(made)
    # Beside the file, the first of `name.word-1`, `name.word-2`, … that is not taken.
    kept_path = next(free for n in range(1, 1_000_000) if not (free := path.with_name(f"{path.name}.{word}-{n}")).exists())
    write_whole(_note(path), msgspec.json.encode(_Replacement(made.name, kept_path.name)))
    _carry_out(path)
    return kept_path if kept_path.exists() or log_path(kept_path).exists() else None


def is_half_replaced(path: Path) -> bool:
    """Whether somebody was killed while replacing this database, so that `mend` has something to do."""
    path = path.resolve()
    return _note(path).exists()


def mend(path: Path) -> None:
    """Carry out what a killed process has left to do. Only for the owner of the file. Raises `DatabaseUnreadable`, `OSError`."""
    path = path.resolve()
    if _note(path).exists():
        _log.warning("%s: its replacement was interrupted, and is finished now", path)
        _carry_out(path)


def _carry_out(path: Path) -> None:
    try:
        planned = json_decoder(_Replacement)(_note(path).read_bytes())
    except msgspec.DecodeError as error:
        advice = f"move {_note(path).name} away, and look at what is there: hive-mind doctor"
        problem = f"{path} was being replaced, and the note on it is damaged. Nothing was changed; {advice}"
        raise DatabaseUnreadable("sqlite", problem) from error
    made_path, kept_path = path.with_name(planned.made), path.with_name(planned.kept)
    if made_path.exists():
        for source, target in ((log_path(path), log_path(kept_path)), (path, kept_path)):
            if source.exists() and not target.exists():
                try:
                    os.link(source, target)
                except OSError:
                    # Not every file system has a second name for a file.
                    with replacing(target) as copy:
                        shutil.copyfile(source, copy)
        sync_folder(path.parent)
    elif not path.exists():
        where = f"its former file is {kept_path}" if kept_path.exists() else "there was none before"
        raise DatabaseUnreadable("sqlite", f"{path} is missing, and so is what was to take its place, {made_path.name}; {where}")
    # Before the file: with another one's log it would be neither. And nobody has opened the new one yet.
    for log_file in (log_path(path), path.with_name(f"{path.name}-shm")):
        log_file.unlink(missing_ok=True)
    sync_folder(path.parent)
    if made_path.exists():
        made_path.replace(path)
        sync_folder(path.parent)
    _note(path).unlink()
    # Else the note could come back, and take the log of later writes away.
    sync_folder(path.parent)


def is_unwritable(path: Path) -> bool:
    """Whether the file is there and nothing can be made beside it."""
    return path.is_file() and not os.access(path.parent, os.W_OK | os.X_OK)


def log_path(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def _note(path: Path) -> Path:
    return path.with_name(f"{path.name}.replacing")


_Outcome = TypeVar("_Outcome")
_Item = TypeVar("_Item")
_Item_contra = TypeVar("_Item_contra", contravariant=True)

# A commit of this size takes some 0.2 s: that is the longest that a later write waits for it.
GROUP_MAX_ITEMS = 20_000


class Database(Protocol[_Item_contra]):
    """The database a worker owns. Both methods are called by its thread alone."""

    def write(self, items: Sequence[_Item_contra]) -> None:
        """All of them, durable, or none."""

    def close(self) -> None: ...


_Database = TypeVar("_Database", bound=Database[Any])


@dataclass(frozen=True, slots=True)
class _Job:
    """A write when it has no `work`."""

    waiter: Waiter
    items: Sequence[Any] = ()
    work: Callable[[Any], Any] | None = None


class Worker(Generic[_Database, _Item]):
    """Started by `start`; may be asked from any event loop until `stop`. `name` is its thread's, "journal a.sqlite"."""

    def __init__(self, open_database: Callable[[], _Database], name: str) -> None:
        self._open_database, self._name = open_database, name
        # None is the order to stop.
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._is_stopping = False
        self._is_over = False
        # Re-entrant: a garbage collection inside it may call `stop`.
        self._end = threading.RLock()
        self._awaiting_end: list[Waiter] = []

    async def start(self) -> None:
        """Open the file. A caller cancelled meanwhile leaves neither thread nor lock behind."""
        waiter: Waiter = asyncio.get_running_loop().create_future()
        # A daemon, because the interpreter would wait for it for ever; a forgotten file stops it at exit instead.
        self._thread = threading.Thread(target=self._run, args=(waiter,), name=self._name, daemon=True)
        self._thread.start()
        try:
            await waiter
        except BaseException:
            self._order_stop()
            raise

    async def write(self, items: Sequence[_Item]) -> None:
        """Wait until `items` are durable."""
        await self.do(None, items)

    async def do(self, work: Callable[[_Database], _Outcome] | None, items: Sequence[_Item] = ()) -> _Outcome:
        """The result of `work`, run by the thread after every write handed in before."""
        waiter: asyncio.Future[_Outcome] = asyncio.get_running_loop().create_future()
        # Together, or a job of one thread could come behind the order to stop of another and wait for ever.
        with self._end:
            if self._is_stopping:
                raise BackendUnavailable("sqlite", f"the {self._name} is closed; open it again")
            self._jobs.put(_Job(waiter, items, work))
        return await waiter

    async def close(self) -> None:
        """Finish what was handed in, close the file, end the thread. Any number of tasks may wait for it."""
        waiter = asyncio.get_running_loop().create_future()
        with self._end:
            self._order_stop()
            if self._is_over:
                settle([waiter])
            else:
                self._awaiting_end.append(waiter)
        await waiter
        # It has nothing left to do but return.
        self._thread.join()

    def stop(self) -> None:
        """`close` without an event loop: blocks. From the thread itself (a garbage collection there) it can't wait."""
        with self._end:
            self._order_stop()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _order_stop(self) -> None:
        if not self._is_stopping:
            self._is_stopping = True
            self._jobs.put(None)

    def _run(self, opened: Waiter) -> None:
        try:
            database = self._open_database()
        except BaseException as error:  # noqa: BLE001 - any error belongs to the waiting caller
            settle([opened], error=error)
        else:
            settle([opened])
            self._serve(database)
            try:
                database.close()
            except BaseException:  # noqa: BLE001
                # Nothing is lost: the next owner reads it all from the log. But somebody should look at that disk.
                _log.exception("closing the %s failed; everything acknowledged is in its log", self._name)
        with self._end:
            self._is_over = True
            settle(self._awaiting_end)

    def _serve(self, database: _Database) -> None:
        """Job by job until the order to stop; writes that wait behind one another as a group."""
        ahead: list[_Job | None] = []
        while (job := ahead.pop() if ahead else self._jobs.get()) is not None:
            group, size = [job], len(job.items)
            while job.work is None and size < GROUP_MAX_ITEMS and not ahead:
                try:
                    behind = self._jobs.get_nowait()
                except Empty:
                    break
                if behind is None or behind.work is not None:
                    ahead.append(behind)
                else:
                    group.append(behind)
                    size += len(behind.items)
            for alone in group if len(group) == 1 or not _share_commit(database, group) else ():
                try:
                    result = database.write(alone.items) if alone.work is None else alone.work(database)
                except BaseException as error:  # noqa: BLE001 - the thread must go on; the error belongs to the caller
                    settle([alone.waiter], error=error)
                else:
                    settle([alone.waiter], result)


def _share_commit(database: Database[Any], group: list[_Job]) -> bool:
    """Write them together; False where that failed."""
    try:
        database.write([item for job in group for item in job.items])
    except Exception:  # noqa: BLE001 - each gets its own error, if it has one
        _log.debug("a shared commit of %d writes failed; committing each alone", len(group))
        return False
    settle(job.waiter for job in group)
    return True
