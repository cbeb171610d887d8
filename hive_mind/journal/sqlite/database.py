"""The one table of a journal: (table, key) → value. Synchronous, and owned by one thread."""

from collections.abc import Sequence
from pathlib import Path

from hive_mind.hive.effects import Put, Record
from hive_mind.sqlite.file import File, Format, unreadable

_SCHEMA = "CREATE TABLE record (tbl TEXT, key BLOB, value BLOB NOT NULL, PRIMARY KEY (tbl, key)) WITHOUT ROWID"
_PUT = "INSERT INTO record VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"
_DELETE = "DELETE FROM record WHERE tbl = ? AND key = ?"

FORMAT = Format(
    owner="node",
    application_id=int.from_bytes(b"hvmj", "big"),
    migrations=((_SCHEMA,),),
    # A value that needs more than a quarter of a page gets one of its own. An assertion with its vector is 1 to 3 kB, so SQLite's
    # usual 4 kB page would make a file four times as large (benchmarks/journal.py).
    page_bytes=16_384,
    log_bytes=16 << 20,
    when_damaged="restore a backup, or move it away: the node then fetches from its peers what they hold",
    is_exclusive=True,
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

    def load(self) -> list[Put]:
        """Every value, in order of table and key."""
        with self._file.reading() as connection:
            tables = [table for (table,) in connection.execute("SELECT DISTINCT tbl FROM record ORDER BY tbl")]
            query = "SELECT key, value FROM record WHERE tbl = ? ORDER BY key"
            return [Put(table, key, value) for table in tables for key, value in connection.execute(query, (table,))]

    def write(self, items: Sequence[Record]) -> None:
        """All of them, durable, or none."""
        # The last word on each key, in the order of the tree they go to.
        final = {(record.table, record.key): record for record in items}
        ordered = [final[place] for place in sorted(final)]
        with self._file.writing() as connection:
            connection.executemany(_PUT, ((r.table, r.key, r.value) for r in ordered if isinstance(r, Put)))
            connection.executemany(_DELETE, ((r.table, r.key) for r in ordered if not isinstance(r, Put)))

    def close(self) -> None:
        """Write the log back and release the file."""
        self._file.close()
