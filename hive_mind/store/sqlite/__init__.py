"""An agent's record in an SQLite file: durable when `write` returns, safe to kill at any moment.

`open` is all that memories need; `open_for_reading` is for those that only look; `facts_in` reads while another process writes;
`problems`, `repair`, `backup` and `restore` are for operators. `hive_mind.sqlite` owns the file; `rows` has its tables and their
rows; `record` writes, `reading` reads, checks, copies and repairs. Every row carries a checksum, and damaged rows are named and
left out. Beside `name.sqlite` lie `name.sqlite-wal` and `-shm` while it is open (part of the data: copy all or none),
`name.sqlite.lock`, and `name.sqlite-aside`, which can be made again.
"""

import asyncio
import ctypes
import sys
import weakref
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact, Relation
from hive_mind.sqlite import Worker
from hive_mind.sqlite.file import connect_for_reading, translating
from hive_mind.store import Change, FactStore, Link, Narrow, check
from hive_mind.store.sqlite.reading import Part, Reading, RecordReader, backup, problems, repair, restore
from hive_mind.store.sqlite.record import Health, RecordFile, RecordView, aside_of
from hive_mind.store.sqlite.rows import EPISODE, FACT, FORMAT, NodeRow

__all__ = ["backup", "facts_in", "open", "open_for_reading", "problems", "repair", "restore"]


async def open(path: Path) -> FactStore:
    """The record in the file `path`, created with its folder if it does not exist, for its owner's eyes only.

    Raises `DatabaseLocked`, `DatabaseUnreadable` or `BackendError`; the file is then as it was.
    """
    health = Health(path)
    worker = Worker[RecordFile, Change](partial(RecordFile, path, health), name=f"record {path.name}")
    await worker.start()
    return SqliteStore(worker, health)


async def open_for_reading(path: Path) -> FactStore:
    """The record in the file `path` as it is at this moment, also while others read or write it. It takes no lock.

    Where there is none yet, it is opened to write first. Raises like `open`.
    """
    if not await asyncio.to_thread(path.exists):
        await (await open(path)).close()
    health = Health(path)
    view = await asyncio.to_thread(RecordView, path, health)
    worker = Worker[RecordView, Change](lambda: view, name=f"view of {path.name}")
    await worker.start()
    return SqliteView(worker, health, view)


def facts_in(path: Path) -> list[Fact]:
    """All facts of a record as it is at this moment, also while its owner has it open. Raises like `RecordReader`."""
    with RecordReader(path) as reader:
        return [node.value for node in reader.nodes_since(0) if isinstance(node.value, Fact)]


_Answer = TypeVar("_Answer")

# Ticks in a page: its rows of one kind are fewer.
PAGE_TICKS = 8192


class SqliteStore:
    """See `store.FactStore`."""

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

    def facts(self) -> AsyncIterator[Sequence[Fact]]:
        return self._nodes(FACT)

    def all_episodes(self) -> AsyncIterator[Sequence[Episode]]:
        return self._nodes(EPISODE)

    def vectors(self, model: str) -> AsyncIterator[Mapping[str, Narrow]]:
        return self._pages(lambda reading, part: reading.vectors(model, part))

    def links(self) -> AsyncIterator[Sequence[Link]]:
        return self._pages(lambda reading, part: [edge.link for edge in reading.edges(part)])

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
        return await self._worker.do(lambda _: aside_of(self._health.path))

    async def tidy(self) -> None:
        await self._worker.do(lambda record: record.tidy())

    async def scrub(self) -> None:
        self._close_at_once()
        await self._worker.do(lambda record: record.scrub())

    async def close(self) -> None:
        self._close_at_once()
        await self._worker.close()
        self._forgotten.detach()
        # An agent that sleeps should not go on taking its index's room. glibc only.
        if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
            trim(0)

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
            where = "WHERE seq > ? AND seq <= ? AND +kind = ? ORDER BY seq"
            node_rows = list(reading.rows(NodeRow, where, *part, kind))
            rows, sums = rows + len(node_rows), sums + sum(row.sum for row in node_rows)
            return [value for _, value in reading.themselves(node_rows)]

        tick = await self._worker.do(lambda record: record.tick)
        async for values in self._pages(page):
            yield values

        def compare(record: RecordFile | RecordView) -> None:
            """Look whether this reading of a whole kind found all that was written, where nothing was written since."""
            if record.tick == tick and not self._health.damaged:
                record.ask(lambda reading: reading.name_missing(kind, rows, sums))

        await self._worker.do(compare)

    async def _pages(self, page: Callable[[Reading, Part], _Answer]) -> AsyncIterator[_Answer]:
        """All pages of what there was when the first was asked for; none that is empty."""
        last = await self._worker.do(lambda record: record.tick)

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


class SqliteView(SqliteStore):
    """The store over a view of a record. Its `fetch` is of the same moment as all else."""

    def __init__(self, worker: Worker[RecordView, Change], health: Health, view: RecordView) -> None:
        super().__init__(worker, health)
        self._view = view

    def fetch(self, id: str) -> Fact | None:
        return self._view.ask(lambda reading: reading.by_id((id,), Fact)).get(id)
