"""Writing a small file so that it is there whole or not at all."""

import os
import secrets
from pathlib import Path

from hive_mind.private import private_folder

PRIVATE = 0o600
"""For its owner alone."""
READABLE = 0o666
"""To be sent, shown or edited by anybody: the user's own mask decides who else may."""


def write_whole(path: Path, body: bytes, mode: int = PRIVATE) -> None:
    """After a crash the file has the former content or this one. A link is replaced, what it led to stays as it is.

    Raises `OSError` that names the file.
    """
    if mode == PRIVATE:
        private_folder(path.parent)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
    # A name nobody else has: two writers never mix, and what a crash leaves behind harms nobody.
    unfinished = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as error:
        # Writing knows a descriptor only.
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        unfinished.unlink(missing_ok=True)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """A new name is on disk only when its folder is. Not everywhere can a folder be opened."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
