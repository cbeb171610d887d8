"""A ledger in an SQLite file: durable when `append` returns, safe to kill at any moment, needs no package.

`hive_mind.sqlite` owns the file, `database` holds its statements. Alone, a process keeps everybody else out and takes no locks;
shared, several append to one file in turns and look often for what the others wrote. Beside `name.sqlite` lie `name.sqlite-wal`
and `-shm` while it is open (part of the data: copy all or none), `name.sqlite.lock` and, once it was shared, `name.sqlite.turn`.
"""

import weakref
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path

from hive_mind.ledger._following import Arrivals, followed
from hive_mind.ledger.base import Ledger, Page, check, check_drop
from hive_mind.ledger.sqlite.database import Append, Database, Drop
from hive_mind.model.entry import Entry, Head
from hive_mind.sqlite.worker import Worker

# Nobody tells of what another process appends. A person's decision should take effect at once, and a look costs some 20 µs.
_LOOK_EVERY_S = 0.1


async def open(path: Path, is_shared: bool = False) -> Ledger:
    """The ledger in the file `path`, created with its folder if it does not exist, for its owner's eyes only.

    Raises `DatabaseLocked`, `DatabaseUnreadable` or `BackendError`; the file is then as it was.
    """
    arrivals = Arrivals()
    worker = Worker[Database, Append | Drop](partial(Database, path, arrivals.notify, is_shared), name=f"ledger {path.name}")
    await worker.start()
    return _SqliteLedger(worker, arrivals, _LOOK_EVERY_S if is_shared else None)


class _SqliteLedger:
    """See `base.Ledger`."""

    def __init__(self, worker: Worker[Database, Append | Drop], arrivals: Arrivals, look_every_s: float | None) -> None:
        self._worker, self._arrivals, self._look_every_s = worker, arrivals, look_every_s
        # A ledger that is forgotten closes when it is collected, or at the latest when the interpreter ends.
        self._forgotten = weakref.finalize(self, worker.stop)

    async def append(self, stream: str, seq: int, entries: Sequence[Entry]) -> bool:
        """All entries, durable when this returns, or False and none."""
        append = Append(stream, seq, tuple(entries))
        check(stream, seq, append.entries)
        await self._worker.write((append,))
        return append.is_kept

    async def drop(self, heads: Sequence[Head], stream: str, entries: Sequence[Entry]) -> bool:
        """All of them, durable when this returns, or False and none."""
        drop = Drop(tuple(heads), stream, tuple(entries))
        check_drop(stream, drop.entries)
        await self._worker.write((drop,))
        return drop.is_kept

    async def read(self, stream: str, since: int = 0) -> list[Entry]:
        return await self._worker.do(lambda database: database.read(stream, since))

    async def heads(self, prefix: str) -> list[Head]:
        return await self._worker.do(lambda database: database.heads(prefix))

    async def newer(self, since_pos: int, prefix: str = "") -> Page:
        return await self._worker.do(lambda database: database.newer(since_pos, prefix))

    def follow(self, since_pos: int, prefix: str = "") -> AsyncIterator[Entry]:
        """Existing entries, and those to come, also from other processes."""
        return followed(lambda since: self.newer(since, prefix), self._arrivals, since_pos, self._look_every_s)

    async def close(self) -> None:
        """Finish what was handed in, write the log back, release the file, end the thread."""
        self._arrivals.end()
        await self._worker.close()
        self._forgotten.detach()
