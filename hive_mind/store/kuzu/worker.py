"""The one thread that owns a database, and the queue in front of it.

Writes that wait together share a commit; a group that fails is tried write by write, so nobody suffers for a neighbour. A caller
who stops waiting changes nothing: what was handed in is done, whole.
"""

import asyncio
import atexit
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from hive_mind.errors import BackendUnavailable
from hive_mind.store.base import Change
from hive_mind.store.kuzu.database import Database
from hive_mind.store.kuzu.settings import KuzuSettings

_log = logging.getLogger(__name__)
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class _Job:
    """A write when it has `changes`, otherwise a reading of the database. `waiter` is None for the order to stop."""

    waiter: "asyncio.Future[Any] | None" = None
    changes: Sequence[Change] = ()
    work: Callable[[Database], Any] | None = None

    def settle(self, result: object, error: BaseException | None = None) -> None:
        """Wake the waiting task, if it still waits and its loop still runs."""
        if self.waiter is None:
            return
        try:
            self.waiter.get_loop().call_soon_threadsafe(_settle, self.waiter, result, error)
        except RuntimeError:
            _log.debug("a caller's event loop was closed before its answer came")


_STOP = _Job()


class Worker:
    """Started by `start`; may be asked from any event loop until `stop`."""

    def __init__(self, open_database: Callable[[], Database], settings: KuzuSettings, name: str) -> None:
        self._open_database, self._settings = open_database, settings
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._is_stopping = False
        self._is_over = False
        # Re-entrant: a garbage collection inside it may call `stop`.
        self._end = threading.RLock()
        self._awaiting_end: list[_Job] = []
        # A daemon, because the interpreter would wait for it for ever; a forgotten store stops it at exit instead.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    async def start(self) -> None:
        """Open the database. A caller who is cancelled meanwhile leaves neither thread nor lock behind."""
        waiter = _new_waiter()
        self._jobs.put(_Job(waiter))
        self._thread.start()
        try:
            await waiter
        except BaseException as stop:
            self._order_stop()
            if isinstance(stop, asyncio.CancelledError):
                # Nobody has a store to close, and Kuzu aborts an interpreter that ends while it still opens.
                atexit.register(self._thread.join)
            raise

    async def write(self, changes: Sequence[Change]) -> None:
        """Wait until `changes` are durable."""
        waiter = _new_waiter()
        await self._ask(_Job(waiter, changes=changes), waiter)

    async def read(self, work: Callable[[Database], _Result]) -> _Result:
        """The result of `work`, run by the thread after every write handed in before."""
        waiter = _new_waiter()
        result: _Result = await self._ask(_Job(waiter, work=work), waiter)
        return result

    async def close(self) -> None:
        """Finish what was handed in, close the database, end the thread. Any number of tasks may wait for it."""
        waiter = _new_waiter()
        with self._end:
            self._awaiting_end.append(_Job(waiter))
            self._order_stop()
            if self._is_over:
                self._tell_end()
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
            self._jobs.put(_STOP)

    async def _ask(self, job: _Job, waiter: "asyncio.Future[Any]") -> Any:
        # Together, or a job of one thread could come behind the order to stop of another and wait for ever.
        with self._end:
            if self._is_stopping:
                raise BackendUnavailable("kuzu", "the store is closed; open it again")
            self._jobs.put(job)
        return await waiter

    def _run(self) -> None:
        opened = self._jobs.get()
        try:
            database = self._open_database()
        except BaseException as error:  # noqa: BLE001 - whatever it is belongs to the caller who waits
            opened.settle(None, error)
            return
        opened.settle(None)
        self._serve(database)
        self._finish(database)

    def _finish(self, database: Database) -> None:
        try:
            database.close()
        except BaseException:  # noqa: BLE001
            # The log holds everything, so whoever opens next finds all; but somebody should look at that disk.
            _log.exception("closing a database failed; everything acknowledged is in its log")
        with self._end:
            self._is_over = True
            self._tell_end()

    def _tell_end(self) -> None:
        for job in self._awaiting_end:
            job.settle(None)
        self._awaiting_end.clear()

    def _serve(self, database: Database) -> None:
        left_over: _Job | None = None
        while (job := left_over or self._jobs.get()) is not _STOP:
            left_over = None
            if job.work is not None:
                _do(job, lambda work=job.work: work(database))  # type: ignore[misc]
                continue
            group, left_over = self._group_from(job)
            _commit(database, group)
            _keep_up(database)

    def _group_from(self, first: _Job) -> tuple[list[_Job], _Job | None]:
        """The writes that wait behind `first`, and the job that ended the group."""
        group, changes = [first], len(first.changes)
        while len(group) < self._settings.group_max_writes and changes < self._settings.group_max_changes:
            try:
                job = self._jobs.get_nowait()
            except Empty:
                break
            if job.work is not None or job is _STOP:
                return group, job
            group.append(job)
            changes += len(job.changes)
        return group, None


def _keep_up(database: Database) -> None:
    try:
        database.checkpoint_if_due()
    except Exception:  # noqa: BLE001 - the thread must go on
        # The group is durable and its callers are gone. Whoever asks next opens again, or gets the error.
        _log.exception("the database could not be opened again after a checkpoint")


def _commit(database: Database, group: list[_Job]) -> None:
    if len(group) > 1:
        try:
            database.write([change for job in group for change in job.changes])
        except Exception:  # noqa: BLE001 - each gets its own error, if it has one
            _log.debug("a shared commit of %d writes failed; committing each alone", len(group))
        else:
            for job in group:
                job.settle(None)
            return
    for job in group:
        _do(job, lambda changes=job.changes: database.write(changes))  # type: ignore[misc]


def _do(job: _Job, work: Callable[[], object]) -> None:
    try:
        result = work()
    except BaseException as error:  # noqa: BLE001 - the thread must go on; the error belongs to the caller
        job.settle(None, error)
    else:
        job.settle(result)


def _new_waiter() -> "asyncio.Future[Any]":
    return asyncio.get_running_loop().create_future()


def _settle(waiter: "asyncio.Future[Any]", result: object, error: BaseException | None) -> None:
    if waiter.done():
        return
    if error is None:
        waiter.set_result(result)
    else:
        waiter.set_exception(error)
