"""Making a graph of a record: whole, by Kuzu's bulk copy, or the little that is new on a copy of the former one.

Both write a file that nobody else sees, and end with a checkpoint. What is copied goes through JSON, which Kuzu reads without
further packages and which keeps any text but NUL bytes; rows with those, and rows too large for its reader, are created singly.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from hive_mind.store._kuzu.engine import Engine
from hive_mind.store.graph.schema import COLUMNS, FACT, KINDS, STANDARD, Pair, Row, kind_of, node_tables, relation_tables, row_of
from hive_mind.store.sqlite.reading import Edge, Node, RecordReader

Report = Callable[[int, int, str], None]
"""Takes how much is done of how much, with a word on what is under way."""

Ticking = TypeVar("Ticking", Node, Edge)

_REPORT_EVERY = 2000
# Indexes of a million facts were made with half of it.
_POOL_BYTES = 1 << 30
# Kuzu's JSON reader refuses an object of 32 MB.
_COPIED_BYTES_MAX = 8 << 20
# Measured: a row takes 0.5 ms created and 0.03 ms copied; 0.2 s, the least a whole graph takes, are some 400 of them.
_ADDED_ALWAYS, _ADDED_SHARE, _ADDED_MAX = 400, 10, 5000
_ADDED_BYTES_MAX = 16 << 20


class TooMuch(Exception):
    """What is new is better not added: making all of it anew is quicker, or needs another table."""


def made_whole(reader: RecordReader, path: Path, report: Report) -> tuple[Pair, ...]:
    """Make a graph of the whole record. Returns the pairs it has beyond the standard ones."""
    with _opened(path) as engine:
        for statement in node_tables():
            engine.run(statement)
        kinds = _copied_nodes(engine, reader, path.parent, report)
        return _copied_edges(engine, reader, path.parent, kinds, report)


def is_more(reader: RecordReader, tick: int) -> bool:
    """Whether the graph has something to take from what came after `tick`."""
    return any(True for _ in reader.nodes_since(tick)) or any(True for _ in reader.edges_since(tick))


def caught_up(reader: RecordReader, tick: int, former: Path, path: Path, pairs: Iterable[Pair]) -> None:
    """Make a copy of the former graph, and add what came after `tick`. Raises `TooMuch`."""
    most = max(_ADDED_ALWAYS, min(_ADDED_MAX, tick // _ADDED_SHARE))
    nodes = list(islice(reader.nodes_since(tick), most + 1))
    edges = list(islice(reader.edges_since(tick), most + 1))
    rows = [(kind_of(node.value), row_of(node.id, node.value)) for node in nodes]
    if len(rows) + len(edges) > most or sum(len(msgspec.json.encode(row)) for _, row in rows) > _ADDED_BYTES_MAX:
        raise TooMuch
    shutil.copyfile(former, path)
    with _opened(path) as engine:
        engine.run("BEGIN TRANSACTION")
        for kind, row in rows:
            _put(engine, kind, row)
        for edge in edges:
            _link(engine, edge, {*STANDARD, *pairs})
        engine.run("COMMIT")


@contextmanager
def _opened(path: Path) -> Iterator[Engine]:
    engine = Engine(path, _POOL_BYTES)
    try:
        yield engine
        engine.run("CHECKPOINT")
    finally:
        engine.close()


def _copied_nodes(engine: Engine, reader: RecordReader, folder: Path, report: Report) -> dict[str, str]:
    """The kinds of those that are no facts, by their ids."""
    kinds: dict[str, str] = {}
    with _Files(folder) as files:
        for node in _told(reader.nodes_since(0), reader.last_tick, report, "reading facts"):
            kind = kind_of(node.value)
            if kind != FACT:
                kinds[node.id] = kind
            row = row_of(node.id, node.value)
            if not files.put(kind, row):
                engine.run(_creating(kind), **row)
        for number, kind in enumerate(files.finished()):
            report(number, len(KINDS), "copying facts")
            engine.run(f"COPY {kind} FROM '{folder}/{kind}.json'")
    return kinds


def _copied_edges(engine: Engine, reader: RecordReader, folder: Path, kinds: dict[str, str], report: Report) -> tuple[Pair, ...]:
    """The pairs beyond the standard ones."""
    pairs: dict[str, Pair] = {}
    single: list[Edge] = []
    with _Files(folder) as files:
        for edge in _told(reader.edges_since(0), reader.last_tick, report, "reading edges"):
            pair = Pair(edge.relation.value, kinds.get(edge.from_id, FACT), kinds.get(edge.to_id, FACT))
            pairs["-".join(pair)] = pair
            if not files.put("-".join(pair), {"from": edge.from_id, "to": edge.to_id}):
                single.append(edge)
        for statement in relation_tables(pairs.values()):
            engine.run(statement)
        # An end of a damaged edge may be missing; otherwise that would be a defect, and is an error.
        more = ", ignore_errors=true" if reader.damaged else ""
        for number, name in enumerate(files.finished()):
            report(number, len(pairs), "copying edges")
            relation, start, end = pairs[name]
            engine.run(f"COPY {relation} FROM '{folder}/{name}.json' (from='{start}', to='{end}'{more})")
    for edge in single:
        _link(engine, edge, {*STANDARD, *pairs.values()})
    return tuple(sorted({*pairs.values()} - {*STANDARD}))


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


def _told(items: Iterator[Ticking], last_tick: int, report: Report, what: str) -> Iterator[Ticking]:
    for number, item in enumerate(items):
        if number % _REPORT_EVERY == 0:
            report(item.tick, last_tick, what)
        yield item


def _creating(kind: str) -> str:
    return f"CREATE (:{kind} {{{', '.join(f'`{name}`: ${name}' for name in COLUMNS[kind])}}})"


def _put(engine: Engine, kind: str, row: Row) -> None:
    """Create it, or change what is different."""
    columns = ", ".join(f"x.`{name}`" for name in COLUMNS[kind])
    found = engine.run(f"MATCH (x:{kind} {{id: $id}}) RETURN {columns}", id=row["id"])
    if not found:
        engine.run(_creating(kind), **row)
        return
    for name, value in zip(COLUMNS[kind], found[0], strict=True):
        if row[name] != value:
            engine.run(f"MATCH (x:{kind} {{id: $id}}) SET x.`{name}` = $value", id=row["id"], value=row[name])


def _link(engine: Engine, edge: Edge, pairs: set[Pair]) -> None:
    start, end = (_kind_in(engine, id) for id in (edge.from_id, edge.to_id))
    if not start or not end:
        # Its row is damaged in the record.
        return
    if Pair(edge.relation.value, start, end) not in pairs:
        raise TooMuch
    ends = f"MATCH (a:{start} {{id: $from_id}}), (b:{end} {{id: $to_id}})"
    engine.run(f"{ends} CREATE (a)-[:{edge.relation.value}]->(b)", from_id=edge.from_id, to_id=edge.to_id)


def _kind_in(engine: Engine, id: str) -> str:
    return next((kind for kind in KINDS if engine.run(f"MATCH (x:{kind} {{id: $id}}) RETURN 1", id=id)), "")
