"""The store over a record: a queue in front of its thread, and pages for whoever reads everything."""

import asyncio
import ctypes
import sqlite3
import sys
import weakref
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact, Relation
from hive_mind.sqlite.file import connect_for_reading, translating
from hive_mind.sqlite.worker import Worker
from hive_mind.store._checks import check
from hive_mind.store.base import Change, Link, Narrow
from hive_mind.store.sqlite import aside, reading
from hive_mind.store.sqlite.health import Health
from hive_mind.store.sqlite.reading import Part
from hive_mind.store.sqlite.record import Record
from hive_mind.store.sqlite.rows import EPISODE, FACT
from hive_mind.store.sqlite.schema import FORMAT

_Page = TypeVar("_Page")


class SqliteStore:
    """See `base.FactStore`."""

    def __init__(self, worker: Worker[Record, Change], health: Health) -> None:
        self._worker, self._health = worker, health
        self._reader: sqlite3.Connection | None = None
        # A store that is forgotten closes when it is collected, or at the latest when the interpreter ends.
        self._forgotten = weakref.finalize(self, worker.stop)

    @property
    def trouble(self) -> str:
        """See `Health`."""
        return self._health.trouble

    async def write(self, changes: Sequence[Change]) -> None:
        """All changes or none, durable when this returns."""
        changes = tuple(changes)
        check(changes)
        await self._worker.write(changes)

    async def facts(self) -> AsyncIterator[Sequence[Fact]]:
        """Every fact, in the order they were added."""
        async for page in self._nodes(FACT):
            yield page

    async def all_episodes(self) -> AsyncIterator[Sequence[Episode]]:
        """Every episode, in the order they were added."""
        async for page in self._nodes(EPISODE):
            yield page

    async def vectors(self, model: str) -> AsyncIterator[Mapping[str, Narrow]]:
        """Every cached embedding of `model`."""
        async for page in self._pages(
            lambda record, part: record.ask(lambda c: reading.vectors(c, model, part, record.health.note_damage))
        ):
            yield page

    async def links(self) -> AsyncIterator[Sequence[Link]]:
        """Every edge, in the order they were added."""
        async for page in self._pages(
            lambda record, part: record.ask(lambda c: reading.links(c, part, record.health.note_damage))
        ):
            yield page

    def fetch(self, id: str) -> Fact | None:
        """One fact, through a connection of its own."""
        if self._reader is None:
            self._reader = connect_for_reading(self._health.path.resolve(), FORMAT)
            self._reader.execute("PRAGMA cache_size = -64")
        with translating(self._health.path, FORMAT):
            return reading.by_id(self._reader, (id,), Fact, self._health.note_damage).get(id)

    async def find(self, ids: Iterable[str]) -> Mapping[str, Fact]:
        """The facts that exist among `ids`."""
        wanted = tuple(ids)
        return await self._worker.read(
            lambda record: record.ask(lambda c: reading.by_id(c, wanted, Fact, record.health.note_damage))
        )

    async def episodes(self, ids: Iterable[str]) -> Mapping[str, Episode]:
        """The episodes that exist among `ids`."""
        wanted = tuple(ids)
        return await self._worker.read(
            lambda record: record.ask(lambda c: reading.by_id(c, wanted, Episode, record.health.note_damage))
        )

    async def linked(self, relation: Relation, id: str, *, backwards: bool = False) -> Sequence[str]:
        """Ids at the other end."""
        return await self._worker.read(
            lambda record: record.ask(
                lambda c: reading.linked(c, relation, id, backwards=backwards, damage=record.health.note_damage)
            )
        )

    async def meta(self) -> Mapping[str, str]:
        """All named values."""
        return await self._worker.read(lambda record: record.ask(lambda c: reading.meta(c, record.health.note_damage)))

    async def counts(self) -> Mapping[str, int]:
        """How many of each."""
        return await self._worker.read(lambda record: record.ask(reading.counts))

    async def put_aside(self, made: bytes) -> None:
        """Written beside the record."""
        await self._worker.read(lambda record: aside.put(record.health.path, made))

    async def aside(self) -> bytes:
        """What lies beside the record."""
        return await self._worker.read(lambda record: aside.get(record.health.path))

    async def tidy(self) -> None:
        """Write the log back."""
        await self._worker.read(Record.tidy)

    async def scrub(self) -> None:
        """Leave nothing of what was erased."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        await self._worker.read(Record.scrub)

    async def close(self) -> None:
        """Finish what was handed in, write the log back, release the file, end the thread."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        await self._worker.close()
        self._forgotten.detach()
        _return_freed_memory()

    async def _nodes(self, kind: int) -> AsyncIterator[list[Any]]:
        rows = sums = 0

        def page(record: Record, part: Part) -> tuple[list[Any], int]:
            nonlocal rows, sums
            found, last = record.ask(lambda c: reading.nodes(c, kind, part, record.health.note_damage))
            rows, sums = rows + len(found), sums + sum(row.sum for row in found)
            if not last and record.tick == part[1] and not self._health.damaged:
                record.note_if_missing(kind, rows, sums)
            return reading.themselves(found, record.health.note_damage), last

        async for values in self._pages(page):
            yield values

    async def _pages(self, page: Callable[[Record, Part], tuple[_Page, int]]) -> AsyncIterator[_Page]:
        """All pages of what there was when the first was asked for."""
        upto = await self._worker.read(lambda record: record.tick)
        coming = self._begun(page, (0, upto))
        try:
            while True:
                found, after = await coming
                if not after:
                    return
                # The thread reads the next one meanwhile.
                coming = self._begun(page, (after, upto))
                yield found
        finally:
            coming.cancel()

    def _begun(self, page: Callable[[Record, Part], tuple[_Page, int]], part: Part) -> asyncio.Task[tuple[_Page, int]]:
        task = asyncio.create_task(self._worker.read(lambda record: page(record, part)))
        # Whoever stops reading halfway doesn't want to hear of it.
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return task


def _return_freed_memory() -> None:
    """Give freed memory back to the system: an agent that sleeps should not go on taking its index's room. glibc only."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
