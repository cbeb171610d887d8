"""The one thread that owns a file, and the queue in front of it.

Writes that wait together share a commit; a group that fails is tried write by write, so no write suffers for a neighbour. A
caller that stops waiting changes nothing: a write handed in is done, whole.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Generic, Protocol, TypeVar

from hive_mind.errors import BackendUnavailable
from hive_mind.off_loop import Waiter, settle

_log = logging.getLogger(__name__)
_Result = TypeVar("_Result")
_Item = TypeVar("_Item")
_Item_contra = TypeVar("_Item_contra", contravariant=True)

# A commit of this size takes some 0.2 s: that is the longest that a later write waits for it.
GROUP_MAX_ITEMS = 20_000


class Database(Protocol[_Item_contra]):
    """The database a worker owns. Both methods are called by its thread alone."""

    def write(self, items: Sequence[_Item_contra]) -> None:
        """All of them, durable, or none."""
        ...

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
        await self._ask(_Job(asyncio.get_running_loop().create_future(), items))

    async def do(self, work: Callable[[_Database], _Result]) -> _Result:
        """The result of `work`, run by the thread after every write handed in before."""
        result: _Result = await self._ask(_Job(asyncio.get_running_loop().create_future(), work=work))
        return result

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

    async def _ask(self, job: _Job) -> Any:
        # Together, or a job of one thread could come behind the order to stop of another and wait for ever.
        with self._end:
            if self._is_stopping:
                raise BackendUnavailable("sqlite", f"the {self._name} is closed; open it again")
            self._jobs.put(job)
        return await job.waiter

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
            if job.work is not None:
                _do(job, partial(job.work, database))
                continue
            group, size = [job], len(job.items)
            while size < GROUP_MAX_ITEMS and not ahead:
                try:
                    behind = self._jobs.get_nowait()
                except Empty:
                    break
                if behind is None or behind.work is not None:
                    ahead.append(behind)
                else:
                    group.append(behind)
                    size += len(behind.items)
            _commit(database, group)


def _commit(database: Database[Any], group: list[_Job]) -> None:
    if len(group) > 1:
        try:
            database.write([item for job in group for item in job.items])
        except Exception:  # noqa: BLE001 - each gets its own error, if it has one
            _log.debug("a shared commit of %d writes failed; committing each alone", len(group))
        else:
            settle(job.waiter for job in group)
            return
    for job in group:
        _do(job, partial(database.write, job.items))


def _do(job: _Job, work: Callable[[], object]) -> None:
    try:
        result = work()
    except BaseException as error:  # noqa: BLE001 - the thread must go on; the error belongs to the caller
        settle([job.waiter], error=error)
    else:
        settle([job.waiter], result)
