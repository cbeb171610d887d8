"""The `FactStore` face of a Kuzu database: checks what comes in, and asks the thread that owns the file."""

import weakref
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact, Relation
from hive_mind.store._checks import check
from hive_mind.store.base import Change, Link, Vector
from hive_mind.store.kuzu import reading
from hive_mind.store.kuzu.database import Database
from hive_mind.store.kuzu.engine import Engine
from hive_mind.store.kuzu.reading import Page
from hive_mind.store.kuzu.settings import KuzuSettings
from hive_mind.store.kuzu.worker import Worker

_Found = TypeVar("_Found")


class KuzuStore:
    """See `base.FactStore`. Made by `hive_mind.store.kuzu.open`."""

    def __init__(self, worker: Worker, settings: KuzuSettings) -> None:
        self._worker, self._settings = worker, settings
        # A store that is forgotten closes when it is collected, or at the latest when the interpreter ends.
        self._forgotten = weakref.finalize(self, worker.stop)

    async def write(self, changes: Sequence[Change]) -> None:
        """All changes or none, durable when this returns. Writes that wait together share one commit."""
        check(changes)
        if changes:
            await self._worker.write(tuple(changes))

    async def facts(self) -> AsyncIterator[Sequence[Fact]]:
        """Every fact there was when the first batch was taken, each as it is when its batch is taken."""
        async for found in self._pages(reading.facts):
            if found:
                yield found

    async def vectors(self, model: str) -> AsyncIterator[Mapping[str, Vector]]:
        """Every cached embedding of `model`."""
        async for found in self._pages(lambda engine, page: reading.vectors(engine, model, page)):
            if found:
                yield found

    async def find(self, ids: Iterable[str]) -> Mapping[str, Fact]:
        """The facts that exist among `ids`."""
        wanted = set(ids)
        return {fact.id: fact async for batch in self.facts() for fact in batch if fact.id in wanted}

    async def damage(self) -> Sequence[str]:
        """Kuzu has no checksums: nothing is known."""
        return ()

    async def episodes(self, ids: Iterable[str]) -> Mapping[str, Episode]:
        """The episodes that exist among `ids`."""
        wanted = tuple(ids)
        return await self._read(lambda engine: reading.episodes(engine, wanted))

    async def all_episodes(self) -> AsyncIterator[Sequence[Episode]]:
        """Every episode, in the order they were added."""
        async for found in self._pages(reading.all_episodes):
            if found:
                yield found

    async def links(self) -> AsyncIterator[Sequence[Link]]:
        """Every edge."""
        async for found in self._pages(reading.links):
            if found:
                yield found

    async def linked(self, relation: Relation, id: str, *, backwards: bool = False) -> Sequence[str]:
        """Ids at the other end."""
        return await self._read(lambda engine: reading.linked(engine, relation, id, backwards=backwards))

    async def meta(self) -> Mapping[str, str]:
        """All named values."""
        return await self._read(reading.meta)

    async def counts(self) -> Mapping[str, int]:
        """How many of each."""
        return await self._read(reading.counts)

    async def tidy(self) -> None:
        """Write the log back into the file, however short: 16 MB of memory go with it. Takes some 100 ms."""
        await self._worker.read(Database.tidy)

    async def close(self) -> None:
        """Finish what was handed in, write the log back if it is long, release the file, end the thread."""
        await self._worker.close()
        self._forgotten.detach()

    async def _read(self, work: Callable[[Engine], _Found]) -> _Found:
        return await self._worker.read(lambda database: database.read(work))

    async def _pages(self, read: Callable[[Engine, Page], _Found]) -> AsyncIterator[_Found]:
        end = await self._worker.read(lambda database: database.last_seq)
        for after in range(0, end, self._settings.page_rows):
            page = (after, min(after + self._settings.page_rows, end))
            yield await self._read(partial(_swapped, read, page))


def _swapped(read: Callable[[Engine, Page], _Found], page: Page, engine: Engine) -> _Found:
    return read(engine, page)
