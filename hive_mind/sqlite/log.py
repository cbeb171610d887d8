"""SQLite's files, read by us: whether a log has damage that SQLite would pass over in silence, rows out of a damaged file, and a
file in a folder that can't be written to.

SQLite replays a log up to the first frame with a wrong checksum and takes the rest for the tail of a write that a power failure
tore. Where whole writes stand behind that frame, it was no tail: they were acknowledged, and would be gone without a word.

For files with a checksum in each row every page of file and log is looked through, whatever the trees above say; the caller
decides which rows are sound. A page with a wrong header or pointers is searched byte by byte, so a flipped bit costs the row that
it hit and no other. The formats are SQLite's "WAL-mode File Format" and "Database File Format".

On a read-only disk, or another user's, neither a lock nor the memory that SQLite shares among processes can be made. Where nobody
wrote since the log was written back, the file is read as it lies. Otherwise a process that has it open shares that memory, or a
killed one has left a log: then a copy of both is read. A disk without room for that memory is no different.
"""

import logging
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from hive_mind.errors import DatabaseUnreadable
from hive_mind.safe_files import PassingFolder

_log = logging.getLogger(__name__)

HEADER_BYTES, _FRAME_HEADER_BYTES = 32, 24
# The lowest bit says in which byte order the checksums were made.
_MAGIC = 0x377F0682
_PAGE_MIN, _PAGE_MAX = 512, 65_536

Words = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Log:
    """The frames of one generation of a log, in order; each array has shape (frames,)."""

    page_bytes: int
    pages: NDArray[np.int64]
    """page number of each"""
    ends_write: NDArray[np.bool_]
    """the last frame of a commit, by a header of this generation"""
    is_sound: NDArray[np.bool_]
    """checksum and salt are as they should be"""
    images: NDArray[np.uint8]
    """shape (frames, page_bytes)"""
    has_sound_header: bool

    @property
    def damage(self) -> str:
        """Damage that SQLite would not report, "" for none: a sound write behind a frame that is not."""
        broken = np.flatnonzero(~self.is_sound)
        first = 0 if not self.has_sound_header else int(broken[0]) if len(broken) else len(self.pages)
        ends = np.flatnonzero(self.ends_write[first:])
        torn_until = first + int(ends[0]) if len(ends) else len(self.pages)
        behind = int(np.count_nonzero((self.is_sound & self.ends_write)[torn_until + 1 :]))
        return f"frame {first + 1} of its log is damaged, and {behind} acknowledged writes stand behind it" if behind else ""

    @property
    def is_torn(self) -> bool:
        return bool(len(self.pages)) and not (self.has_sound_header and bool(self.is_sound.all()))


def refuse_damaged_log(path: Path, advice: str) -> bool:
    """Raises `DatabaseUnreadable` where SQLite would drop acknowledged writes of a damaged log without a word.

    Otherwise whether the last write in it is torn.
    """
    log = read_log(path.with_name(path.name + "-wal"))
    if log is None:
        return False
    if damage := log.damage:
        raise DatabaseUnreadable("sqlite", f"{path}: {damage}. Nothing was changed; {advice}")
    if log.is_torn:
        _log.warning("%s: the last write in its log is incomplete and left out: machine or disk stopped it", path)
    return log.is_torn


def read_log(path: Path) -> Log | None:
    """The newest generation of frames in a log; None where there is none."""
    try:
        body = path.read_bytes()
    except FileNotFoundError:
        return None
    if len(body) < HEADER_BYTES + _FRAME_HEADER_BYTES + _PAGE_MIN:
        return None
    header = np.frombuffer(body, ">u4", 8)
    page_bytes = int(header[2])
    if not _PAGE_MIN <= page_bytes <= _PAGE_MAX or page_bytes & (page_bytes - 1):
        return None
    order = ">u4" if int(header[0]) & 1 else "<u4"
    has_sound_header = int(header[0]) & ~1 == _MAGIC and _checksum(body[:24], order, (0, 0)) == tuple(map(int, header[6:8]))
    count = (len(body) - HEADER_BYTES) // (_FRAME_HEADER_BYTES + page_bytes)
    frames = np.frombuffer(body, np.uint8, count * (_FRAME_HEADER_BYTES + page_bytes), HEADER_BYTES).reshape(count, -1)
    heads = frames[:, :_FRAME_HEADER_BYTES].copy().view(">u4")
    salts = header[4:6] if has_sound_header else heads[0, 2:4]
    has_salt = (heads[:, 2:4] == salts).all(axis=1)
    # Frames of an earlier generation behind the newest one are not part of it; one foreign salt in between may be a flipped bit.
    count = int(np.flatnonzero(has_salt)[-1]) + 1 if has_salt.any() else 0
    if not count:
        return None
    frames, heads, has_salt = frames[:count], heads[:count], has_salt[:count]
    seeds = np.vstack([header[6:8], heads[:-1, 4:6]]).astype(np.uint32)
    is_sound = has_salt & (_checksums(frames, order, seeds) == heads[:, 4:6].astype(np.uint32)).all(axis=1)
    return Log(
        page_bytes,
        heads[:, 0].astype(np.int64),
        # A frame that a power failure kept from the disk still holds one of an earlier generation, and ends nothing.
        (heads[:, 1] > 0) & has_salt,
        is_sound,
        frames[:, _FRAME_HEADER_BYTES:],
        has_sound_header,
    )


def _checksums(frames: NDArray[np.uint8], order: str, seeds: Words) -> Words:
    """The checksum of each frame, shape (frames, 2), begun with what the frame before it has stored."""
    covered = np.concatenate([frames[:, :8], frames[:, _FRAME_HEADER_BYTES:]], axis=1)
    words = np.ascontiguousarray(covered.view(order).astype(np.uint32).T)
    first, second = seeds[:, 0].copy(), seeds[:, 1].copy()
    for number in range(0, len(words), 2):
        first += words[number] + second
        second += words[number + 1] + first
    return np.stack([first, second], axis=1)


def _checksum(body: bytes, order: str, seed: tuple[int, int]) -> tuple[int, int]:
    first, second = seed
    words = np.frombuffer(body, order)
    for number in range(0, len(words), 2):
        first = (first + int(words[number]) + second) & 0xFFFFFFFF
        second = (second + int(words[number + 1]) + first) & 0xFFFFFFFF
    return first, second


Value = int | float | bytes | None
"""A column: text comes as its bytes."""

_LEAF, _FILE_HEADER_BYTES, _PAGE_HEADER_BYTES = 0x0D, 100, 8
# Pages of indexes, and the first byte of a long value's further pages: no rows, also after one flipped bit.
_NOT_ROWS = frozenset((0x00, 0x02, 0x0A))
_COLUMNS_MAX = 16
_INTEGER_BYTES = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)


class SalvagedRow(msgspec.Struct, frozen=True):
    """A row as it was found."""

    rowid: int
    values: Sequence[Value]
    is_sound: bool


Sound = Callable[[int, Sequence[Value]], bool]


class _Unparsable(Exception):
    """These bytes are no row."""


def rows(path: Path, log: Path, page_bytes: int, is_sound: Sound) -> Iterator[SalvagedRow]:
    """Every row of every table in a file and its log, as often as it is found; unsound ones as far as they can be read.

    Rows of the log come last. `page_bytes` is given, because the header may be what is damaged.
    """
    reader = _Reader(path, log, page_bytes, is_sound)
    for number in range(1, len(reader.file) // page_bytes + 1):
        yield from reader.rows_of(number, reader.page(number))
    for number, page in reader.logged:
        yield from reader.rows_of(number, page)


class _Reader:
    def __init__(self, path: Path, log: Path, page_bytes: int, is_sound: Sound) -> None:
        self.file = path.read_bytes() if path.exists() else b""
        self._page_bytes, self._is_sound = page_bytes, is_sound
        rows_read = read_log(log)
        frames = (
            list(zip(rows_read.pages, rows_read.images, strict=True)) if rows_read and rows_read.page_bytes == page_bytes else []
        )
        self.logged = [(int(number), image.tobytes()) for number, image in frames]
        self._newest = dict(self.logged)

    def page(self, number: int) -> bytes:
        return self.file[(number - 1) * self._page_bytes : number * self._page_bytes]

    def rows_of(self, number: int, page: bytes) -> Iterator[SalvagedRow]:
        start = _FILE_HEADER_BYTES if number == 1 else 0
        kind = page[start] if len(page) == self._page_bytes else 0
        if kind in _NOT_ROWS:
            return
        rows_read = list(self._by_pointers(page, start)) if kind == _LEAF else []
        yield from (row for row, _ in rows_read if row is not None)
        if kind != _LEAF or any(row is None or not row.is_sound for row, _ in rows_read) or not _adds_up(page, start, rows_read):
            yield from self._by_searching(page)

    def _by_pointers(self, page: bytes, start: int) -> Iterator[tuple[SalvagedRow | None, int]]:
        """Each row the page points to, with its size in bytes; None for a pointer to anything else."""
        first = start + _PAGE_HEADER_BYTES
        count = min(int.from_bytes(page[start + 3 : start + 5], "big"), (len(page) - first) // 2)
        for at in range(first, first + 2 * count, 2):
            try:
                yield self._row_at(page, int.from_bytes(page[at : at + 2], "big"))
            except _Unparsable:
                yield None, 0

    def _by_searching(self, page: bytes) -> Iterator[SalvagedRow]:
        for at in range(len(page) - 4):
            try:
                row, _ = self._row_at(page, at)
            except _Unparsable:
                continue
            if row.is_sound:
                yield row

    def _row_at(self, page: bytes, at: int) -> tuple[SalvagedRow, int]:
        size, after_size = _varint(page, at)
        rowid, body = _varint(page, after_size)
        local = _local_bytes(size, self._page_bytes)
        if size < 2 or body + local > len(page) or size > len(self.file) + len(self.logged) * self._page_bytes:
            raise _Unparsable
        _check_header(page, body)
        payload, position = page[body : body + local], body + local - at
        if local < size:
            payload += self._overflow(int.from_bytes(page[body + local : body + local + 4], "big"), size - local)
            position += 4
        values = _values(payload)
        return SalvagedRow(rowid, values, self._is_sound(rowid, values)), max(position, 4)

    def _overflow(self, number: int, remaining: int) -> bytes:
        parts: list[bytes] = []
        while remaining > 0:
            page = self._newest.get(number) or self.page(number)
            if number < 1 or len(page) < self._page_bytes:
                raise _Unparsable
            parts.append(page[4 : 4 + remaining])
            remaining -= len(parts[-1])
            number = int.from_bytes(page[:4], "big")
        return b"".join(parts)


def _adds_up(page: bytes, start: int, rows_read: Sequence[tuple[SalvagedRow | None, int]]) -> bool:
    """Whether header, pointers, rows, free blocks and gap fill the page exactly."""
    count, content = int.from_bytes(page[start + 3 : start + 5], "big"), int.from_bytes(page[start + 5 : start + 7], "big")
    free, block, steps = page[start + 7], int.from_bytes(page[start + 1 : start + 3], "big"), 0
    while block and block + 4 <= len(page) and steps < len(page):
        free += int.from_bytes(page[block + 2 : block + 4], "big")
        block, steps = int.from_bytes(page[block : block + 2], "big"), steps + 1
    return count == len(rows_read) and (content or len(page)) + free + sum(size for _, size in rows_read) == len(page)


def _local_bytes(size: int, page_bytes: int) -> int:
    """How much of a row is on its leaf; the rest is on pages of its own."""
    if size <= page_bytes - 35:
        return size
    least = (page_bytes - 12) * 32 // 255 - 23
    local = least + (size - least) % (page_bytes - 4)
    return local if local <= page_bytes - 35 else least


def _varint(body: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(at, min(at + 9, len(body))):
        byte = body[place]
        if place == at + 8:
            return _signed((value << 8) | byte), place + 1
        value = (value << 7) | (byte & 0x7F)
        if byte < 0x80:
            return value, place + 1
    raise _Unparsable


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _check_header(page: bytes, at: int) -> None:
    """Whether a row may begin here: its header is short. Most places are found out by this."""
    size, _ = _varint(page, at)
    if not 2 <= size <= 1 + 9 * _COLUMNS_MAX:
        raise _Unparsable


def _values(payload: bytes) -> list[Value]:
    header_end, at = _varint(payload, 0)
    values: list[Value] = []
    body = header_end
    while at < header_end:
        kind, at = _varint(payload, at)
        size = _INTEGER_BYTES[kind] if kind < 10 else (kind - 12) // 2
        if kind in (10, 11) or len(values) == _COLUMNS_MAX or body + size > len(payload):
            raise _Unparsable
        values.append(_value(kind, payload[body : body + size]))
        body += size
    if at != header_end or body != len(payload):
        raise _Unparsable
    return values


def _value(kind: int, body: bytes) -> Value:
    if kind >= 12:
        return body
    if kind == 0:
        return None
    if kind >= 8:
        return kind - 8
    # No table of ours has a REAL column.
    return int.from_bytes(body, "big", signed=True)


def connect(path: Path, log: Path) -> sqlite3.Connection:
    if not log.exists() or not log.stat().st_size:
        return reading(path, "&immutable=1")
    with suppress(sqlite3.OperationalError):
        return begun(reading(path))
    return connect_copy(path, log)


def connect_copy(path: Path, log: Path, change: Callable[[sqlite3.Connection], None] | None = None) -> sqlite3.Connection:
    """A connection that only reads a copy, which `change` may change before. No name of the copy is left."""
    with PassingFolder() as folder:
        copy = folder.path / path.name
        shutil.copyfile(path, copy)
        if log.exists():
            shutil.copyfile(log, copy.with_name(log.name))
        with closing(sqlite3.connect(copy, isolation_level=None)) as writing:
            # Without a log of its own it can be read once its name is gone.
            writing.execute("PRAGMA journal_mode = DELETE")
            if change:
                change(writing)
        return begun(reading(copy, "&immutable=1"))


def reading(path: Path, options: str = "") -> sqlite3.Connection:
    """A connection that changes nothing, for any thread, one after the other; `more` are parameters of SQLite's address."""
    address = f"{path.as_uri()}?mode=ro{options}"
    return sqlite3.connect(address, uri=True, isolation_level=None, timeout=5, check_same_thread=False)


def begun(connection: sqlite3.Connection) -> sqlite3.Connection:
    """With the file and its log open: SQLite opens them at the first look."""
    try:
        connection.execute("PRAGMA schema_version").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection
