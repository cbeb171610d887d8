"""Whether everything that is named is also held, for more ids than should be in RAM.

Ids are dealt by their first bits into small files, which stay in RAM while they are small; named and held ids under the same bits
are then compared, one file after the other.
"""

from collections.abc import Iterator
from heapq import nsmallest
from tempfile import SpooledTemporaryFile

# 128 files at most are open. A million ids are then 31,000 in a file, some 3 MB as a set.
_FILES = 64
# Together 8 MB before anything goes to disk.
_IN_RAM_BYTES = 64 << 10
_ID_BYTES, _PLACE_BYTES = 16, 8


class NamedIds:
    """Ids of 32 hexadecimal digits. Use it as a context: it may have files."""

    def __init__(self) -> None:
        self._held = [_file() for _ in range(_FILES)]
        self._named = [_file() for _ in range(_FILES)]
        self._count = 0

    def hold(self, id: str) -> None:
        digest = bytes.fromhex(id)
        self._held[digest[0] % _FILES].write(digest)

    def name(self, id: str) -> None:
        """This one must be there, before or after."""
        digest = bytes.fromhex(id)
        self._count += 1
        self._named[digest[0] % _FILES].write(digest + self._count.to_bytes(_PLACE_BYTES, "big"))

    def missing(self, shown: int) -> tuple[list[str], int]:
        """Ids named and not held: the first ones, up to a limit, and their total."""
        first, count = list[tuple[bytes, bytes]](), 0
        for held, named in zip(self._held, self._named, strict=True):
            absent = _absent(held, named)
            count += len(absent)
            first = nsmallest(shown, [*first, *((place, id) for id, place in absent.items())])
        return [id.hex() for _, id in first], count

    def __enter__(self) -> "NamedIds":
        return self

    def __exit__(self, *_: object) -> None:
        for file in (*self._held, *self._named):
            file.close()


def _file() -> "SpooledTemporaryFile[bytes]":
    return SpooledTemporaryFile(_IN_RAM_BYTES)


def _absent(held: "SpooledTemporaryFile[bytes]", named: "SpooledTemporaryFile[bytes]") -> dict[bytes, bytes]:
    """Where each was named first."""
    known = set(_pieces(held, _ID_BYTES))
    absent: dict[bytes, bytes] = {}
    for piece in _pieces(named, _ID_BYTES + _PLACE_BYTES):
        if (digest := piece[:_ID_BYTES]) not in known:
            absent.setdefault(digest, piece[_ID_BYTES:])
    return absent


def _pieces(file: "SpooledTemporaryFile[bytes]", size: int) -> Iterator[bytes]:
    file.seek(0)
    while piece := file.read(size):
        yield piece
