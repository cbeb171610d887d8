"""A file in a folder that can't be written to: on a read-only disk, or another user's. It can be asked, and nothing else.

Neither a lock nor the memory that SQLite shares among processes can be made there. Where nobody wrote since the log was
written back, the file is read as it lies. Otherwise a process that has it open shares that memory, or a killed one has left
a log: then a copy of both is read. A disk without room for that memory is no different.
"""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path


def is_unwritable(path: Path) -> bool:
    """Whether the file is there and nothing can be made beside it."""
    return path.is_file() and not os.access(path.parent, os.W_OK | os.X_OK)


def connect(path: Path, log: Path) -> sqlite3.Connection:
    """A connection that only reads."""
    if not log.exists() or not log.stat().st_size:
        return reading(path, "&immutable=1")
    with suppress(sqlite3.OperationalError):
        return begun(reading(path))
    return connect_copy(path, log)


def connect_copy(path: Path, log: Path, change: Callable[[sqlite3.Connection], None] | None = None) -> sqlite3.Connection:
    """A connection that only reads a copy, which `change` may change before. No name of the copy is left."""
    with tempfile.TemporaryDirectory(prefix="hive-mind-") as folder:
        copy = Path(folder) / path.name
        shutil.copyfile(path, copy)
        if log.exists():
            shutil.copyfile(log, copy.with_name(log.name))
        with closing(sqlite3.connect(copy, isolation_level=None)) as writing:
            # Without a log of its own it can be read once its name is gone.
            writing.execute("PRAGMA journal_mode = DELETE")
            if change:
                change(writing)
        return begun(reading(copy, "&immutable=1"))


def reading(path: Path, options: str = "") -> sqlite3.Connection:
    """A connection that changes nothing, for any thread, one after the other; `more` are parameters of SQLite's address."""
    address = f"{path.as_uri()}?mode=ro{options}"
    return sqlite3.connect(address, uri=True, isolation_level=None, timeout=5, check_same_thread=False)


def begun(connection: sqlite3.Connection) -> sqlite3.Connection:
    """With the file and its log open: SQLite opens them at the first look."""
    try:
        connection.execute("PRAGMA schema_version").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection
