"""Where copies of memories went: backups, exports and archives, so that an erasure finds them.

One line of JSON each, in `copies.jsonl` of a home. A copy that somebody has moved is not found: the how-to says so.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from hive_mind.private import private_folder

Kind = Literal["backup", "facts", "archive"]


class Copied(msgspec.Struct, frozen=True):
    """A file that was written. `of` is the agent or the fleet."""

    path: str
    kind: Kind
    of: str


def note_copy(home: Path, path: Path, kind: Kind, of: str) -> None:
    """Remember a copy, on disk when this returns."""
    private_folder(home)
    line = msgspec.json.encode(Copied(str(path.absolute()), kind, of)) + b"\n"
    descriptor = os.open(home / "copies.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(descriptor, line)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def copies(home: Path) -> Iterator[Copied]:
    """Those that are still where they were written, each once."""
    path = home / "copies.jsonl"
    lines = path.read_bytes().splitlines() if path.exists() else []
    seen = dict.fromkeys(msgspec.json.decode(line, type=Copied) for line in lines if line.strip())
    return (one for one in seen if Path(one.path).exists())
