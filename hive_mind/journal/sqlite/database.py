"""The one table of a journal: (table, key) → value, each row with a checksum; and what was set aside. Owned by one thread.

One bit of a row makes text of bytes, or another name of a table: so rows are read as bytes, and judged before they mean anything.
"""

import logging
from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

from hive_mind.hive.effects import Kept, Put, Record, SetAside
from hive_mind.sqlite.file import File, FileFormat, unreadable

_log = logging.getLogger(__name__)

_SCHEMA = "CREATE TABLE record (tbl TEXT, key BLOB, value BLOB NOT NULL, PRIMARY KEY (tbl, key)) WITHOUT ROWID"
_LOAD = "SELECT CAST(tbl AS BLOB), CAST(key AS BLOB), CAST(value AS BLOB), sum FROM record ORDER BY tbl, key"
_PUT = "INSERT INTO record VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value, sum = excluded.sum"
_DELETE = "DELETE FROM record WHERE tbl = ? AND key = ?"
_THIS = "FROM record WHERE CAST(tbl AS BLOB) = ? AND CAST(key AS BLOB) = ?"
# A table's name that is no text any more comes back as the same bytes.
_ERRORS = "surrogateescape"
_PLACE_BITS = (1 << 31) - 1


def checksum(table: str | bytes, key: bytes, value: bytes) -> int:
    """Of the place in the upper half and of the value in the lower one: a value may be lost while its place is known."""
    name = table.encode() if isinstance(table, str) else table
    return (crc32(key, crc32(b"%s\0" % name)) & _PLACE_BITS) << 32 | crc32(value)


FORMAT = FileFormat(
    owner="node",
    application_id=int.from_bytes(b"hvmj", "big"),
    migrations=(
        (_SCHEMA,),
        (
            "ALTER TABLE record ADD COLUMN sum INTEGER NOT NULL DEFAULT 0",
            "UPDATE record SET sum = record_sum(tbl, key, value)",
            "CREATE TABLE damaged (tbl BLOB, key BLOB, value BLOB, sum INTEGER)",
        ),
    ),
    # A value that needs more than a quarter of a page gets one of its own. An assertion with its vector is 1 to 3 kB, so SQLite's
    # usual 4 kB page would make a file four times as large (benchmarks/journal.py).
    page_bytes=16_384,
    log_bytes=16 << 20,
    when_damaged="restore a backup, or move it away: the node then fetches from its peers what they hold",
    is_exclusive=True,
    functions={"record_sum": checksum},
)


class Database:
    """Open from construction to `close`. Raises `DatabaseLocked`, `DatabaseUnreadable` or `BackendError`."""

    def __init__(self, path: Path) -> None:
        self._file = File(path, FORMAT)
        try:
            with self._file.reading() as connection:
                ((found,),) = connection.execute("PRAGMA quick_check(1)").fetchall()
            if found != "ok":
                raise unreadable(self._file.path, f"is damaged ({found})", FORMAT.when_damaged)
        except BaseException:
            self._file.close()
            raise

    def load(self) -> list[Kept]:
        """Every value, in order of table and key; of a damaged one where it is, or seems to be."""
        with self._file.reading() as connection:
            return [_kept(*row) for row in connection.execute(_LOAD)]

    def write(self, items: Sequence[Record]) -> None:
        aside = [record for record in items if isinstance(record, SetAside)]
        # The last word on each key, in the order of the tree they go to.
        final = {(record.table, record.key): record for record in items if not isinstance(record, SetAside)}
        ordered = [final[place] for place in sorted(final)]
        puts = [(r.table, r.key, r.value, checksum(r.table, r.key, r.value)) for r in ordered if isinstance(r, Put)]
        with self._file.writing() as connection:
            for place in [(record.table.encode(errors=_ERRORS), record.key) for record in aside]:
                connection.execute(f"INSERT INTO damaged SELECT tbl, key, value, sum {_THIS}", place)
                connection.execute(f"DELETE {_THIS}", place)
            connection.executemany(_PUT, puts)
            connection.executemany(_DELETE, ((r.table, r.key) for r in ordered if not isinstance(r, Put)))
        for record in aside:
            _log.error(
                "%s: record %s of table %r is damaged: kept in table 'damaged'; its node asks others for what it held",
                self._file.path,
                record.key.hex(),
                record.table,
            )

    def scrub(self) -> None:
        """Leave no byte of what was deleted, nor what was set aside: nobody can tell what a damaged record says."""
        with self._file.writing() as connection:
            connection.execute("DELETE FROM damaged")
        self._file.scrub()

    def close(self) -> None:
        """Write the log back and release the file."""
        self._file.close()


def _kept(table: bytes, key: bytes, value: bytes, sum: object) -> Kept:
    name, right = table.decode(errors=_ERRORS), checksum(table, key, value)
    if sum == right:
        return Put(name, key, value)
    return SetAside(name, key, is_place_sure=isinstance(sum, int) and sum >> 32 == right >> 32)
