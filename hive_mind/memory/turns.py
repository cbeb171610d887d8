"""Turns in one memory: writes are planned on what is known, made durable, and only then shown to searches.

Two writes that touch the same fact follow one another; others run together, so a store can commit them as a group. A caller that
is cancelled (Ctrl-C) does not tear its write apart: it is finished all the same, and so is a database that is opened or closed.

One event loop at a time: a waiter in one loop can't be woken by another, so a call from another loop is refused with an error
instead of waiting for ever. A memory that sleeps, and is not in use, belongs to the next caller.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any, Generic, TypeVar

from hive_mind.errors import InvalidInput
from hive_mind.store import Change, FactStore

Outcome = TypeVar("Outcome")


@dataclass(frozen=True, slots=True)
class PlannedCommit(Generic[Outcome]):
    """Changes to write, and the step in RAM once they are durable. `apply` must not fail."""

    changes: Sequence[Change]
    apply: Callable[[], Outcome]


class Commits:
    """Runs plans in order per fact."""

    def __init__(self) -> None:
        self._busy: dict[str, asyncio.Task[object]] = {}
        self._running: set[asyncio.Task[object]] = set()

    async def run(self, store: FactStore, fact_ids: Iterable[str], make_plan: Callable[[], PlannedCommit[Outcome]]) -> Outcome:
        """Wait until nothing else writes these facts, plan, write, apply. Raises what planning or the store raises."""
        ids = list(fact_ids)
        while waiting := {task for fact_id in ids if (task := self._busy.get(fact_id)) is not None}:
            await asyncio.wait(waiting)
        # From here to the registration nothing may be awaited, or two plans could see the same state.
        plan = make_plan()
        task = asyncio.create_task(self._write(store, plan))
        self._running.add(task)
        self._busy.update(dict.fromkeys(ids, task))

        def forget(task: "asyncio.Task[Outcome]") -> None:
            self._running.discard(task)
            for fact_id in ids:
                if self._busy.get(fact_id) is task:
                    del self._busy[fact_id]
            if not task.cancelled():
                task.exception()  # A caller that was cancelled will not look at it.

        task.add_done_callback(forget)
        return await asyncio.shield(task)

    async def finish(self) -> None:
        """Return when nothing is under way any more."""
        while self._running:
            await asyncio.wait(self._running)

    async def _write(self, store: FactStore, plan: PlannedCommit[Outcome]) -> Outcome:
        if plan.changes:
            await store.write(plan.changes)
        return plan.apply()


class OneLoop:
    """Admits calls from one loop. `is_asleep` tells whether there is nothing that another loop could not use."""

    def __init__(self, is_asleep: Callable[[], bool]) -> None:
        self._is_asleep = is_asleep
        self._turn, self._calls, self._users = Lock(), 0, 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._renew()

    def _renew(self) -> None:
        """A waiter on one of these has bound it to a loop."""
        self.waking, self.is_idle = asyncio.Lock(), asyncio.Event()
        self.is_idle.set()

    @contextmanager
    def call(self) -> Iterator[None]:
        """As long as a call lasts. Raises `InvalidInput` for one in another thread, or in a second `asyncio.run`."""
        self.enter()
        try:
            yield
        finally:
            with self._turn:
                self._calls -= 1

    def enter(self) -> None:
        """Begin a call that never ends: from now on the memory belongs here. Raises `InvalidInput` as `call` does."""
        loop = asyncio.get_running_loop()
        with self._turn:
            if loop is not self._loop:
                if self._calls or not self._is_asleep():
                    raise InvalidInput(
                        "this memory is open in another event loop: use and close it in the asyncio.run, and the thread, that"
                        " opened it"
                    )
                if self._loop is not None:
                    self._renew()
                self._loop = loop
            self._calls += 1

    @contextmanager
    def use(self) -> Iterator[None]:
        """As long as somebody needs it awake: `is_idle` waits for that."""
        self._users += 1
        self.is_idle.clear()
        try:
            yield
        finally:
            self._users -= 1
            if not self._users:
                self.is_idle.set()


class Transition:
    """Opening or closing a database, never half done: a caller that gives up waiting leaves it to go on, and the next waits for
    it.

    Otherwise a search that ran into its deadline would leave a database that is just being closed, and locked, to the next one.
    """

    def __init__(self) -> None:
        self._under_way: asyncio.Task[None] | None = None

    @property
    def is_under_way(self) -> bool:
        """Whether it goes on, waited for or not."""
        return self._under_way is not None and not self._under_way.done()

    async def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Do it. Call `finish` first, and decide then what there is to do."""
        self._under_way = asyncio.create_task(work)
        # Its error is for the waiting caller; if none waits any more, the next one tries again.
        self._under_way.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.shield(self._under_way)

    async def finish(self) -> None:
        """Return when nothing is under way any more. Others have their turn in any case: also between thousands of searches."""
        # One of a loop before this is over: a memory is asleep where its loop is another one.
        if self._under_way is not None and self.is_under_way and self._under_way.get_loop() is asyncio.get_running_loop():
            await asyncio.wait([self._under_way])
        else:
            await asyncio.sleep(0)
