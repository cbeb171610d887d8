"""What was made of a record and lies beside it: whole or not there, and no loss where it is gone.

It is not synced: a power failure may leave half of it, which its checksum then shows.
"""

import os
from contextlib import suppress
from pathlib import Path
from zlib import crc32

_SUM_BYTES = 4


def put(record: Path, made: bytes) -> None:
    """Replace what was there. Where the disk has no room for it, nothing is left there."""
    place, draft = _place(record), record.with_name(f"{record.name}-aside.new")
    try:
        file = os.open(draft, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(file, "wb") as out:
            out.write(_sum(made))
            out.write(made)
        draft.replace(place)
    except OSError:
        for left in (draft, place):
            with suppress(OSError):
                left.unlink()


def get(record: Path) -> bytes:
    """What was put there; nothing where it can't be read or is not as it was written."""
    try:
        read = _place(record).read_bytes()
    except OSError:
        return b""
    made = read[_SUM_BYTES:]
    return made if _sum(made) == read[:_SUM_BYTES] else b""


def _sum(made: bytes) -> bytes:
    return crc32(made).to_bytes(_SUM_BYTES, "big")


def remove(record: Path) -> None:
    """Leave nothing there."""
    _place(record).unlink(missing_ok=True)


def _place(record: Path) -> Path:
    return record.with_name(f"{record.name}-aside")
