"""Writes of one memory: planned on what is known, made durable, and only then shown to searches.

Two writes that touch the same fact follow one another; others run together, so a store can commit them as a group. A caller that
is cancelled (Ctrl-C) does not tear its write apart: it is finished all the same.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

from hive_mind.store.base import Change, FactStore

Outcome = TypeVar("Outcome")


class PlannedCommit(Generic[Outcome]):
    """Changes to write, and the step in RAM once they are durable. `apply` must not fail."""

    def __init__(self, changes: Sequence[Change], apply: Callable[[], Outcome]) -> None:
        self.changes, self.apply = changes, apply


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
        self._register(task, ids)
        return await asyncio.shield(task)

    async def finish(self) -> None:
        """Return when nothing is under way any more."""
        while self._running:
            await asyncio.wait(self._running)

    async def _write(self, store: FactStore, plan: PlannedCommit[Outcome]) -> Outcome:
        if plan.changes:
            await store.write(plan.changes)
        return plan.apply()

    def _register(self, task: "asyncio.Task[Outcome]", fact_ids: Sequence[str]) -> None:
        self._running.add(task)
        self._busy.update(dict.fromkeys(fact_ids, task))

        def forget(task: "asyncio.Task[Outcome]") -> None:
            self._running.discard(task)
            for fact_id in fact_ids:
                if self._busy.get(fact_id) is task:
                    del self._busy[fact_id]
            if not task.cancelled():
                task.exception()  # A caller that was cancelled will not look at it.

        task.add_done_callback(forget)
