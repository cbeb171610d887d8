"""Making a graph of a record, by Kuzu's bulk copy, in a file that no other process sees. The only file that imports `kuzu`.

Copied rows go through JSON, which Kuzu reads without further packages and which keeps any text but NUL bytes; rows with
those, and rows too large for its reader, are created singly. `Engine` closes doors behind which Kuzu 0.11 loses data or
crashes: no automatic checkpoint, statements prepared once, every parameter always given, results read and closed at once,
everything released in the right order.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import kuzu
import msgspec

from hive_mind.store.graph.questions import COLUMNS, FACT, KINDS, Pair, Row, kind_of, node_tables, relation_tables, row_of
from hive_mind.store.sqlite.reading import Edge, RecordNode, RecordReader

EngineError = RuntimeError
"""Kuzu's exception, whatever went wrong."""

Taken = TypeVar("Taken")

VERSION = str(kuzu.version)

# Address space only; Kuzu's own choice of 8 TB fails where that is limited.
_DATABASE_MAX_BYTES = 1 << 38


class Engine:
    """Not thread-safe: one thread owns it. Raises `EngineError`. `pool_bytes` is a cap, not a reservation."""

    def __init__(self, path: Path, pool_bytes: int, *, read_only: bool = False) -> None:
        self._prepared: dict[str, kuzu.PreparedStatement] = {}
        self._database = kuzu.Database(
            str(path),
            buffer_pool_size=pool_bytes,
            max_db_size=_DATABASE_MAX_BYTES,
            max_num_threads=2,
            read_only=read_only,
            # A checkpoint at a moment of Kuzu's choosing may be the second of this open: not crash-safe.
            auto_checkpoint=False,
        )
        try:
            self._connection = kuzu.Connection(self._database)
            if not read_only:
                self.run("CALL force_checkpoint_on_close=false")
        except BaseException:
            self._database.close()
            raise

    def run(self, query: str, /, **parameters: Any) -> list[list[Any]]:
        """All rows of a query of ours. It is prepared on its first use and kept; each use gives the same parameters."""
        return list(self.rows(query, **parameters))

    def rows(self, query: str, /, **parameters: Any) -> Iterator[list[Any]]:
        """The same, one by one, and closed when they were all taken."""
        statement = self._prepared.get(query)
        if statement is None:
            # The class and not Connection.prepare, which warns of its deprecation and has no successor that does not leak.
            statement = kuzu.PreparedStatement(self._connection, query, parameters)
            if not statement.is_success():
                raise EngineError(statement.get_error_message())
            self._prepared[query] = statement
        result: Any = self._connection.execute(statement, parameters)
        try:
            while result.has_next():
                yield result.get_next()
        finally:
            result.close()

    def run_foreign(self, query: str, timeout_s: float, take: Callable[[Any], Taken]) -> Taken:
        """The output of `take` for a foreign query's result, on a connection of its own, which is then dropped."""
        connection = kuzu.Connection(self._database)
        try:
            connection.set_query_timeout(max(1, int(timeout_s * 1000)))
            result: Any = connection.execute(query)
            try:
                return take(result)
            finally:
                result.close()
        finally:
            connection.close()

    def close(self) -> None:
        """Release everything. The order matters: a statement that outlives its database is a crash."""
        self._prepared.clear()
        self._connection.close()
        self._database.close()


Report = Callable[[int, int, str], None]
"""Takes how much is done of how much, with a word on what is under way."""

Ticking = TypeVar("Ticking", RecordNode, Edge)

_REPORT_EVERY = 2000
# Indexes of a million facts were made with half of it.
_POOL_BYTES = 1 << 30
# Kuzu's JSON reader refuses an object of 32 MB.
_COPIED_BYTES_MAX = 8 << 20


def make(reader: RecordReader, path: Path, report: Report) -> None:
    engine = Engine(path, _POOL_BYTES)
    try:
        for statement in node_tables():
            engine.run(statement)
        kinds = _copied_nodes(engine, reader, path.parent, report)
        _copied_edges(engine, reader, path.parent, kinds, report)
        engine.run("CHECKPOINT")
    finally:
        engine.close()


def _copied_nodes(engine: Engine, reader: RecordReader, folder: Path, report: Report) -> dict[str, str]:
    """The kinds of those that are no facts, by their ids."""
    kinds: dict[str, str] = {}
    with _Files(folder) as files:
        for node in _reporting(reader.nodes_since(0), reader.last_tick, report, "reading facts"):
            kind = kind_of(node.value)
            if kind != FACT:
                kinds[node.id] = kind
            row = row_of(node.id, node.value)
            if not files.put(kind, row):
                engine.run(f"CREATE (:{kind} {{{', '.join(f'`{name}`: ${name}' for name in COLUMNS[kind])}}})", **row)
        for number, kind in enumerate(files.finished()):
            report(number, len(KINDS), "copying facts")
            engine.run(f"COPY {kind} FROM '{folder}/{kind}.json'")
    return kinds


def _copied_edges(engine: Engine, reader: RecordReader, folder: Path, kinds: dict[str, str], report: Report) -> None:
    pairs: dict[str, Pair] = {}
    single: list[tuple[Edge, Pair]] = []
    with _Files(folder) as files:
        for edge in _reporting(reader.edges_since(0), reader.last_tick, report, "reading edges"):
            pair = Pair(edge.relation.value, kinds.get(edge.from_id, FACT), kinds.get(edge.to_id, FACT))
            pairs[pair.label] = pair
            if not files.put(pair.label, {"from": edge.from_id, "to": edge.to_id}):
                single.append((edge, pair))
        for statement in relation_tables(pairs.values()):
            engine.run(statement)
        # An end of a damaged edge may be missing; otherwise that would be a defect, and is an error.
        options = ", ignore_errors=true" if reader.damaged else ""
        for number, name in enumerate(files.finished()):
            report(number, len(pairs), "copying edges")
            pair = pairs[name]
            engine.run(
                f"COPY {pair.relation} FROM '{folder}/{name}.json' (from='{pair.from_kind}', to='{pair.to_kind}'{options})"
            )
    for edge, pair in single:
        _link(engine, edge, pair.from_kind, pair.to_kind)


class _Files:
    """Rows on their way: one JSON file for each table, removed when the block ends."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, BinaryIO] = {}

    def __enter__(self) -> "_Files":
        return self

    def put(self, name: str, row: Row) -> bool:
        """One more row; False for one that can't be copied."""
        encoded = msgspec.json.encode(row)
        if len(encoded) > _COPIED_BYTES_MAX or rb"\u0000" in encoded:
            return False
        file = self._files.get(name)
        if file is None:
            file = self._files[name] = (self._folder / f"{name}.json").open("wb")
        file.write(b",\n" if file.tell() else b"[")
        file.write(encoded)
        return True

    def finished(self) -> Iterator[str]:
        """The name of each file, when it can be read."""
        for name, file in self._files.items():
            file.write(b"]")
            file.close()
            yield name

    def __exit__(self, *_: object) -> None:
        for file in self._files.values():
            file.close()
            Path(file.name).unlink()


def _reporting(items: Iterator[Ticking], last_tick: int, report: Report, kind: str) -> Iterator[Ticking]:
    for number, item in enumerate(items):
        if number % _REPORT_EVERY == 0:
            report(item.tick, last_tick, kind)
        yield item


def _link(engine: Engine, edge: Edge, start: str, end: str) -> None:
    ends = f"MATCH (a:{start} {{id: $from_id}}), (b:{end} {{id: $to_id}})"
    engine.run(f"{ends} CREATE (a)-[:{edge.relation.value}]->(b)", from_id=edge.from_id, to_id=edge.to_id)
