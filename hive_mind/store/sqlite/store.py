"""The store over a record: a queue in front of its thread, and pages for a reader of everything."""

import asyncio
import ctypes
import sys
import weakref
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact, Relation
from hive_mind.sqlite.file import connect_for_reading, translating
from hive_mind.sqlite.worker import Worker
from hive_mind.store._batch import check
from hive_mind.store.base import Change, Link, Narrow
from hive_mind.store.sqlite import record
from hive_mind.store.sqlite.reading import Part, Reading
from hive_mind.store.sqlite.record import Health, RecordFile, RecordView
from hive_mind.store.sqlite.rows import EPISODE, FACT, FORMAT

_Answer = TypeVar("_Answer")

# Ticks in a page: its rows of one kind are fewer.
PAGE_TICKS = 8192


class SqliteStore:
    """See `base.FactStore`."""

    def __init__(self, worker: Worker[RecordFile, Change] | Worker[RecordView, Change], health: Health) -> None:
        self._worker: Worker[Any, Change] = worker
        self._health = health
        self._at_once: Reading | None = None
        # A store that is forgotten closes when it is collected, or at the latest when the interpreter ends.
        self._forgotten = weakref.finalize(self, worker.stop)

    @property
    def trouble(self) -> str:
        return self._health.trouble

    async def write(self, changes: Sequence[Change]) -> None:
        changes = tuple(changes)
        check(changes)
        await self._worker.write(changes)

    async def facts(self) -> AsyncIterator[Sequence[Fact]]:
        async for page in self._nodes(FACT):
            yield page

    async def all_episodes(self) -> AsyncIterator[Sequence[Episode]]:
        async for page in self._nodes(EPISODE):
            yield page

    async def vectors(self, model: str) -> AsyncIterator[Mapping[str, Narrow]]:
        async for page in self._pages(lambda reading, part: reading.vectors(model, part)):
            yield page

    async def links(self) -> AsyncIterator[Sequence[Link]]:
        async for page in self._pages(lambda reading, part: [edge.link for edge in reading.edges(part)]):
            yield page

    def fetch(self, id: str) -> Fact | None:
        # Through a connection of its own, as the other one is its thread's.
        if self._at_once is None:
            connection = connect_for_reading(self._health.path.resolve(), FORMAT)
            connection.execute("PRAGMA cache_size = -64")
            self._at_once = Reading(connection, self._health.note_damage)
        with translating(self._health.path, FORMAT):
            return self._at_once.by_id((id,), Fact).get(id)

    async def find(self, ids: Iterable[str]) -> Mapping[str, Fact]:
        wanted_ids = tuple(ids)
        return await self._ask(lambda reading: reading.by_id(wanted_ids, Fact))

    async def episodes(self, ids: Iterable[str]) -> Mapping[str, Episode]:
        wanted_ids = tuple(ids)
        return await self._ask(lambda reading: reading.by_id(wanted_ids, Episode))

    async def linked(self, relation: Relation, id: str, *, backwards: bool = False) -> Sequence[str]:
        return await self._ask(lambda reading: reading.linked(relation, id, backwards=backwards))

    async def meta(self) -> Mapping[str, str]:
        return await self._ask(Reading.meta)

    async def counts(self) -> Mapping[str, int]:
        return await self._ask(Reading.counts)

    async def put_aside(self, derived: bytes) -> None:
        await self._worker.do(lambda record: record.put_aside(derived))

    async def aside(self) -> bytes:
        return await self._worker.do(lambda _: record.get(self._health.path))

    async def tidy(self) -> None:
        await self._worker.do(lambda record: record.tidy())

    async def scrub(self) -> None:
        self._close_at_once()
        await self._worker.do(lambda record: record.scrub())

    async def close(self) -> None:
        self._close_at_once()
        await self._worker.close()
        self._forgotten.detach()
        _return_freed_memory()

    def _close_at_once(self) -> None:
        if self._at_once is not None:
            self._at_once.close()
            self._at_once = None

    async def _ask(self, query: Callable[[Reading], _Answer]) -> _Answer:
        return await self._worker.do(lambda record: record.ask(query))

    async def _nodes(self, kind: int) -> AsyncIterator[list[Any]]:
        rows = sums = 0

        def page(reading: Reading, part: Part) -> list[Any]:
            nonlocal rows, sums
            node_rows = reading.nodes(kind, part)
            rows, sums = rows + len(node_rows), sums + sum(row.sum for row in node_rows)
            return [value for _, value in reading.themselves(node_rows)]

        tick = await self._tick()
        async for values in self._pages(page):
            yield values
        await self._worker.do(lambda record: record.compare(kind, rows, sums, tick))

    async def _pages(self, page: Callable[[Reading, Part], _Answer]) -> AsyncIterator[_Answer]:
        """All pages of what there was when the first was asked for; none that is empty."""
        last = await self._tick()

        def begun(after: int) -> asyncio.Task[_Answer]:
            task = asyncio.create_task(self._ask(lambda reading: page(reading, (after, min(after + PAGE_TICKS, last)))))
            # A reader that stops halfway does not fetch this error.
            task.add_done_callback(lambda finished: finished.cancelled() or finished.exception())
            return task

        coming = begun(0)
        try:
            for after in range(PAGE_TICKS, last + PAGE_TICKS, PAGE_TICKS):
                answer = await coming
                # The thread reads the next one meanwhile; the one behind the last is empty.
                coming = begun(after)
                if answer:
                    yield answer
        finally:
            coming.cancel()

    async def _tick(self) -> int:
        return await self._worker.do(lambda record: record.tick)


class SqliteView(SqliteStore):
    """The store over a view of a record. Its `fetch` is of the same moment as all else."""

    def __init__(self, worker: Worker[RecordView, Change], health: Health, view: RecordView) -> None:
        super().__init__(worker, health)
        self._view = view

    def fetch(self, id: str) -> Fact | None:
        return self._view.ask(lambda reading: reading.by_id((id,), Fact)).get(id)


def _return_freed_memory() -> None:
    """Give freed memory back to the system: an agent that sleeps should not go on taking its index's room. glibc only."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
