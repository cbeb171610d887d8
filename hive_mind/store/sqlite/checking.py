"""Looks at a whole record: SQLite's own check of its trees, the checksum of each row, and whether rows are missing."""

import sqlite3
from collections import Counter
from pathlib import Path

from hive_mind.errors import DatabaseUnreadable
from hive_mind.sqlite.file import translating
from hive_mind.sqlite.log import refuse_damaged_log
from hive_mind.store.sqlite import reading
from hive_mind.store.sqlite.history import RecordReader
from hive_mind.store.sqlite.rows import EDGE_COLUMNS, NODE_COLUMNS, VECTOR_COLUMNS, EdgeRow, NodeRow, VectorRow, is_itself
from hive_mind.store.sqlite.schema import EDGE_TOTAL, FORMAT

_PROBLEMS_MAX = 1000


def problems(path: Path) -> list[str]:
    """What is damaged, each by its name, the first thousand; empty for a record that is whole. It may be in use.

    Raises `BackendError` where there is no such file or it can't be read at all.
    """
    found: list[str] = []
    try:
        refuse_damaged_log(path, FORMAT.when_damaged)
        with RecordReader(path) as reader, translating(path, FORMAT):
            connection = reader.connection
            found += reader.damaged + _tree_problems(connection)
            # Trees that are damaged lead readers in circles.
            if not found:
                _check_rows(connection, found)
    except DatabaseUnreadable as error:
        found.append(str(error))
    return found[:_PROBLEMS_MAX]


def _tree_problems(connection: sqlite3.Connection) -> list[str]:
    told = [str(line) for (line,) in connection.execute("PRAGMA integrity_check(100)")]
    return [] if told == ["ok"] else told


def _check_rows(connection: sqlite3.Connection, found: list[str]) -> None:
    totals: dict[int, Counter[str]] = {kind: Counter() for kind in range(4)}
    for row in (NodeRow(*row) for row in connection.execute(f"SELECT {NODE_COLUMNS} FROM node")):  # noqa: S608
        if row.is_sound and is_itself(row.id.decode(), row.value):
            totals[row.kind].update(rows=1, sums=row.sum)
        else:
            found.append(row.told)
    for edge in (EdgeRow(*row) for row in connection.execute(f"SELECT {EDGE_COLUMNS} FROM edge")):  # noqa: S608
        if edge.is_sound:
            totals[EDGE_TOTAL].update(rows=1, sums=edge.sum)
        else:
            found.append(f"edge {edge.seq}")
    for vector in (VectorRow(*row) for row in connection.execute(f"SELECT {VECTOR_COLUMNS} FROM vector")):  # noqa: S608
        found += [] if vector.is_sound else [f"embedding {vector.key.decode(errors='replace')}"]
    reading.named(connection, found.append)
    if not found:
        missing = (reading.missing(connection, kind, total["rows"], total["sums"]) for kind, total in totals.items())
        found += [what for what in missing if what]
