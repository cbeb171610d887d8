"""Makes a sound record of a damaged one: each row whose checksum is right is kept, what is lost is named, the old file stays.

Killed at any moment, the next repair begins again from the old file; until one is done a note beside the record keeps it from
being opened without what was in its log.
"""

import os
import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from hive_mind.errors import BackendError
from hive_mind.sqlite.file import create, log_path, sync_folder, transaction, translating
from hive_mind.sqlite.lock import Lock
from hive_mind.sqlite.salvage import Row, Value, rows
from hive_mind.store.sqlite.rows import ENTITY, FACT, KIND_NAMES, EdgeRow, NamedRow, NodeRow, VectorRow
from hive_mind.store.sqlite.schema import FORMAT

_LOST_NAMED_MAX = 1000
_NAMES = ("links", "facts", "episodes", "entities")
# Of the same row the one that was written last counts.
_PUT_NODE = (
    "INSERT INTO node VALUES (?, ?, CAST(? AS TEXT), ?, ?, ?) ON CONFLICT (seq) DO UPDATE SET kind = excluded.kind,"
    " id = excluded.id, changed = excluded.changed, body = excluded.body, sum = excluded.sum WHERE excluded.changed > changed"
)
_PUT_EDGE = "INSERT OR IGNORE INTO edge VALUES (?, ?, ?, ?, ?)"
_PUT_VECTOR = "INSERT OR REPLACE INTO vector VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT), ?, ?)"
_PUT_NAMED = (
    "INSERT INTO named VALUES (CAST(? AS TEXT), CAST(? AS TEXT), ?, ?) ON CONFLICT (key) DO UPDATE SET"
    " value = excluded.value, changed = excluded.changed, sum = excluded.sum WHERE excluded.changed > changed"
)
_COUNT = "INSERT OR REPLACE INTO total SELECT {kind}, count(*), coalesce(sum(sum), 0) FROM {table}"


@dataclass(slots=True)
class Repair:
    """What a repair found. `kept_aside` is the old file."""

    kept_aside: Path
    kept: Counter[str] = field(default_factory=Counter)
    lost: dict[str, None] = field(default_factory=dict)


def repair(path: Path) -> Repair:
    """Do it. Raises `DatabaseLocked` where the record is in use, `BackendError` where the disk fails."""
    path = path.resolve()
    with translating(path, FORMAT):
        lock = Lock(path, FORMAT.owner)
        try:
            done = Repair(_set_aside(path))
            made = path.with_name(path.name + ".repaired")
            _salvage(done, made)
            log_path(path).unlink(missing_ok=True)
            made.replace(path)
            sync_folder(path.parent)
            note_path(path).unlink()
            return done
        finally:
            lock.release()


def note_path(path: Path) -> Path:
    """Where it stands that a repair has begun, and of which file."""
    return path.with_name(path.name + ".repairing")


def refuse_half_repaired(path: Path) -> None:
    """Raises `BackendError` where a repair was interrupted."""
    if note_path(path).exists():
        raise BackendError("sqlite", f"{path}: its repair was interrupted; run it again: hive-mind doctor --repair")


def _set_aside(path: Path) -> Path:
    """Other names for the old file and its log; they are what is read, also by a repair that comes after an interrupted one."""
    note = note_path(path)
    if note.exists() and (kept := path.with_name(note.read_text())).exists():
        return kept
    number = next(n for n in range(1, 1_000_000) if not path.with_name(f"{path.name}.damaged-{n}").exists())
    kept = path.with_name(f"{path.name}.damaged-{number}")
    for source, target in ((log_path(path), log_path(kept)), (path, kept)):
        if source.exists():
            os.link(source, target)
    kept.touch(0o600)
    written = note.with_name(note.name + ".new")
    written.write_text(kept.name)
    written.replace(note)
    sync_folder(path.parent)
    return kept


def _salvage(done: Repair, made: Path) -> None:
    for leftover in (made, log_path(made)):
        leftover.unlink(missing_ok=True)
    create(made, FORMAT)
    with closing(sqlite3.connect(made, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        with transaction(connection):
            unsound: dict[str, None] = {}
            written: Counter[int] = Counter()
            for row in rows(done.kept_aside, log_path(done.kept_aside), FORMAT.page_bytes, _is_sound):
                _put(connection, row, unsound, written)
            kept = {bytes(key).decode() for (key,) in connection.execute("SELECT CAST(id AS BLOB) FROM node")}
            done.lost = {what: None for what in list(unsound)[:_LOST_NAMED_MAX] if what.rpartition(" ")[2] not in kept}
            _count(connection, done, written)


def _put(connection: sqlite3.Connection, row: Row, unsound: dict[str, None], written: Counter[int]) -> None:
    match row.values:
        case [None, int(), bytes(), int(), bytes(), int()] as values:
            if row.is_sound:
                connection.execute(_PUT_NODE, (row.rowid, *values[1:]))
            else:
                unsound[NodeRow(row.rowid, *values[1:]).told] = None  # type: ignore[arg-type]
        case [None, int(), int(), int(), int()] as values if row.is_sound:
            connection.execute(_PUT_EDGE, (row.rowid, *values[1:]))
        case [None, bytes(), bytes(), bytes(), int()] as values if row.is_sound:
            connection.execute(_PUT_VECTOR, (row.rowid, *values[1:]))
        case [bytes(), bytes(), int(), int()] as values if row.is_sound:
            connection.execute(_PUT_NAMED, tuple(values))
        case [None, int(count), int()]:
            # A row of `total`: what was there, as nothing that is counted is ever taken out.
            written[row.rowid] = max(written[row.rowid], count)


def _is_sound(rowid: int, values: Sequence[Value]) -> bool:
    match values:
        case [None, int(kind), bytes(id), int(changed), bytes(body), int(total)]:
            return FACT <= kind <= ENTITY and NodeRow(rowid, kind, id, changed, body, total).is_sound
        case [None, int(relation), int(start), int(end), int(total)]:
            return EdgeRow(rowid, relation, start, end, total).is_sound
        case [None, bytes(model), bytes(key), bytes(value), int(total)]:
            return VectorRow(model, key, value, total).is_sound
        case [bytes(key), bytes(value), int(changed), int(total)]:
            return NamedRow(key, value, changed, total).is_sound
        case [None, int(), int()]:
            # A row of `total`, which is counted anew.
            return True
        case _:
            return False


def _count(connection: sqlite3.Connection, done: Repair, written: Counter[int]) -> None:
    connection.execute(_COUNT.format(kind=0, table="edge"))
    for kind in (1, 2, 3):
        connection.execute(_COUNT.format(kind=kind, table=f"node WHERE kind = {kind}"))
    for kind, count in connection.execute("SELECT kind, rows FROM total").fetchall():
        done.kept[_NAMES[kind]] = count
        named = sum(what.startswith(f"{KIND_NAMES.get(kind, 'edge')} ") for what in done.lost)
        if count + named < written[kind]:
            done.lost[f"{written[kind] - count - named} {_NAMES[kind]} that can't be named"] = None
    done.kept["embeddings"] = connection.execute("SELECT count(*) FROM vector").fetchone()[0]
    # An edge one of whose ends is lost leads nowhere, and goes with it.
    ends = "(SELECT seq FROM node)"
    connection.execute(f"DELETE FROM edge WHERE from_seq NOT IN {ends} OR to_seq NOT IN {ends}")  # noqa: S608
    connection.execute(_COUNT.format(kind=0, table="edge"))
