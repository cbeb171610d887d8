"""One command at a time changes what is in use: a lock on the workspace.

The operating system releases it when its holder dies, so a file left behind harms nobody.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hive_mind.errors import ConfigError
from hive_mind.retrieval.writing import writable

if sys.platform != "win32":
    import fcntl


class WorkspaceBusy(ConfigError):
    """Somebody else deploys in this workspace."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"another process is deploying in {folder}: wait until it has ended, or stop it")


@contextmanager
def workspace_lock(folder: Path) -> Iterator[None]:
    """Held inside the block. Raises at once: `WorkspaceBusy` when somebody holds it, `InvalidInput` where none can be made."""
    file = folder / ".deploying.lock"
    with writable(file):
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        if not _taken(descriptor):
            raise WorkspaceBusy(folder)
        yield
    finally:
        os.close(descriptor)


def _taken(descriptor: int) -> bool:
    if sys.platform != "win32":
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True
