"""The files of a workspace, each written whole or not at all and readable for those who may read its folder; and its lock.

The lock lets one command at a time change what is in use.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hive_mind import safe_files
from hive_mind.errors import ConfigError, InvalidInput
from hive_mind.safe_files import try_lock


def write_whole(path: Path, text: str) -> None:
    """After a crash the file has the former content or this one. A link is replaced, what it led to stays as it is.

    Raises `InvalidInput` where it can't be written.
    """
    with writable(path):
        safe_files.write_whole(path, text.encode(), safe_files.READABLE)


def append_line(path: Path, line: str) -> None:
    """Add a line to a file, durable. The remains of a line after a crash are taken out first. Raises `InvalidInput` as above."""
    if path.is_symlink():
        # A workspace may come from somebody else: what its links lead to is not ours to add to, let alone to cut.
        raise InvalidInput(f"{path} is a link: put the file itself there")
    with writable(path), path.open("a+b") as file:
        file.seek(0)
        content = file.read()
        if content and not content.endswith(b"\n"):
            file.truncate(content.rfind(b"\n") + 1)
        file.write(line.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    safe_files.sync_folder(path.parent)


@contextmanager
def writable(path: Path) -> Iterator[None]:
    """Translate errors of writing into words. Raises `InvalidInput`."""
    try:
        yield
    except OSError as error:
        raise InvalidInput(f"{path} can't be written ({error.strerror or error}): make room, or make it writable") from error


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
        if not try_lock(descriptor):
            raise WorkspaceBusy(folder)
        yield
    finally:
        os.close(descriptor)
