"""Somebody's Cypher, kept from doing anything but read the graph.

Three walls, any of which would do for most of it: words that write, or reach files and settings, are refused before Kuzu sees
them; the database is open for reading only; and while the query runs, the system lets this process open no file, and take only
so much more memory.

The graph's own process, started by `Graph` with the path of a record, the seconds it may be idle, and the graph's folder.

Kuzu may abort its process or compute for ever, so it is never in the agent's. This one makes the graph anew where the record has
changed, answers one query after another, and ends when nobody asks for a while or when its parent has gone. The only file that
imports `kuzu`.

The graph is made by Kuzu's bulk copy, in a file that no other process sees. Copied rows go through JSON, which Kuzu reads without
further packages and which keeps any text but NUL bytes; rows with those, and rows too large for its reader, are created singly.
`Engine` closes doors behind which Kuzu 0.11 loses data or crashes: no automatic checkpoint, statements prepared once, every
parameter always given, results read and closed at once, everything released in the right order.
"""

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import kuzu
import msgspec

from hive_mind.errors import HiveError, InvalidInput, sentence_of
from hive_mind.regex import regex
from hive_mind.store.graph.pipe import GraphLocation, Parent, Seal
from hive_mind.store.graph.questions import COLUMNS, FACT, KINDS, Pair, Row, Rows, kind_of, node_tables, relation_tables, row_of
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
_MAKING_POOL_BYTES = 1 << 30
# Kuzu's JSON reader refuses an object of 32 MB.
_COPIED_BYTES_MAX = 8 << 20


def make(reader: RecordReader, path: Path, report: Report) -> None:
    engine = Engine(path, _MAKING_POOL_BYTES)
    try:
        for statement in node_tables():
            engine.run(statement)
        folder = path.parent
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
        _copied_edges(engine, reader, path.parent, kinds, report)
        engine.run("CHECKPOINT")
    finally:
        engine.close()


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
        ends = f"MATCH (a:{pair.from_kind} {{id: $from_id}}), (b:{pair.to_kind} {{id: $to_id}})"
        engine.run(f"{ends} CREATE (a)-[:{edge.relation.value}]->(b)", from_id=edge.from_id, to_id=edge.to_id)


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


if sys.platform != "win32":
    import resource

_CHARACTERS_MAX = 20_000
# Kuzu's parser takes exponentially long for some nestings and overflows its stack in others.
_DEPTH_MAX = 20
_MEMORY_BYTES = 1 << 30

# Strings, quoted names, comments, words, and single characters, as Kuzu reads them. What is quoted can't be a keyword; a letter
# beyond ASCII ends a word, in case Kuzu takes it for space.
_TOKEN = regex(
    r"""'(?:\\.|[^'\\])*+(?:'|\Z)|"(?:\\.|[^"\\])*+(?:"|\Z)|`[^`]*+(?:`|\Z)|//[^\n\r]*|/\*.*?(?:\*/|\Z)|[A-Za-z_]\w*|\S""",
    re.DOTALL | re.ASCII,
)
_CLOSED = regex(r"""'(?:\\.|[^'\\])*+'|"(?:\\.|[^"\\])*+"|`[^`]*+`""", re.DOTALL)
_BEGINNINGS = frozenset({"MATCH", "OPTIONAL", "UNWIND", "WITH", "RETURN", "EXPLAIN", "PROFILE", "CALL"})
_WRITING = frozenset(
    "ALTER ANALYZE ATTACH BEGIN CHECKPOINT COMMENT COMMIT COPY CREATE DELETE DETACH DROP EXPORT EXTENSION FORCE IMPORT INSTALL "
    "LOAD MACRO MERGE REMOVE ROLLBACK SET TRANSACTION UNINSTALL UPDATE USE VACUUM".split()
)
_CALLABLE = frozenset({"SHOW_TABLES", "TABLE_INFO", "SHOW_FUNCTIONS", "DB_VERSION", "SHOW_CONNECTION"})


def checked(query: str, limit: int) -> str:
    """The query, with a limit of one more where it has none. Raises `InvalidInput` for one that does more than read."""
    if len(query) > _CHARACTERS_MAX:
        raise InvalidInput(f"this query has {len(query):,} characters: write one of up to {_CHARACTERS_MAX:,}")
    everything = _TOKEN.findall(query)
    if everything and _is_open(everything[-1]):
        raise InvalidInput(f"this query ends within what {everything[-1][:20]!r} begins: close the quotation or the comment")
    tokens = [token for token in everything if not token.startswith(("//", "/*"))]
    words = [token.upper() for token in tokens]
    while words and words[-1] == ";":
        words.pop()
    if not words or words[0] not in _BEGINNINGS:
        raise InvalidInput("a query of the graph begins with MATCH, UNWIND, WITH, RETURN or CALL: `hive-mind graph query --help`")
    if ";" in words:
        raise InvalidInput("this is more than one query: ask them one after another")
    if writing := sorted(_WRITING.intersection(words)):
        raise InvalidInput(
            f"the graph is only read, and {writing[0]} does more: leave it out (a name that is spelled so goes into backticks)"
        )
    for word, called in pairwise(words):
        if word == "CALL" and called not in _CALLABLE:
            raise InvalidInput(f"CALL {called.lower()} is not allowed here: only {', '.join(sorted(_CALLABLE)).lower()} are")
    return _limited(query.rstrip().rstrip(";"), words, limit)


def _is_open(token: str) -> bool:
    """Whether the end of the query is inside a quotation or a comment: what would then be a keyword is for Kuzu to say."""
    if token.startswith("/*"):
        return len(token) < 4 or not token.endswith("*/")
    return token[0] in "'\"`" and _CLOSED.fullmatch(token) is None


def _limited(query: str, words: list[str], limit: int) -> str:
    depth, last_return = 0, -1
    for number, word in enumerate(words):
        depth += (word in "([{") - (word in ")]}")
        if depth > _DEPTH_MAX:
            raise InvalidInput(f"this query is nested more than {_DEPTH_MAX} deep: write it flatter")
        if word == "RETURN" and not depth:
            last_return = number
    if last_return < 0 or "LIMIT" in words[last_return:] or "UNION" in words:
        return query
    # On a line of its own: the last one may end in a comment.
    return f"{query}\nLIMIT {limit + 1}"


@contextmanager
def confined() -> Iterator[None]:
    """While the block runs, this process can't open a file, write one, or take more than a gigabyte."""
    if sys.platform == "win32":
        yield
        return
    limits = {resource.RLIMIT_NOFILE: 0, resource.RLIMIT_FSIZE: 0}
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limits[resource.RLIMIT_AS] = (pages * resource.getpagesize()) + _MEMORY_BYTES
    former = {kind: resource.getrlimit(kind) for kind in limits}
    for kind, most in limits.items():
        resource.setrlimit(kind, (most, former[kind][1]))
    try:
        yield
    finally:
        for kind, limit in former.items():
            resource.setrlimit(kind, limit)


# As much as a person looks at, and a pipe takes in a moment.
_ANSWER_BYTES_MAX = 8 << 20
# A query needs some 20 MB.
_POOL_BYTES = 256 << 20


class Server:
    """One graph, opened when first asked for."""

    def __init__(self, record: Path, report: Callable[..., None]) -> None:
        self._record, self._report = record, report
        self._place = GraphLocation(Path())
        self._engine: Engine | None = None
        self._opened: tuple[object, ...] = ()
        """the record and the file as they were when it was opened"""

    def answer(self, query: dict[str, Any], anew: str) -> tuple[Any, ...]:
        """The last message to a query, after progress and notices. `anew` says why not to trust the graph that is there."""
        try:
            engine = self._current(anew)
            self._report("begun")
            return "answer", _queried(engine, **query)
        except HiveError as error:
            return "refused", type(error).__name__, str(error)
        except OSError as error:
            problem = (
                f"{sentence_of(error)}; the memory itself is not touched: check the disk, its permissions and its free space"
            )
            return "refused", "BackendUnavailable", problem
        except (EngineError, MemoryError) as error:
            return "refused", *_explained(str(error) or "bad_alloc")

    def _current(self, anew: str) -> Engine:
        with RecordReader(self._record) as reader:
            record_state = reader.record, reader.fingerprint()
            if self._engine is not None and not anew and self._opened == (*record_state, self._place.stamp()):
                return self._engine
            with self._place.locked(partial(self._report, "notice")):
                self.close()
                if why := anew or self._place.distrust(*record_state, VERSION):
                    self._report("notice", f"making the graph of {self._record}: {why}")
                    self._place.discard()
                    with self._place.workshop():
                        make(reader, self._place.unfinished, partial(self._report, "progress"))
                        self._place.publish(Seal(*record_state, VERSION))
                self._opened = *record_state, self._place.stamp()
                self._engine = Engine(self._place.database, _POOL_BYTES, read_only=True)
                return self._engine

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()
            self._engine = None


def _queried(engine: Engine, cypher: str, limit: int, timeout_s: float) -> Rows:
    query = checked(cypher, limit)
    try:
        with confined():
            return engine.run_foreign(query, timeout_s, partial(_taken, limit))
    except (ValueError, OverflowError) as error:
        raise InvalidInput(f"a value of this result can't be shown ({error}): return it as text, with string(…)") from error


def _taken(limit: int, result: Any) -> Rows:
    rows: list[tuple[Any, ...]] = []
    size = 0
    while result.has_next():
        if len(rows) == limit:
            return Rows(_columns(result), tuple(rows), f"cut after {limit:,} rows: ask for less, or with a higher limit")
        row = tuple(map(_plain, result.get_next()))
        size += len(msgspec.msgpack.encode(row))
        if size > _ANSWER_BYTES_MAX:
            return Rows(
                _columns(result), tuple(rows), f"cut after {len(rows):,} rows, which are {size >> 20} MB: return less of each"
            )
        rows.append(row)
    return Rows(_columns(result), tuple(rows))


def _columns(result: Any) -> tuple[str, ...]:
    return tuple(result.get_column_names())


def _plain(value: Any) -> Any:
    """A value of Kuzu's as one that goes over a pipe and into JSON; a node without what its kind lacks."""
    match value:
        case dict():
            return {str(key): _plain(part) for key, part in value.items() if part is not None or "_label" not in value}
        case list() | tuple():
            return [_plain(part) for part in value]
        case bool() | None | float() | str():
            return value
        case int() if -(1 << 63) <= value < 1 << 63:
            return value
        case bytes():
            return value.hex()
        case _:
            return str(value)


def _explained(message: str) -> tuple[str, str]:
    """Kuzu's message, as an error of ours and the remedy."""
    if message.startswith("Interrupted"):
        return "BackendTimeout", "this query took too long: ask for less, or with a longer timeout"
    if "Buffer manager exception" in message or "bad_alloc" in message:
        return "BackendRejected", "this query needs more memory than a query may take: ask for less, or end it with LIMIT"
    if message.startswith(
        ("Parser exception", "Binder exception", "Catalog exception", "Conversion exception", "Function exception")
    ):
        return "InvalidInput", f"{message}; the tables are shown by `hive-mind graph query --help`"
    return "BackendRejected", message


def main() -> None:
    """Serve the parent that started this process, until it is idle for the given seconds."""
    record, idle_s = Path(sys.argv[1]), float(sys.argv[2])
    os.chdir(sys.argv[3])
    parent = Parent()
    server = Server(record, parent.send)
    while query := parent.question(idle_s):
        parent.send(*server.answer(*query))
    server.close()
