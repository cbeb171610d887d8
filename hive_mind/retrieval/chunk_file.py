"""One SQLite file that keeps a collection's documents, chunks and embeddings: what an index is rebuilt from.

A change is one transaction, so a kill at any moment leaves what was there before, and other processes go on reading meanwhile.
The store of agents' facts never takes a fact out, which is what a changed document asks for, and lets one process in at a time:
nobody could ask while somebody indexes.
"""

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path

import msgspec
import numpy as np
from msgspec.structs import astuple
from numpy.typing import NDArray

from hive_mind.errors import BackendError, DatabaseLocked, DatabaseUnreadable, reason_of
from hive_mind.model.decoding import msgpack_decoder

Vector = NDArray[np.float32]

VERSION = 1
APPLICATION_ID = int.from_bytes(b"hvmr", "big")
_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE document (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, state BLOB NOT NULL, hash BLOB NOT NULL, title TEXT NOT NULL,
    fields BLOB NOT NULL
);
CREATE TABLE chunk (
    number INTEGER PRIMARY KEY, document INTEGER NOT NULL, ordinal INTEGER NOT NULL, heading TEXT NOT NULL, text TEXT NOT NULL,
    key BLOB NOT NULL
);
CREATE INDEX chunk_of_document ON chunk (document);
CREATE INDEX chunk_key ON chunk (key);
CREATE TABLE vector (model TEXT NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL, PRIMARY KEY (key, model)) WITHOUT ROWID;
"""
_CHUNK = "number, document, ordinal, heading, text, key"
# Another process may be writing its index; a small one is done in a second.
_WAIT_S = 10.0
_PAGE_BYTES = 8192
_ASKED_AT_ONCE = 500


class DocumentRow(msgspec.Struct, frozen=True):
    """A document as it is kept. `fields` are each field's values."""

    number: int
    id: str
    state: bytes
    hash: bytes
    title: str
    fields: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Known:
    """A document's number, and by which a change of its file shows."""

    number: int
    state: bytes
    hash: bytes


class ChunkRow(msgspec.Struct, frozen=True, order=True):
    """A chunk as it is kept. `key` names the text its embedding is made of."""

    number: int
    document: int
    ordinal: int
    heading: str
    text: str
    key: bytes


class ChunkFile:
    """Open from construction to `close`; for threads that take turns.

    Raises `DatabaseUnreadable`, `DatabaseLocked`, `BackendError`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.lock = threading.RLock()
        with _translating(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, timeout=_WAIT_S, isolation_level=None, check_same_thread=False)
            try:
                ((identity,),) = self._connection.execute("PRAGMA application_id").fetchall()
                ((version,),) = self._connection.execute("PRAGMA user_version").fetchall()
                if identity not in (0, APPLICATION_ID) or version > VERSION:
                    raise self._unreadable("is not an index of this version of hive-mind")
                self._connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
                self._connection.execute("PRAGMA journal_mode = WAL")
                # A commit reaches the disk at the next write-back: a power cut may cost the last update, never the one before.
                self._connection.execute("PRAGMA synchronous = NORMAL")
                if identity == 0:
                    self._create()
            except BaseException:
                self._connection.close()
                raise

    def version(self) -> int:
        """A number that changes whenever another connection has changed something."""
        return int(self._rows("PRAGMA data_version")[0][0])

    def meta(self) -> dict[str, str]:
        return dict(self._rows("SELECT key, value FROM meta"))

    def documents(self) -> list[DocumentRow]:
        """Every document, in the order they were numbered."""
        rows = self._rows("SELECT number, id, state, hash, title, fields FROM document ORDER BY number")
        fields = msgpack_decoder(dict[str, tuple[str, ...]])
        return [DocumentRow(number, id, state, hash, title, fields(raw)) for number, id, state, hash, title, raw in rows]

    def known(self) -> dict[str, Known]:
        return {id: Known(*rest) for id, *rest in self._rows("SELECT id, number, state, hash FROM document")}

    def chunks(self) -> Iterator[ChunkRow]:
        yield from starmap(ChunkRow, self._rows(f"SELECT {_CHUNK} FROM chunk ORDER BY number"))  # noqa: S608

    def chunks_at(self, numbers: Iterable[int]) -> dict[int, ChunkRow]:
        return {row.number: row for row in self._chosen("number", numbers)}

    def chunks_in(self, documents: Iterable[int]) -> list[ChunkRow]:
        return sorted(self._chosen("document", documents))

    def counts(self) -> tuple[int, int]:
        ((documents, chunks),) = self._rows("SELECT (SELECT count(*) FROM document), (SELECT count(*) FROM chunk)")
        return documents, chunks

    def vectors(self, model: str) -> dict[bytes, Vector]:
        rows = self._rows("SELECT key, value FROM vector WHERE model = ?", model)
        return {key: np.frombuffer(value, np.float16).astype(np.float32) for key, value in rows}

    def has_vectors(self) -> bool:
        return bool(self._rows("SELECT 1 FROM vector LIMIT 1"))

    def vector_keys(self, model: str) -> set[bytes]:
        return {key for (key,) in self._rows("SELECT key FROM vector WHERE model = ?", model)}

    def chunk_keys(self) -> list[tuple[bytes, int, int]]:
        """The text of every chunk by its key, the chunk's number, and its document's."""
        return self._rows("SELECT key, number, document FROM chunk")

    def keep_vectors(self, model: str, keys: Sequence[bytes], vectors: Sequence[Vector]) -> None:
        """Keep embeddings; durable when this returns."""
        rows = [(model, key, vector.astype(np.float16).tobytes()) for key, vector in zip(keys, vectors, strict=True)]
        with self.changing():
            self._connection.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?, ?)", rows)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """All changes inside, durable at the end, or none."""
        with self.lock, _translating(self._path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def forget(self, documents: Iterable[int]) -> None:
        """Take documents out with their chunks. Inside `changing`."""
        rows = [(number,) for number in documents]
        self._connection.executemany("DELETE FROM chunk WHERE document = ?", rows)
        self._connection.executemany("DELETE FROM document WHERE number = ?", rows)

    def forget_vectors(self, keys: Iterable[bytes]) -> None:
        """Take out embeddings of texts that are gone. Inside `changing`."""
        self._connection.executemany("DELETE FROM vector WHERE key = ?", [(key,) for key in keys])

    def add(self, documents: Iterable[DocumentRow], chunks: Iterable[ChunkRow]) -> None:
        """Inside `changing`."""
        rows = [(*astuple(row)[:5], msgspec.msgpack.encode(row.fields)) for row in documents]
        self._connection.executemany("INSERT INTO document VALUES (?, ?, ?, ?, ?, ?)", rows)
        self._connection.executemany("INSERT INTO chunk VALUES (?, ?, ?, ?, ?, ?)", map(astuple, chunks))

    def touch(self, states: Mapping[int, bytes]) -> None:
        """Remember the states of documents whose text is the same. Inside `changing`."""
        self._connection.executemany("UPDATE document SET state = ? WHERE number = ?", [(s, n) for n, s in states.items()])

    def set_meta(self, values: Mapping[str, str]) -> None:
        """Inside `changing`."""
        self._connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())

    def next_numbers(self) -> tuple[int, int]:
        ((document, chunk),) = self._rows(
            "SELECT (SELECT coalesce(max(number), 0) FROM document), (SELECT coalesce(max(number), 0) FROM chunk)"
        )
        return document + 1, chunk + 1

    def close(self) -> None:
        """Release the file. Closing twice is fine."""
        with self.lock:
            self._connection.close()

    def _create(self) -> None:
        with self.changing():
            if self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                # Another process was faster, or it is somebody else's file.
                ((identity,),) = self._connection.execute("PRAGMA application_id").fetchall()
                if identity != APPLICATION_ID:
                    raise self._unreadable("is an SQLite file of another program")
                return
            for statement in _SCHEMA.split(";"):
                self._connection.execute(statement)
            self._connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            self._connection.execute(f"PRAGMA user_version = {VERSION}")

    def _unreadable(self, problem: str) -> DatabaseUnreadable:
        return DatabaseUnreadable("sqlite", f"{self._path} {problem}. Nothing was changed; move it away and index again")

    def _chosen(self, column: str, numbers: Iterable[int]) -> Iterator[ChunkRow]:
        row_numbers = list(numbers)
        for start in range(0, len(row_numbers), _ASKED_AT_ONCE):
            batch = row_numbers[start : start + _ASKED_AT_ONCE]
            marks = ",".join("?" * len(batch))
            query = f"SELECT {_CHUNK} FROM chunk WHERE {column} IN ({marks})"  # noqa: S608
            yield from starmap(ChunkRow, self._rows(query, *batch))

    def _rows(self, query: str, *values: object) -> list[tuple]:  # type: ignore[type-arg]
        with self.lock, _translating(self._path):
            return self._connection.execute(query, values).fetchall()


@contextmanager
def _translating(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        kind = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if kind in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise DatabaseLocked("sqlite", f"{path}: another process is indexing; try again when it is done") from error
        if kind in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            advice = "delete it and index again: documents are untouched"
            raise DatabaseUnreadable("sqlite", f"{path} is damaged ({error}); {advice}") from error
        raise BackendError("sqlite", f"{path}: {error}; the former index is still in place") from error
    except OSError as error:
        raise BackendError("sqlite", f"{path}: {reason_of(error)}; check the folder, its permissions and the disk") from error
