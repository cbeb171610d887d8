"""The graph's own process, started by `client` with the path of a record and for how many seconds it may be idle.

Kuzu may abort its process or compute for ever, so it is never in the agent's. This one brings the graph up to date with the
record before each question, answers one after another, and ends when nobody asks for a while or when its parent has gone.
"""

import os
import queue
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from hive_mind.errors import HiveError, InvalidInput
from hive_mind.store.graph import guard, making, questions, wire
from hive_mind.store.graph.engine import VERSION, Engine, EngineError
from hive_mind.store.graph.seal import Place, Seal
from hive_mind.store.graph.values import Rows
from hive_mind.store.sqlite.reading import RecordReader

if sys.platform != "win32":
    import resource

# As much as a person looks at, and a pipe takes in a moment.
_ANSWER_BYTES_MAX = 8 << 20


class Server:
    """One graph, opened when first asked for."""

    def __init__(self, record: Path, out: BinaryIO) -> None:
        self._record, self._out = record, out
        self._place = Place(Path())
        self._engine: Engine | None = None
        self._seal: Seal | None = None
        self._stamp: tuple[int, ...] = ()

    def answer(self, question: wire.Question) -> wire.Reply:
        """The reply; progress and notices are sent before it."""
        try:
            engine = self._current(question.anew)
            self._send(wire.Begun())
            if question.name == "query":
                value: Any = _queried(engine, **question.arguments)
            else:
                value = getattr(questions, question.name)(engine, **question.arguments)
        except HiveError as error:
            return wire.Refused(type(error).__name__, str(error))
        except OSError as error:
            told = f"{error}; the memory itself is not touched: look at the disk, its rights and its room"
            return wire.Refused("BackendUnavailable", told)
        except (EngineError, MemoryError) as error:
            return wire.Refused(*_explained(str(error) or "bad_alloc"))
        return wire.Answer(msgspec.Raw(msgspec.msgpack.encode(value)))

    def _current(self, anew: str) -> Engine:
        """The graph as the record is at this moment."""
        with RecordReader(self._record) as reader:
            is_changed = self._place.stamp() != self._stamp
            if self._engine is None or self._seal is None or anew or is_changed or self._is_behind(self._seal, reader):
                return self._opened(reader, anew)
            # What else was written is no part of the graph, and is not looked at again.
            self._seal = msgspec.structs.replace(self._seal, tick=reader.last_tick)
            return self._engine

    def _is_behind(self, seal: Seal, reader: RecordReader) -> bool:
        if seal.record != reader.record or seal.tick > reader.last_tick:
            return True
        return seal.tick < reader.last_tick and making.is_more(reader, seal.tick)

    def _opened(self, reader: RecordReader, anew: str) -> Engine:
        with self._place.locked(lambda text: self._send(wire.Notice(text))):
            try:
                seal = self._renewed(reader, anew or self._place.sealed(reader.record, VERSION))
            except BaseException:
                # On a full disk the memory needs that room.
                self._place.leave_workshop()
                raise
            self.close()
            self._stamp = self._place.stamp()
            self._engine, self._seal = Engine(self._place.database, read_only=True), seal
            return self._engine

    def _renewed(self, reader: RecordReader, seal: Seal | str) -> Seal:
        if isinstance(seal, Seal) and self._is_behind(seal, reader):
            seal = self._caught_up(reader, seal)
        return self._made(reader, why=seal) if isinstance(seal, str) else seal

    def _caught_up(self, reader: RecordReader, seal: Seal) -> Seal | str:
        """The seal of a graph with what is new, or why it has to be made anew."""
        if seal.tick > reader.last_tick:
            return "the record was set back"
        if seal.is_partial:
            return "rows of the record were damaged"
        self._place.clear_workshop()
        try:
            making.caught_up(reader, seal.tick, self._place.database, self._place.unfinished, seal.pairs)
        except making.TooMuch:
            return "there is much new"
        except EngineError as error:
            return f"adding what is new failed ({error})"
        return self._place.publish(msgspec.structs.replace(seal, tick=reader.last_tick, is_partial=bool(reader.damaged)))

    def _made(self, reader: RecordReader, why: str) -> Seal:
        self._send(wire.Notice(f"making the graph of {self._record}: {why}"))
        self.close()
        self._place.discard()
        self._place.clear_workshop()
        pairs = making.made_whole(reader, self._place.unfinished, self._report)
        seal = Seal(reader.record, reader.last_tick, VERSION, pairs=pairs, is_partial=bool(reader.damaged))
        return self._place.publish(seal)

    def _report(self, done: int, total: int, what: str) -> None:
        self._send(wire.Progress(done, total, what))

    def _send(self, reply: wire.Reply) -> None:
        self._out.write(wire.framed(reply))
        self._out.flush()

    def close(self) -> None:
        """Let go of the database."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def serve(self, asked: "queue.Queue[bytes]", idle_s: float) -> None:
        """Answer until nobody asks."""
        while True:
            try:
                body = asked.get(timeout=idle_s)
            except queue.Empty:
                break
            self._send(self.answer(wire.question_in(body)))
        self.close()


def _queried(engine: Engine, cypher: str, limit: int, timeout_s: float) -> Rows:
    """Somebody's query, within its walls."""
    checked = guard.checked(cypher, limit)
    try:
        with guard.confined():
            return engine.run_foreign(checked, timeout_s, partial(_taken, limit))
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
    """What Kuzu said, as an error of ours and what to do."""
    if message.startswith("Interrupted"):
        return "BackendTimeout", "this query took too long: ask for less, or with a longer timeout"
    if "Buffer manager exception" in message or "bad_alloc" in message:
        return "BackendRejected", "this query needs more memory than a query may take: ask for less, or end it with LIMIT"
    if message.startswith(
        ("Parser exception", "Binder exception", "Catalog exception", "Conversion exception", "Function exception")
    ):
        return "InvalidInput", f"{message}; the tables are shown by `hive-mind graph query --help`"
    return "BackendRejected", message


def _read(asked: "queue.Queue[bytes]") -> None:
    """Hand on what arrives; when the parent has gone, nobody waits for what is under way."""
    while head := _exactly(wire.LENGTH_BYTES):
        asked.put(_exactly(int.from_bytes(head, "big")))
    os._exit(0)


def _exactly(count: int) -> bytes:
    """So many bytes, fewer at the end. Without a buffer, whose lock would abort Python when it ends."""
    body = b""
    while len(body) < count and (part := os.read(sys.stdin.fileno(), count - len(body))):
        body += part
    return body


def main() -> None:
    """Serve the parent that started this process."""
    record, idle_s = Path(sys.argv[1]), float(sys.argv[2])
    os.chdir(record.parent)
    os.umask(0o077)
    if sys.platform != "win32":
        # A crash must not leave the memory's content in a core file.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Kuzu may print: replies go where nothing else is written.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    asked: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_read, args=(asked,), daemon=True).start()
    Server(record, out).serve(asked, idle_s)
