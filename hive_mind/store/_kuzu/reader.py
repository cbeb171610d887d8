"""Run as a script, `python reader.py FILE POOL_MB`: opens a copy of a Kuzu database and reads from it what it is asked for.

It may crash on a damaged file, and then takes nobody along. Requests come as lines of JSON, answers go out as frames: four bytes
of length, then a MessagePack array that begins with what it is: "open", "rows", "end" or "error". Nothing of this package is
imported.
"""

import os
import sys
import threading
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import kuzu
import msgspec

# Rows are told a few at a time, so that neither side holds many long texts.
_FRAME_ROWS, _FRAME_CHARACTERS = 500, 1 << 20
_PAGE_ROWS = 8192
# Of more in one statement each takes longer.
_CREATED_ROWS = 512
# Kuzu keeps that much address space for the file, and refuses larger ones.
_DATABASE_MAX_BYTES = 1 << 33
# What is written stays in the pool until the one checkpoint at the end.
_REBUILDING_POOL_BYTES = 4 << 30


class _Database:
    """Never written back by itself, and never twice: see the decision on how Kuzu is used."""

    def __init__(self, path: str, pool_bytes: int) -> None:
        self._database = kuzu.Database(
            path, buffer_pool_size=pool_bytes, max_db_size=_DATABASE_MAX_BYTES, max_num_threads=1, auto_checkpoint=False
        )
        self._connection = kuzu.Connection(self._database, num_threads=1)
        self.run("CALL force_checkpoint_on_close=false")

    def run(self, query: Any, parameters: dict[str, Any] | None = None) -> list[list[Any]]:
        return list(self.rows(query, parameters))

    def rows(self, query: Any, parameters: dict[str, Any] | None = None) -> Iterator[list[Any]]:
        result: Any = self._connection.execute(query, parameters or {})
        try:
            while result.has_next():
                yield result.get_next()
        finally:
            result.close()

    def tables(self) -> list[list[Any]]:
        """Name, kind, columns and rows of each, in the order they were made."""
        found = sorted(self.run("CALL show_tables() RETURN id, name, type"))
        return [[name, kind, *(self._node_table(name) if kind == "NODE" else ([], 0))] for _, name, kind in found]

    def page(self, table: str, columns: list[str], first: int, end: int) -> Iterator[list[Any]]:
        """Rows by their place in the table; those of `first` up to, not including, `end`."""
        wanted = ", ".join(f"m.`{column}`" for column in columns)
        return self.rows(f"MATCH (m:`{table}`) WHERE {_between(first, end)} RETURN {_PLACE}, {wanted} ORDER BY {_PLACE}")

    def edges(self, relation: str, first: int, end: int) -> Iterator[list[Any]]:
        return self.rows(
            f"MATCH (m:Memory)-[:`{relation}`]->(b:Memory) WHERE {_between(first, end)} "
            f"RETURN {_PLACE}, m.id, b.id ORDER BY {_PLACE}"
        )

    def close(self) -> None:
        self._connection.close()
        self._database.close()

    def _node_table(self, name: str) -> tuple[list[str], int]:
        columns = [row[0] for row in self.run(f"CALL table_info('{name}') RETURN name")]
        last = self.run(f"MATCH (m:`{name}`) RETURN max({_PLACE})")[0][0]
        return columns, 0 if last is None else last + 1


_PLACE = "offset(id(m))"


def _between(first: int, end: int) -> str:
    return f"{_PLACE} >= {first} AND {_PLACE} < {end}"


def _rebuild(source: _Database, path: str) -> Iterator[list[Any]]:
    """The same rows at the same places in a new database with a new index: the log of the one fits the other. No edges."""
    target = _Database(path, _REBUILDING_POOL_BYTES)
    tables = source.tables()
    for name, kind, _, _ in tables:
        target.run(_definition(source, name) if kind == "NODE" else f"CREATE REL TABLE `{name}`(FROM Memory TO Memory)")
    for name, kind, columns, count in tables:
        for first in range(0, count if kind == "NODE" else 0, _PAGE_ROWS):
            end = min(first + _PAGE_ROWS, count)
            _copy_rows(target, name, columns, list(source.page(name, columns, first, end)), range(first, end))
            yield []
    target.run("CHECKPOINT")
    target.close()


def _definition(source: _Database, table: str) -> str:
    found = source.run(f"CALL table_info('{table}') RETURN name, type, `primary key`")
    columns = (f"`{name}` {kind}{' PRIMARY KEY' if is_key else ''}" for name, kind, is_key in found)
    return f"CREATE NODE TABLE `{table}`({', '.join(columns)})"


def _copy_rows(target: _Database, table: str, columns: list[str], rows: list[list[Any]], places: range) -> None:
    """Rows that were deleted keep their places: a row is made there, and deleted."""
    found = {place: values for place, *values in rows}
    blank = next(iter(found.values()), [])
    absent = {place: f"gap {place}" for place in places if place not in found}
    made = [dict(zip(columns, found.get(place) or [absent[place], *blank[1:]], strict=True)) for place in places if blank]
    if not made:
        raise RuntimeError(f"a whole page of {table} was deleted")
    values = ", ".join(f"`{column}`: r.`{column}`" for column in columns)
    for first in range(0, len(made), _CREATED_ROWS):
        target.run(f"UNWIND $rows AS r CREATE (:`{table}` {{{values}}})", {"rows": made[first : first + _CREATED_ROWS]})
    for key in absent.values():
        target.run(f"MATCH (m:`{table}`) WHERE m.`{columns[0]}` = $key DELETE m", {"key": key})


def _say(*frame: Any) -> None:
    body = msgspec.msgpack.encode(frame)
    sys.stdout.buffer.write(len(body).to_bytes(4, "big") + body)
    sys.stdout.buffer.flush()


def _tell(rows: Iterator[list[Any]]) -> None:
    some, characters = [], 0
    for row in rows:
        some.append(row)
        characters += sum(len(value) for value in row if isinstance(value, str))
        if len(some) >= _FRAME_ROWS or characters >= _FRAME_CHARACTERS:
            _say("rows", some)
            some, characters = [], 0
    _say("rows", some)
    _say("end")


def _answer(database: _Database, request: dict[str, Any]) -> None:
    match request.pop("what"):
        case "page":
            _tell(database.page(**request))
        case "edges":
            _tell(database.edges(**request))
        case "rebuild":
            for progress in _rebuild(database, request["path"]):
                _say("rows", progress)
            _say("end")


def _listen(requests: SimpleQueue[bytes]) -> None:
    """In a thread of its own, so that it ends with its parent also while Kuzu does not come back."""
    for line in sys.stdin.buffer:
        requests.put(line)
    os._exit(0)


def _serve(path: str, pool_bytes: int) -> None:
    requests = SimpleQueue[bytes]()
    threading.Thread(target=_listen, args=[requests], daemon=True).start()
    database = _Database(path, pool_bytes)
    _say("open", database.tables())
    while True:
        request = requests.get()
        try:
            _answer(database, msgspec.json.decode(request))
        except (RuntimeError, ValueError) as error:
            _say("error", str(error))


if __name__ == "__main__":
    try:
        _serve(sys.argv[1], int(sys.argv[2]) << 20)
    except (RuntimeError, ValueError) as error:
        _say("error", str(error))
    # A copy needs no closing; and closing a damaged one may hang.
    os._exit(0)
