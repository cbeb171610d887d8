"""The process that opens a copy of an old database: `main` gets its path and how many megabytes it may take.

It says which tables there are, then answers what it is asked for: pages of rows, edges, the database rebuilt in another file.
"""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hive_mind.store._kuzu.engine import Engine, EngineError
from hive_mind.store._kuzu.pipe import Parent

# Rows are sent a few at a time, so that neither side holds many long texts.
_SENT_ROWS, _SENT_CHARACTERS = 500, 1 << 20
_PAGE_ROWS = 8192
# Of more in one statement each takes longer.
_CREATED_ROWS = 512
# Written pages stay in the pool until the one checkpoint at the end.
_REBUILDING_POOL_BYTES = 4 << 30
_PLACE = "offset(id(m))"
_BETWEEN = f"{_PLACE} >= $first AND {_PLACE} < $upto"

Rows = Iterator[list[Any]]


def _tables(database: Engine) -> list[list[Any]]:
    """Name, kind, columns and rows of each, in the order they were made."""
    found = sorted(database.run("CALL show_tables() RETURN id, name, type"))
    return [[name, kind, *(_node_table(database, name) if kind == "NODE" else ([], 0))] for _, name, kind in found]


def _node_table(database: Engine, name: str) -> tuple[list[str], int]:
    columns = [row[0] for row in database.run(f"CALL table_info('{name}') RETURN name")]
    last = database.run(f"MATCH (m:`{name}`) RETURN max({_PLACE})")[0][0]
    return columns, 0 if last is None else last + 1


def page(database: Engine, table: str, columns: list[str], first: int, end: int) -> Rows:
    """Rows by their place in the table; those of `first` up to, not including, `end`."""
    wanted = ", ".join(f"m.`{column}`" for column in columns)
    query = f"MATCH (m:`{table}`) WHERE {_BETWEEN} RETURN {_PLACE}, {wanted} ORDER BY {_PLACE}"
    return database.rows(query, first=first, upto=end)


def edges(database: Engine, relation: str, first: int, end: int) -> Rows:
    """Those that leave rows of such places."""
    query = f"MATCH (m:Memory)-[:`{relation}`]->(b:Memory) WHERE {_BETWEEN} RETURN {_PLACE}, m.id, b.id ORDER BY {_PLACE}"
    return database.rows(query, first=first, upto=end)


def rebuild(source: Engine, path: str) -> Rows:
    """The same rows at the same places in a new database with a new index: the log of the one fits the other. No edges."""
    target = Engine(Path(path), _REBUILDING_POOL_BYTES)
    tables = _tables(source)
    for name, kind, _, _ in tables:
        target.run(_definition(source, name) if kind == "NODE" else f"CREATE REL TABLE `{name}`(FROM Memory TO Memory)")
    for name, _, columns, count in tables:
        for first in range(0, count, _PAGE_ROWS):
            places = range(first, min(first + _PAGE_ROWS, count))
            _copy_rows(target, name, columns, list(page(source, name, columns, places.start, places.stop)), places)
            yield []
    target.run("CHECKPOINT")
    target.close()


def _definition(source: Engine, table: str) -> str:
    found = source.run(f"CALL table_info('{table}') RETURN name, type, `primary key`")
    columns = (f"`{name}` {kind}{' PRIMARY KEY' if is_key else ''}" for name, kind, is_key in found)
    return f"CREATE NODE TABLE `{table}`({', '.join(columns)})"


def _copy_rows(target: Engine, table: str, columns: list[str], rows: list[list[Any]], places: range) -> None:
    """Rows that were deleted keep their places: a row is made there, and deleted."""
    if not rows:
        raise EngineError(f"a whole page of {table} was deleted")
    found = {place: values for place, *values in rows}
    absent = {place: f"gap {place}" for place in places if place not in found}
    made = [dict(zip(columns, found.get(place) or [absent[place], *rows[0][2:]], strict=True)) for place in places]
    values = ", ".join(f"`{column}`: r.`{column}`" for column in columns)
    for first in range(0, len(made), _CREATED_ROWS):
        target.run(f"UNWIND $rows AS r CREATE (:`{table}` {{{values}}})", rows=made[first : first + _CREATED_ROWS])
    for key in absent.values():
        target.run(f"MATCH (m:`{table}`) WHERE m.`{columns[0]}` = $key DELETE m", key=key)


_ANSWERS: dict[str, Callable[..., Rows]] = {"page": page, "edges": edges, "rebuild": rebuild}


def _in_parts(rows: Rows) -> Iterator[list[list[Any]]]:
    some: list[list[Any]] = []
    characters = 0
    for row in rows:
        some.append(row)
        characters += sum(len(value) for value in row if isinstance(value, str))
        # An empty one is a sign of life.
        if not row or len(some) >= _SENT_ROWS or characters >= _SENT_CHARACTERS:
            yield some
            some, characters = [], 0
    yield some


def _serve(parent: Parent, path: Path, pool_bytes: int) -> None:
    database = Engine(path, pool_bytes)
    parent.send("open", _tables(database))
    while message := parent.question():
        name, arguments = message
        try:
            for some in _in_parts(_ANSWERS[name](database, **arguments)):
                parent.send("rows", some)
            parent.send("end")
        except (EngineError, ValueError) as error:
            parent.send("error", str(error))


def main() -> None:
    """Serve the parent that started this process."""
    parent = Parent()
    try:
        _serve(parent, Path(sys.argv[1]), int(sys.argv[2]) << 20)
    except (EngineError, ValueError) as error:
        parent.send("error", str(error))
    # A copy needs no closing; and closing a damaged one may hang.
    os._exit(0)
