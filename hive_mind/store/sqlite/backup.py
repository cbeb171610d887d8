"""A second copy of a record, taken while its agent writes, and put back.

A copy is of one moment and complete in itself: one file, without a log. It gets its name once it was read again and found whole.
"""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from hive_mind.errors import BackendError, DatabaseUnreadable
from hive_mind.private import private_folder
from hive_mind.sqlite.file import connect_for_reading, free_name, log_path, owned, sync_file, sync_folder, translating, unreadable
from hive_mind.store.sqlite.reading import RecordReader, problems
from hive_mind.store.sqlite.rows import FORMAT

_PAGES_PER_STEP = 4096


def backup(path: Path, target: Path) -> int:
    """Copy the record at `path` to `target`, which must not exist. Returns how many facts the copy holds.

    Raises `DatabaseUnreadable` where the record is damaged, `BackendError` where the disk fails.
    """
    unfinished = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        with closing(connect_for_reading(path.resolve(), FORMAT)) as source, translating(target, FORMAT):
            os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            # One moment for all steps: writes made meanwhile are not in the copy.
            source.execute("BEGIN")
            with closing(sqlite3.connect(unfinished, isolation_level=None)) as copy:
                source.backup(copy, pages=_PAGES_PER_STEP)
                copy.execute("PRAGMA journal_mode = DELETE")
        _publish(unfinished, target)
        with RecordReader(target) as reader:
            return reader.counts()["facts"]
    finally:
        unfinished.unlink(missing_ok=True)


def restore(copy: Path, path: Path) -> Path | None:
    """Put a copy in the place of the record at `path`. The file there is kept under another name, which is returned.

    Raises `DatabaseLocked` where the record is in use, `DatabaseUnreadable` for a copy that is damaged or none.
    """
    _refuse_damaged(copy)
    path = path.resolve()
    with translating(path, FORMAT):
        private_folder(path.parent)
    unfinished = path.with_name(path.name + ".restored")
    with owned(path, FORMAT):
        try:
            shutil.copyfile(copy, unfinished)
            unfinished.chmod(0o600)
            former = _put_aside(path)
            _publish(unfinished, path)
            return former
        finally:
            unfinished.unlink(missing_ok=True)


def _put_aside(path: Path) -> Path | None:
    if not path.exists() and not log_path(path).exists():
        return None
    former = free_name(path, "before")
    # The log last: while it has no file beside it, nobody can open it as something else.
    for source, target in ((path, former), (log_path(path), log_path(former))):
        if source.exists():
            source.replace(target)
    return former


def _refuse_damaged(copy: Path) -> None:
    if found := problems(copy):
        raise unreadable(copy, f"is damaged ({found[0]})", "restore another copy")


def _publish(unfinished: Path, target: Path) -> None:
    try:
        _refuse_damaged(unfinished)
    except DatabaseUnreadable as error:
        raise BackendError("sqlite", f"the copy is not whole: {error}") from error
    sync_file(unfinished)
    unfinished.replace(target)
    sync_folder(target.parent)
