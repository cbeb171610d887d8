"""Where copies of memories went: backups, exports and archives, so that an erasure finds them.

One line of JSON each, in `copies.jsonl` of a home. A copy that somebody has moved is not found: the how-to says so.
"""

import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from hive_mind.private import private_folder
from hive_mind.replacing import remove_abandoned

_log = logging.getLogger(__name__)

Kind = Literal["backup", "facts", "archive"]


class Copied(msgspec.Struct, frozen=True):
    """A file that was written. `of` is the agent or the fleet."""

    path: str
    kind: Kind
    of: str


def note_copy(home: Path, path: Path, kind: Kind, of: str) -> None:
    """Remember a copy, on disk when this returns. Halves of copies whose writers were killed are removed, and named.

    A home that can't be written to is copied all the same: nothing can be erased there either.
    """
    if not os.access(home, os.W_OK | os.X_OK):
        _log.warning("%s can't be written to: it is not noted there that %s is a copy of %s, for erasures", home, path, of)
        return
    private_folder(home)
    for half in remove_abandoned(*(Path(copied.path) for copied in noted(home))):
        _log.warning("%s: half of a copy that was interrupted; it is removed", half)
    line = msgspec.json.encode(Copied(str(path.absolute()), kind, of)) + b"\n"
    descriptor = os.open(home / "copies.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(descriptor, line)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def noted(home: Path) -> list[Copied]:
    """All copies, each once, whether they are still there or never were finished."""
    path, copies_noted = home / "copies.jsonl", dict[Copied, None]()
    for line in path.read_bytes().splitlines() if path.exists() else ():
        # Power may have failed while a line was written: its copy was not begun then.
        with suppress(msgspec.DecodeError):
            copies_noted[msgspec.json.decode(line, type=Copied)] = None
    return list(copies_noted)


def copies(home: Path) -> list[Copied]:
    """Those that are still where they were written."""
    return [copied for copied in noted(home) if Path(copied.path).exists()]
