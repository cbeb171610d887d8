"""A second copy of a record, taken while its agent writes, and put back.

A copy is of one moment and complete in itself: one file, without a log. It gets its name once it was read again and found whole.

Makes a sound record of a damaged one: each row with a right checksum is kept, lost ones are named, the old file stays.

Killed at any moment, the record is the old one or the new one.
"""

import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import astuple

from hive_mind.errors import BackendError, DatabaseUnreadable
from hive_mind.private import private_folder
from hive_mind.replacing import replacing
from hive_mind.sqlite.file import connect_for_reading, create, owned, remove, transaction, translating, unreadable
from hive_mind.sqlite.replacement import log_path, mend, replace_database
from hive_mind.sqlite.salvage import Value, rows
from hive_mind.store.sqlite.reading import RecordReader, problems
from hive_mind.store.sqlite.rows import FORMAT, KIND_NAMES, EdgeRow, NamedRow, NodeRow, Row, VectorRow, is_sound, row_of

_PAGES_PER_STEP = 4096


def backup(path: Path, target: Path) -> int:
    """Copy the record at `path` to `target`, which must not exist. Returns how many facts the copy holds.

    Raises `DatabaseUnreadable` where the record is damaged, `BackendError` where the disk fails.
    """
    with translating(target, FORMAT), replacing(target) as unfinished:
        _copy(path.resolve(), unfinished)
    with RecordReader(target) as reader:
        return reader.counts()["facts"]


def restore(copy: Path, path: Path) -> Path | None:
    """Put a copy in the place of the record at `path`. The file there is kept under another name, which is returned.

    Raises `DatabaseLocked` where the record is in use, `DatabaseUnreadable` for a copy that is damaged or none.
    """
    _refuse_damaged(copy)
    path = path.resolve()
    with translating(path, FORMAT):
        private_folder(path.parent)
    made_path = path.with_name(path.name + ".restoring")
    with owned(path, FORMAT), translating(path, FORMAT):
        mend(path)
        with replacing(made_path) as unfinished:
            _copy(copy.resolve(), unfinished)
        return replace_database(path, made_path, "before")


def _refuse_damaged(copy: Path) -> None:
    if problems_found := problems(copy):
        raise unreadable(copy, f"is damaged ({problems_found[0]})", "restore another copy")


def _copy(path: Path, unfinished: Path) -> None:
    """All of a record at one moment, what is in its log, too; read again."""
    with closing(connect_for_reading(path, FORMAT)) as source, closing(sqlite3.connect(unfinished, isolation_level=None)) as copy:
        # One moment for all steps: writes made meanwhile are not in the copy.
        source.execute("BEGIN")
        source.backup(copy, pages=_PAGES_PER_STEP)
        copy.execute("PRAGMA journal_mode = DELETE")
    try:
        _refuse_damaged(unfinished)
    except DatabaseUnreadable as error:
        raise BackendError("sqlite", f"the copy is not whole: {error}") from error


_LOST_NAMED_MAX = 1000
_NAMES = ("links", "facts", "episodes", "entities")
_PUT: dict[type[Row], str] = {
    # Of the same row the one that was written last counts.
    NodeRow: "INSERT INTO node VALUES (?, ?, CAST(? AS TEXT), ?, ?, ?) ON CONFLICT (seq) DO UPDATE SET kind = excluded.kind,"
    " id = excluded.id, changed = excluded.changed, body = excluded.body, sum = excluded.sum WHERE excluded.changed > changed",
    EdgeRow: "INSERT OR IGNORE INTO edge VALUES (?, ?, ?, ?, ?)",
    VectorRow: "INSERT OR REPLACE INTO vector VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT), ?, ?)",
    NamedRow: "INSERT INTO named VALUES (CAST(? AS TEXT), CAST(? AS TEXT), ?, ?) ON CONFLICT (key) DO UPDATE SET"
    " value = excluded.value, changed = excluded.changed, sum = excluded.sum WHERE excluded.changed > changed",
}
_COUNT = "INSERT OR REPLACE INTO total SELECT {kind}, count(*), coalesce(sum(sum), 0) FROM {table}"


@dataclass(slots=True)
class Repair:
    """Result of a repair. `kept_aside` is the old file."""

    kept_aside: Path
    kept: Counter[str] = field(default_factory=Counter)
    lost: dict[str, None] = field(default_factory=dict)


def repair(path: Path) -> Repair:
    """Do it. Raises `DatabaseLocked` where the record is in use, `BackendError` where the disk fails."""
    path = path.resolve()
    with owned(path, FORMAT):
        mend(path)
        made_path = path.with_name(path.name + ".repaired")
        repair = _salvage(path, made_path)
        repair.kept_aside = replace_database(path, made_path, "damaged") or path
        return repair


def _salvage(path: Path, made_path: Path) -> Repair:
    repair = Repair(path)
    remove(made_path)
    create(made_path, FORMAT)
    unsound: dict[str, None] = {}
    counted: Counter[int] = Counter()
    with closing(sqlite3.connect(made_path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        with transaction(connection):
            for salvaged_row in rows(path, log_path(path), FORMAT.page_bytes, _is_sound):
                row = row_of(salvaged_row.rowid, salvaged_row.values)
                if row is not None and is_sound(row):
                    connection.execute(_PUT[type(row)], astuple(row))
                elif isinstance(row, NodeRow):
                    unsound[row.label] = None
                elif total := _total(salvaged_row.values):
                    # The former number, as nothing that is counted is ever taken out.
                    counted[salvaged_row.rowid] = max(counted[salvaged_row.rowid], total)
            sound_ids = {bytes(key).decode() for (key,) in connection.execute("SELECT CAST(id AS BLOB) FROM node")}
            repair.lost = {
                lost_name: None for lost_name in list(unsound)[:_LOST_NAMED_MAX] if lost_name.rpartition(" ")[2] not in sound_ids
            }
            _count(connection, repair, counted)
    return repair


def _is_sound(rowid: int, values: Sequence[Value]) -> bool:
    row = row_of(rowid, values)
    return _total(values) is not None if row is None else is_sound(row)


def _total(values: Sequence[Value]) -> int | None:
    """How many rows a row of `total` counts, None for other rows. It has no checksum, and is made anew."""
    match values:
        case [None, int(count), int()]:
            return count
        case _:
            return None


def _count(connection: sqlite3.Connection, repair: Repair, counted: Counter[int]) -> None:
    connection.execute(_COUNT.format(kind=0, table="edge"))
    for kind in KIND_NAMES:
        connection.execute(_COUNT.format(kind=kind, table=f"node WHERE kind = {kind}"))
    for kind, count in connection.execute("SELECT kind, rows FROM total").fetchall():
        repair.kept[_NAMES[kind]] = count
        named_count = sum(lost_name.startswith(f"{KIND_NAMES.get(kind, 'edge')} ") for lost_name in repair.lost)
        if count + named_count < counted[kind]:
            repair.lost[f"{counted[kind] - count - named_count} {_NAMES[kind]} that can't be named"] = None
    repair.kept["embeddings"] = connection.execute("SELECT count(*) FROM vector").fetchone()[0]
    # An edge with a lost end leads nowhere, and goes with it.
    ends = "(SELECT seq FROM node)"
    connection.execute(f"DELETE FROM edge WHERE from_seq NOT IN {ends} OR to_seq NOT IN {ends}")  # noqa: S608
    connection.execute(_COUNT.format(kind=0, table="edge"))
