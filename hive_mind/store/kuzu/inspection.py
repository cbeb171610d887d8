"""Looks at a file before Kuzu does: a file it can't read should be an error message, not the end of the process.

The header is always checked. A file that is not as its last owner left it (a crash, a copy, somebody's editor) is read once
from end to end in a process of its own, because a damaged page or another database's log can crash the process that reads
it. Nothing here changes a file.
"""

import os
import subprocess
import sys
from pathlib import Path

from hive_mind.errors import BackendTimeout, DatabaseUnreadable
from hive_mind.store.kuzu import engine
from hive_mind.store.kuzu.lock import Stamp, lock_path, log_path, stamp

_MAGIC = b"KUZU"
# Kuzu writes whole pages; a shorter file never was a database.
_PAGE_BYTES = 4096

# A reader may not repair what an interrupted checkpoint left; opening for writing does, and it is known to do it well.
_NOT_FOR_READERS = "read-only mode"
_LOCKED = "Could not set lock"


_MOVE_AWAY = "move the file and its .wal away together, or give another path, and restore a copy if you have one"


def unreadable(path: Path, what: str, advice: str = _MOVE_AWAY) -> DatabaseUnreadable:
    """The error for a file that can't be opened; says that nothing was changed and what to do."""
    return DatabaseUnreadable("kuzu", f"{path}: {what}. Nothing was changed; {advice}")


def check_header(path: Path) -> None:
    """Raises `DatabaseUnreadable` for what certainly is no database this version of Kuzu can read."""
    if path.is_dir():
        raise unreadable(path, "is a folder where a database file is wanted")
    if not path.exists():
        if log_path(path).exists():
            raise unreadable(path, f"is missing but its log {log_path(path).name} is there")
        return
    with path.open("rb") as file:
        head = file.read(_PAGE_BYTES)
    if not head.startswith(_MAGIC):
        raise unreadable(path, "is empty" if not head else "is not a Kuzu database")
    if len(head) < _PAGE_BYTES:
        raise unreadable(path, "is a Kuzu database cut short")
    version = int.from_bytes(head[4:12], "little")
    if version != engine.STORAGE_VERSION:
        what = f"has Kuzu's storage version {version}, the installed Kuzu reads {engine.STORAGE_VERSION}"
        raise unreadable(path, what, "open it with the hive-mind that wrote it, export its facts and import them here")


def check_log(path: Path, left_as: Stamp | None) -> None:
    """Raises `DatabaseUnreadable` when the log has lost bytes since the last owner closed it.

    What stood in them stands nowhere else, Kuzu would take what is left for all there ever was, and the next write would make
    that final. A log that Kuzu itself wrote back has changed the file, too.
    """
    if left_as is None:
        return
    (*file_then, log_bytes_then, _), (*file_now, log_bytes_now, _) = left_as, stamp(path)
    if file_now == file_then and log_bytes_now < log_bytes_then:
        log, lock = log_path(path).name, lock_path(path).name
        what = f"its log {log} had {log_bytes_then} bytes when it was closed and has {log_bytes_now}: facts are missing"
        raise unreadable(path, what, f"put the log back, restore a copy, or delete {lock} to open what is left")


def try_reading(path: Path, timeout_s: float) -> None:
    """Read the whole file in another process. Raises `DatabaseUnreadable` if that fails, `BackendTimeout` if it lasts."""
    if not sys.executable:
        return
    # -P: the folder of the script must not become importable, its file names are those of other modules.
    command = [sys.executable, "-P", engine.__file__, os.fspath(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=timeout_s, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        raise BackendTimeout(
            "kuzu", f"{path}: reading it took more than {timeout_s:.0f} s; raise trial_timeout_s for so large a file"
        ) from None
    complaint = done.stderr.strip().rpartition("\n")[2]
    if done.returncode == 0 or _NOT_FOR_READERS in complaint or _LOCKED in complaint:
        return
    crash = f"is damaged, or its log is another database's: reading it ended with signal {-done.returncode}"
    raise unreadable(path, crash if done.returncode < 0 else f"can't be read ({complaint})")
