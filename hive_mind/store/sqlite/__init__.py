"""An agent's record in an SQLite file: durable when `write` returns, safe to kill at any moment.

`open` is all that memories need; `open_for_reading` is for those that only look; `facts_in` reads while another process writes;
`problems`, `repair`, `backup` and `restore` are for operators. `hive_mind.sqlite` owns the file; `schema` defines its tables and
`rows` their rows; `committing` writes, `reading` reads and checks. Every row carries a checksum, and damaged rows are named and
left out. Beside `name.sqlite` lie `name.sqlite-wal` and `-shm` while it is open (part of the data: copy all or none),
`name.sqlite.lock`, and `name.sqlite-aside`, which can be made again.
"""

import asyncio
from functools import partial
from pathlib import Path

from hive_mind.model.fact import Fact
from hive_mind.sqlite.worker import Worker
from hive_mind.store.base import Change, FactStore
from hive_mind.store.sqlite.reading import RecordReader, problems
from hive_mind.store.sqlite.record import Health, RecordFile, RecordView
from hive_mind.store.sqlite.repair import backup, repair, restore
from hive_mind.store.sqlite.store import SqliteStore, SqliteView

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
