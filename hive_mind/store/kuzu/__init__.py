"""Facts in a Kuzu graph database: one file per agent, durable when `write` returns, safe to kill at any moment.

`open` is all that others need. One thread owns each database (`worker`); `database` is its life from opening to closing,
`commit` and `reading` are its statements, `engine` is the only file that knows the kuzu package. Kuzu's own full-text and
vector indexes are not used: what is searched is kept in memory by those who search.
"""

from functools import partial
from pathlib import Path

from hive_mind.store.base import FactStore
from hive_mind.store.kuzu.database import Database
from hive_mind.store.kuzu.settings import KuzuSettings
from hive_mind.store.kuzu.store import KuzuStore
from hive_mind.store.kuzu.worker import Worker

__all__ = ["KuzuSettings", "open"]


async def open(path: Path, settings: KuzuSettings = KuzuSettings()) -> FactStore:  # noqa: B008 - see base; frozen
    """The store in the file `path`, created with its folder if it does not exist.

    Raises `DatabaseLocked`, `DatabaseUnreadable` or `BackendError`; the file is then as it was.
    """
    worker = Worker(partial(Database, path, settings), settings, name=f"kuzu {path.name}")
    await worker.start()
    return KuzuStore(worker, settings)
