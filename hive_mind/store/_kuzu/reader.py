"""The parent's side of `old`: started over a copy, asked for pages, killed when it does not answer.

Kuzu can't say beforehand how much memory a file takes, so it is started with little and again with more. A copy that does not
open by itself is mended as far as Kuzu lets us.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hive_mind.errors import BackendError
from hive_mind.store._kuzu.pipe import Child, PipeClosed, code_of
from hive_mind.store._kuzu.place import LOG, copied, part, size, unreadable

# A cap, not a reservation: Kuzu takes it as needed.
POOLS_MB = (64, 256, 1024, 4096)
# Of a log of 100 MB, or a page of long texts on a slow disk.
_SILENCE_MAX_S = 120.0

Rows = list[list[Any]]


@dataclass(frozen=True, slots=True)
class Table:
    """As the reader found it. `rows` counts places, also of rows that were deleted."""

    name: str
    kind: str
    columns: list[str]
    rows: int


class Failed(Exception):
    """It could not be read: the message says why. `is_over`: the process is gone. `is_out_of_pool`: more memory may do."""

    def __init__(self, why: str, *, is_over: bool) -> None:
        super().__init__(why)
        self.is_over, self.is_out_of_pool = is_over, "Buffer manager exception" in why


class GraphReader:
    """A process over a copy. Made by `opened`."""

    def __init__(self, path: Path, pool: int, child: Child) -> None:
        self.path, self.pool, self._child = path, pool, child
        self.tables: dict[str, Table] = {}

    async def ask(self, name: str, **arguments: object) -> AsyncIterator[Rows]:
        """Its answer, some rows at a time. Raises `Failed`, perhaps after some."""
        await self._child.send(name, arguments)
        while (message := await self.message())[0] == "rows":
            yield message[1]

    async def message(self) -> list[Any]:
        """The next one. Raises `Failed`."""
        try:
            message = await self._child.receive(_SILENCE_MAX_S)
        except TimeoutError:
            raise Failed(f"no answer within {_SILENCE_MAX_S:.0f} s", is_over=True) from None
        except PipeClosed as ended:
            raise Failed(f"reading it ended with {ended}", is_over=True) from None
        if message[0] == "error":
            raise Failed(message[1], is_over=not self.tables)
        return message

    async def close(self) -> None:
        await self._child.end()


async def opened(path: Path, pool: int = 0) -> GraphReader:
    """A reader of the copy at `path`, with the first pool from `pool` on that is large enough. Raises `Failed`."""
    while True:
        try:
            return await _opened_with(path, pool)
        except Failed as failed:
            pool += 1
            if not failed.is_out_of_pool or pool == len(POOLS_MB):
                raise


async def _opened_with(path: Path, pool: int) -> GraphReader:
    try:
        child = await Child.started(code_of("hive_mind.store._kuzu.old"), str(path), str(POOLS_MB[pool]))
    except OSError as error:
        raise BackendError("kuzu", f"no process can be started to read {path}: {error}") from error
    reader = GraphReader(path, pool, child)
    try:
        reader.tables = {table[0]: Table(*table) for table in (await reader.message())[1]}
    except BaseException:
        await reader.close()
        raise
    return reader


async def readable(path: Path, folder: Path, lose: Callable[[str], None]) -> tuple[GraphReader, Path | None]:
    """A reader of a copy of `path` made in `folder`, the best there is; and another copy, where that has the older edges.

    A checkpoint that did not come to its end (a kill, too little memory) leaves the rows as they were and their index broken. So
    the rows go into a new database, at the same places, and the log that was to be written back is replayed over that: nothing is
    lost. Where that fails, too, the log is. Raises `DatabaseUnreadable`.
    """
    copy = await asyncio.to_thread(copied, path, folder / "whole")
    copied_at = copy.stat().st_mtime_ns
    try:
        reader = await opened(copy)
    except Failed as failed:
        why = failed
    else:
        # It may have finished a checkpoint that was almost done: then the log is in the file.
        if copy.stat().st_mtime_ns == copied_at:
            _name_cut(path, copy, lose)
        return reader, None
    base, rebuilt = await asyncio.to_thread(copied, path, folder / "base", parts=("",)), folder / "rebuilt"
    try:
        reader = await opened(base)
    except Failed as failed:
        raise unreadable(path, f"can't be read ({failed})") from failed
    if not size(part(path, LOG)):
        return reader, None
    try:
        async for _ in reader.ask("rebuild", path=str(rebuilt)):
            pass
        mended = await opened(await asyncio.to_thread(copied, path, rebuilt, parts=(LOG,)))
    except Failed:
        lose(f"its log can't be replayed ({why}): what stood there is lost")
        await reader.close()
        return await opened(base), None
    await reader.close()
    _name_cut(path, rebuilt, lose)
    return mended, base


def _name_cut(path: Path, copy: Path, lose: Callable[[str], None]) -> None:
    """Kuzu takes what it does not understand of a log for a write that was not finished, and cuts it off."""
    log = size(part(path, LOG))
    if (cut := log - size(part(copy, LOG))) > 0:
        lose(f"the last {cut:,} of {log:,} bytes of its log hold no whole write: it is damaged there, or one was under way")
