"""The one table of a ledger: every entry with its place in its stream and in the whole, and a checksum. Owned by one thread.

SQLite lets one writer in at a time, over all processes that share the file. So the end of a stream is looked up and its next
entry written in one transaction, and positions follow the order of commits: a reader that has seen one has seen all before it.

A ledger in an SQLite file: durable when `append` returns, safe to kill at any moment, needs no package.

`hive_mind.sqlite` owns the file, `database` holds its statements. Alone, a process keeps everybody else out and takes no locks;
shared, several append to one file in turns and look often for what the others wrote. Beside `name.sqlite` lie `name.sqlite-wal`
and `-shm` while it is open (part of the data: copy all or none), `name.sqlite.lock` and, once it was shared, `name.sqlite.turn`.
"""

import logging
import weakref
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import NamedTuple
from zlib import crc32

from hive_mind.ledger import PAGE_ENTRIES, Arrivals, Ledger, Page, beyond_end, check, check_drop, followed
from hive_mind.model.entry import Entry, Head
from hive_mind.sqlite import Worker
from hive_mind.sqlite.file import File, FileFormat, unreadable

_log = logging.getLogger(__name__)

FORMAT = FileFormat(
    owner="ledger",
    application_id=int.from_bytes(b"hvml", "big"),
    # Only ever append: a ledger on somebody's disk may need any of these.
    migrations=(
        (
            "CREATE TABLE entry (pos INTEGER PRIMARY KEY, stream TEXT NOT NULL, seq INTEGER NOT NULL, at_ms INTEGER NOT NULL,"
            " kind TEXT NOT NULL, body BLOB NOT NULL, sum INTEGER NOT NULL)",
            "CREATE UNIQUE INDEX entry_place ON entry (stream, seq)",
        ),
    ),
    # An append writes each page it touches whole; a step of a run is some 800 bytes.
    page_bytes=4096,
    log_bytes=4 << 20,
    when_damaged="restore a backup, or move it away: an empty one is made then",
    is_exclusive=True,
    cache_bytes=512 << 10,
)


# As bytes: a flipped bit can turn bytes into text, or text into invalid UTF-8.
_COLUMNS = "pos, CAST(stream AS BLOB), seq, at_ms, CAST(kind AS BLOB), CAST(body AS BLOB), sum"
_READ = f"SELECT {_COLUMNS} FROM entry WHERE stream = ? AND seq >= ? ORDER BY seq"  # noqa: S608 - no value in it
_PAGE = f"SELECT {_COLUMNS} FROM entry WHERE pos > ? AND pos <= ? ORDER BY pos"  # noqa: S608 - no value in it
_LENGTH = "SELECT COALESCE(MAX(seq), -1) + 1 FROM entry WHERE stream = ?"
_END = "SELECT pos FROM entry WHERE stream = ? ORDER BY seq DESC LIMIT 1"
_LAST = "SELECT COALESCE(MAX(pos), 0) FROM entry"
_DROP = "DELETE FROM entry WHERE stream = ?"
_INSERT = "INSERT INTO entry VALUES (?, CAST(? AS TEXT), ?, ?, CAST(? AS TEXT), ?, ?)"
# From name to name through the index, so that the length of the streams does not matter.
_HEADS = f"""
WITH RECURSIVE name(stream) AS (
    SELECT MIN(stream) FROM entry WHERE stream >= :first
    UNION ALL
    SELECT (SELECT MIN(stream) FROM entry WHERE stream > name.stream) FROM name WHERE name.stream < :beyond
)
SELECT {_COLUMNS} FROM entry WHERE pos IN (
    SELECT entry.pos FROM name JOIN entry
    ON entry.stream = name.stream AND entry.seq = (SELECT MAX(seq) FROM entry WHERE stream = name.stream)
    WHERE name.stream < :beyond
)
ORDER BY stream
"""  # noqa: S608 - no value in it
# No name has this character, and it comes behind all that one may have.
_BEYOND = "\U0010ffff"


@dataclass(slots=True)
class Append:
    """Entries to append; `is_kept` tells after writing whether this was first."""

    stream: str
    seq: int
    entries: Sequence[Entry]
    is_kept: bool = False


@dataclass(slots=True)
class Drop:
    """Streams that are to go, and what is appended in the same transaction; `is_kept` says afterwards whether it was done."""

    heads: Sequence[Head]
    stream: str
    entries: Sequence[Entry]
    is_kept: bool = False


class _Row(NamedTuple):
    pos: int
    stream: bytes
    seq: int
    at_ms: int
    kind: bytes
    body: bytes
    sum: int

    @property
    def is_sound(self) -> bool:
        try:
            return self.sum == _checksum(*self[:6])
        except TypeError:
            return False

    @property
    def entry(self) -> Entry:
        return Entry(self.kind.decode(), self.body, self.at_ms, self.stream.decode(), self.seq, self.pos)


class Database:
    """Open from construction to `close`. Raises `DatabaseLocked`, `DatabaseUnreadable` or `BackendError`."""

    def __init__(self, path: Path, notify: Callable[[], None], is_shared: bool) -> None:
        form = replace(FORMAT, is_exclusive=False, is_shared=True) if is_shared else FORMAT
        self._file, self._notify = File(path, form), notify
        if self._file.is_first:
            # An entry that is missing in the index would be appended a second time. 0.1 s for 100,000 entries.
            self._file.refuse_damaged("integrity_check")

    def write(self, items: Sequence[Append | Drop]) -> None:
        """All appends with a free place, durable; for the others only that it was taken."""
        with self._file.writing() as connection:
            (pos,) = connection.execute(_LAST).fetchone()
            for item in items:
                if isinstance(item, Drop):
                    item.is_kept = _drop(connection, item.heads)
                    seq = _length(connection, item.stream)
                else:
                    seq = _length(connection, item.stream)
                    if item.seq > seq:
                        raise beyond_end(item.stream, item.seq, seq)
                    item.is_kept = item.seq == seq
                if item.is_kept:
                    connection.executemany(_INSERT, _rows(item.stream, seq, item.entries, pos + 1))
                    pos += len(item.entries)
        self._notify()

    def read(self, stream: str, since: int) -> list[Entry]:
        """A stream's entries from number `since` on. Raises `DatabaseUnreadable` where one is damaged or missing."""
        since = max(since, 0)
        with self._file.reading() as connection:
            rows = [_Row(*row) for row in connection.execute(_READ, (stream, since))]
        for seq, row in enumerate(rows, since):
            if row.seq != seq or not row.is_sound:
                raise unreadable(self._file.path, f"is damaged (entry {seq} of stream {stream!r})", FORMAT.when_damaged)
        return [row.entry for row in rows]

    def heads(self, prefix: str) -> list[Head]:
        with self._file.reading() as connection:
            rows = [_Row(*row) for row in connection.execute(_HEADS, {"first": prefix, "beyond": prefix + _BEYOND})]
        self._log_damaged(rows)
        return [Head(r.stream.decode(errors="replace"), r.seq, r.pos, r.kind.decode() if r.is_sound else "") for r in rows]

    def newer(self, since_pos: int, prefix: str) -> Page:
        """The next entries behind a position; damaged ones are logged and left out."""
        with self._file.reading() as connection:
            (last,) = connection.execute(_LAST).fetchone()
            upto = max(since_pos, min(max(since_pos, 0) + PAGE_ENTRIES, last))
            rows = [_Row(*row) for row in connection.execute(_PAGE, (since_pos, upto))]
        self._log_damaged(rows)
        begins = prefix.encode(errors="replace")
        return Page([row.entry for row in rows if row.is_sound and row.stream.startswith(begins)], upto)

    def _log_damaged(self, rows: Sequence[_Row]) -> None:
        for row in rows:
            if not row.is_sound:
                _log.error(
                    "%s: the entry at position %s is damaged and left out; %s", self._file.path, row.pos, FORMAT.when_damaged
                )

    def close(self) -> None:
        self._file.close()


def _length(connection: Connection, stream: str) -> int:
    (length,) = connection.execute(_LENGTH, (stream,)).fetchone()
    return int(length)


def _drop(connection: Connection, heads: Sequence[Head]) -> bool:
    if any(connection.execute(_END, (head.stream,)).fetchone() != (head.pos,) for head in heads):
        return False
    connection.executemany(_DROP, [(head.stream,) for head in heads])
    return True


def _rows(name: str, seq: int, entries: Sequence[Entry], pos: int) -> list[_Row]:
    stream = name.encode()
    rows = []
    for number, entry in enumerate(entries):
        place = (pos + number, stream, seq + number, entry.at_ms, entry.kind.encode(), entry.body)
        rows.append(_Row(*place, _checksum(*place)))
    return rows


def _checksum(pos: int, stream: bytes, seq: int, at_ms: int, kind: bytes, body: bytes) -> int:
    return crc32(body, crc32(b"%d,%d,%d,%s\0%s\0" % (pos, seq, at_ms, stream, kind)))


# Nobody tells of what another process appends. A person's decision should take effect at once, and a look costs some 20 µs.
_LOOK_EVERY_S = 0.1


async def open(path: Path, is_shared: bool = False) -> Ledger:
    """The ledger in the file `path`, created with its folder if it does not exist, for its owner's eyes only.

    Raises `DatabaseLocked`, `DatabaseUnreadable` or `BackendError`; the file is then as it was.
    """
    arrivals = Arrivals()
    worker = Worker[Database, Append | Drop](partial(Database, path, arrivals.notify, is_shared), name=f"ledger {path.name}")
    await worker.start()
    return _SqliteLedger(worker, arrivals, _LOOK_EVERY_S if is_shared else None)


class _SqliteLedger:
    """See `ledger.Ledger`."""

    def __init__(self, worker: Worker[Database, Append | Drop], arrivals: Arrivals, look_every_s: float | None) -> None:
        self._worker, self._arrivals, self._look_every_s = worker, arrivals, look_every_s
        # A ledger that is forgotten closes when it is collected, or at the latest when the interpreter ends.
        self._forgotten = weakref.finalize(self, worker.stop)

    async def append(self, stream: str, seq: int, entries: Sequence[Entry]) -> bool:
        append = Append(stream, seq, tuple(entries))
        check(stream, seq, append.entries)
        await self._worker.write((append,))
        return append.is_kept

    async def drop(self, heads: Sequence[Head], stream: str, entries: Sequence[Entry]) -> bool:
        drop = Drop(tuple(heads), stream, tuple(entries))
        check_drop(stream, drop.entries)
        await self._worker.write((drop,))
        return drop.is_kept

    async def read(self, stream: str, since: int = 0) -> list[Entry]:
        return await self._worker.do(lambda database: database.read(stream, since))

    async def heads(self, prefix: str) -> list[Head]:
        return await self._worker.do(lambda database: database.heads(prefix))

    async def newer(self, since_pos: int, prefix: str = "") -> Page:
        return await self._worker.do(lambda database: database.newer(since_pos, prefix))

    def follow(self, since_pos: int, prefix: str = "") -> AsyncIterator[Entry]:
        """Existing entries, and those to come, also from other processes."""
        return followed(lambda since: self.newer(since, prefix), self._arrivals, since_pos, self._look_every_s)

    async def close(self) -> None:
        """Finish what was handed in, write the log back, release the file, end the thread."""
        self._arrivals.end()
        await self._worker.close()
        self._forgotten.detach()
