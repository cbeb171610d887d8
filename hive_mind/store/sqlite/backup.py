"""A second copy of a record, taken while its agent writes, and put back.

A copy is of one moment and complete in itself: one file, without a log. It gets its name once it was read again and found whole.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

from hive_mind.errors import BackendError, DatabaseUnreadable
from hive_mind.private import private_folder
from hive_mind.replacing import replacing
from hive_mind.sqlite.file import connect_for_reading, owned, translating, unreadable
from hive_mind.sqlite.replacement import mend, replace_database
from hive_mind.store.sqlite.reading import RecordReader, problems
from hive_mind.store.sqlite.rows import FORMAT

_PAGES_PER_STEP = 4096


def backup(path: Path, target: Path) -> int:
    """Copy the record at `path` to `target`, which must not exist. Returns how many facts the copy holds.

    Raises `DatabaseUnreadable` where the record is damaged, `BackendError` where the disk fails.
    """
    with translating(target, FORMAT), replacing(target) as unfinished:
        _copy(path.resolve(), unfinished)
    with RecordReader(target) as reader:
        return reader.counts()["facts"]


def restore(copy: Path, path: Path) -> Path | None:
    """Put a copy in the place of the record at `path`. The file there is kept under another name, which is returned.

    Raises `DatabaseLocked` where the record is in use, `DatabaseUnreadable` for a copy that is damaged or none.
    """
    _refuse_damaged(copy)
    path = path.resolve()
    with translating(path, FORMAT):
        private_folder(path.parent)
    made_path = path.with_name(path.name + ".restoring")
    with owned(path, FORMAT), translating(path, FORMAT):
        mend(path)
        with replacing(made_path) as unfinished:
            _copy(copy.resolve(), unfinished)
        return replace_database(path, made_path, "before")


def _refuse_damaged(copy: Path) -> None:
    if found := problems(copy):
        raise unreadable(copy, f"is damaged ({found[0]})", "restore another copy")


def _copy(path: Path, unfinished: Path) -> None:
    """All of a record at one moment, what is in its log, too; read again."""
    with closing(connect_for_reading(path, FORMAT)) as source, closing(sqlite3.connect(unfinished, isolation_level=None)) as copy:
        # One moment for all steps: writes made meanwhile are not in the copy.
        source.execute("BEGIN")
        source.backup(copy, pages=_PAGES_PER_STEP)
        copy.execute("PRAGMA journal_mode = DELETE")
    try:
        _refuse_damaged(unfinished)
    except DatabaseUnreadable as error:
        raise BackendError("sqlite", f"the copy is not whole: {error}") from error
