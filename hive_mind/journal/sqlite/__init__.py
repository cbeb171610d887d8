"""A journal in an SQLite file: durable when `write` returns, safe to kill at any moment, needs no package.

`open` is all that nodes need; `read` is for looking at a journal from outside. `hive_mind.sqlite` owns the file, `database`
holds its statements. Beside `name.sqlite` lie `name.sqlite-wal` while it is open (part of the
data: copy both or none) and `name.sqlite.lock`.
"""

import weakref
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from hive_mind.hive.effects import Kept, Record
from hive_mind.journal.base import Journal
from hive_mind.journal.sqlite.database import Database
from hive_mind.journal.sqlite.snapshot import read
from hive_mind.sqlite.worker import Worker

__all__ = ["open", "read"]


async def open(path: Path) -> Journal:
    """The journal in the file `path`, created with its folder if it does not exist, for its owner's eyes only.

    Raises `DatabaseLocked`, `DatabaseUnreadable` or `BackendError`; the file is then as it was.
    """
    worker = Worker[Database, Record](partial(Database, path), name=f"journal {path.name}")
    await worker.start()
    return _SqliteJournal(worker)


class _SqliteJournal:
    """See `base.Journal`."""

    def __init__(self, worker: Worker[Database, Record]) -> None:
        self._worker = worker
        # A journal that is forgotten closes when it is collected, or at the latest when the interpreter ends.
        self._forgotten = weakref.finalize(self, worker.stop)

    async def load(self) -> list[Kept]:
        return await self._worker.do(Database.load)

    async def write(self, records: Sequence[Record]) -> None:
        await self._worker.write(tuple(records))

    async def scrub(self) -> None:
        """Leave no byte of what was deleted or set aside."""
        await self._worker.do(Database.scrub)

    async def close(self) -> None:
        """Finish what was handed in, write the log back, release the file, end the thread."""
        await self._worker.close()
        self._forgotten.detach()
