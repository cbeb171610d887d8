"""Rows out of a damaged file: every page of it and of its log is looked through, whatever the trees above say.

For files with a checksum in each row: the caller decides which rows are sound. A page with a wrong header or pointers is searched
byte by byte, so a flipped bit costs the row that it hit and no other. The format is SQLite's "Database File Format".
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from hive_mind.sqlite.log import read_log

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
