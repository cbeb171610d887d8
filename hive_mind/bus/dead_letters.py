"""Messages that a node refused, in one bounded file beside its journal: written before their delivery is acknowledged.

The file is opened for each use. So people list, drop and send again what lies there while the node runs, is down or can't
start. The node itself takes what is to be handled again from here; no broker is asked. Each of three kinds has its own bound, so
that strangers who fill one push nothing out of another: mail that the node could not handle, bytes that are no message, and mail
that is not proven to be from its sender. Of the last one sample a sender is kept, the rest is counted.

Messages that were in hand when their process ended are counted, too (`runtime.node.effect_executor.InHand`).
"""

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Literal

from hive_mind.bus import DEAD_LETTERS_SHOWN, UNREADABLE_BYTES_MAX, DeadLetter, Envelope, codec, key_of
from hive_mind.errors import BackendError, DatabaseUnreadable, WireError
from hive_mind.safe_files import sync_folder
from hive_mind.sqlite import log_path
from hive_mind.sqlite.file import File, FileFormat, remove, transaction

_log = logging.getLogger(__name__)

Kind = Literal["refused", "unreadable", "unproven"]

LETTERS_MAX = 2_000
"""Letters of each kind; then the oldest go, and are counted. Enough to see what goes wrong."""
LETTERS_BYTES_MAX = 32 << 20
"""Bytes of each kind: two of the largest messages there are."""
SUFFIX = ".dlq"
KILLS_MAX = 2
"""Processes that one message may end."""
# A message that ended a process is remembered among this many.
_KILLERS_MAX = 1000
_AGAIN_AT_ONCE = 100
# Time stamps of files are coarse: a file changed this lately may change again under the same stamp.
_COARSE_S = 2.0

_FORMAT = FileFormat(
    owner="node",
    application_id=int.from_bytes(b"hvml", "big"),
    migrations=(
        (
            "CREATE TABLE letter (id INTEGER PRIMARY KEY AUTOINCREMENT, mark BLOB NOT NULL UNIQUE, hand BLOB NOT NULL,"
            " kind TEXT NOT NULL, attempts INTEGER NOT NULL, reason TEXT NOT NULL, at_ms INTEGER NOT NULL,"
            " count INTEGER NOT NULL, is_again INTEGER NOT NULL, data BLOB NOT NULL)",
            "CREATE TABLE killer (hand BLOB PRIMARY KEY, count INTEGER NOT NULL, at_ms INTEGER NOT NULL) WITHOUT ROWID",
            "CREATE TABLE pushed_out (kind TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID",
        ),
    ),
    page_bytes=4096,
    log_bytes=4 << 20,
    when_damaged="move it away: the node begins another one",
    is_shared=True,
)
_KEEP = """INSERT INTO letter (mark, hand, kind, attempts, reason, at_ms, is_again, data, count)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1)
ON CONFLICT (mark) DO UPDATE SET count = count + 1, attempts = excluded.attempts, reason = excluded.reason,
at_ms = excluded.at_ms, is_again = excluded.is_again"""
_PUSH_OUT = """DELETE FROM letter WHERE kind = ?1 AND id <= (SELECT max(id) FROM (SELECT id,
sum(length(data)) OVER (ORDER BY id DESC) AS bytes, row_number() OVER (ORDER BY id DESC) AS place FROM letter WHERE kind = ?1)
WHERE place > 1 AND (bytes > ?2 OR place > ?3))"""
_SIZE = "SELECT count(*), coalesce(sum(length(data)), 0) FROM letter WHERE kind = ?"
_COUNT = "INSERT INTO pushed_out VALUES (?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count"
_KILLED = """INSERT INTO killer VALUES (?, 1, ?) ON CONFLICT DO UPDATE SET count = count + 1, at_ms = excluded.at_ms"""
_FORGET_KILLERS = "DELETE FROM killer WHERE hand NOT IN (SELECT hand FROM killer ORDER BY at_ms DESC LIMIT ?)"
_LETTERS = "SELECT id, attempts, reason, at_ms, count, data FROM letter"
_FORGIVEN = "DELETE FROM killer WHERE hand = (SELECT hand FROM letter WHERE id = ?)"
_FORGET = "DELETE FROM letter WHERE id = ?"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A message to be written. `mark` says which it is: the same one again is counted, not kept twice."""

    kind: Kind
    mark: bytes
    hand: bytes
    data: bytes
    attempts: int
    reason: str
    letter: int = 0
    """The letter of which it was delivered again; 0 where it came over a bus."""


@dataclass(frozen=True, slots=True)
class Again:
    """A letter to be handled again."""

    letter: int
    envelope: Envelope
    size: int


def refusal(envelope: Envelope, attempts: int, reason: str, *, is_proven: bool = True, letter: int = 0) -> Refusal:
    """Of a message; where its sender is not proven, one letter stands for all in that name."""
    key = key_of(envelope)
    what = ("message", key.sender, key.id, key.mark) if is_proven else ("sender", key.sender)
    try:
        data = codec.encode(envelope)
    except WireError as error:
        # Only within a process, where messages travel as objects.
        return Refusal("unreadable", _digest(*what), hand_of(envelope), b"", attempts, f"{reason}; {error}", letter)
    return Refusal("refused" if is_proven else "unproven", _digest(*what), hand_of(envelope), data, attempts, reason, letter)


def unreadable(data: bytes, attempts: int, reason: str) -> Refusal:
    start = data[:UNREADABLE_BYTES_MAX]
    return Refusal("unreadable", blake2b(data, digest_size=16).digest(), b"", start, attempts, reason)


def hand_of(envelope: Envelope) -> bytes:
    """Names a message while it is handled, encrypted or not."""
    return _digest("hand", envelope.sender, envelope.id)


class DeadLetterFile:
    """Of one node; without a path it is gone with the process. Its methods block for some milliseconds; any thread may call them.

    Those that write raise `BackendError`, and then nothing was written: `trouble` says so until something is again.
    """

    def __init__(self, path: Path | None = None, name: str = "") -> None:
        self.path, self.name, self.trouble = path, name or (path.stem if path else ""), ""
        self._memory: sqlite3.Connection | None = None
        self._turn = threading.RLock()
        # Letters in the hands of this process, to be handled again; and how the file was when they were looked for.
        self._out: set[int] = set()
        self._seen: object = None
        # Letters and bytes of a kind that fit before all have to be counted again.
        self._spare: dict[Kind, tuple[int, int]] = {}

    def write(self, refusals: Sequence[Refusal], done: Sequence[int] = ()) -> None:
        """Keep these, and forget letters that were handled after all: on disk when this returns."""
        try:
            with self._writing() as connection:
                _forget(connection, done)
                self._keep(connection, refusals)
        except BackendError as error:
            if str(error) != self.trouble:
                _log.error("refused messages can't be written, so they are not acknowledged: %s", error)
            self.trouble = str(error)
            raise
        self.trouble = ""
        self._out.difference_update(done, (refused.letter for refused in refusals))

    def has_changed(self) -> bool:
        """Whether somebody may have asked for something to be handled again since `again` was called."""
        changed_at = self._state()
        return bool(changed_at) and (changed_at != self._seen or max(changed_at) > time.time() - _COARSE_S)

    def again(self) -> list[Again]:
        self._seen, letters = self._state(), list[Again]()
        with self._turn, self._reading() as connection:
            query = "SELECT id, data FROM letter WHERE is_again ORDER BY id"
            rows = [row for row in (connection.execute(query) if connection else ()) if row[0] not in self._out]
            for letter, data in rows[:_AGAIN_AT_ONCE]:
                # Of an earlier version, perhaps: it stays.
                with suppress(WireError):
                    letters.append(Again(letter, codec.decode(data), len(data)))
            self._out.update(again.letter for again in letters)
        return letters

    def count_kill(self, hand: bytes) -> None:
        """A process ended while it had this message in hand."""
        with self._writing() as connection:
            connection.execute(_KILLED, (hand, _now_ms()))
            connection.execute(_FORGET_KILLERS, (_KILLERS_MAX,))

    def killers(self) -> frozenset[bytes]:
        """Messages that have ended as many processes as one may."""
        with self._reading() as connection:
            rows = connection.execute("SELECT hand FROM killer WHERE count >= ?", (KILLS_MAX,)).fetchall() if connection else ()
        return frozenset(hand for (hand,) in rows)

    def letters(self, limit: int = DEAD_LETTERS_SHOWN) -> list[DeadLetter]:
        """The oldest first."""
        with self._reading() as connection:
            rows = connection.execute(f"{_LETTERS} ORDER BY at_ms, id LIMIT ?", (limit,)).fetchall() if connection else ()
        return [self._letter(*row) for row in rows]

    def count(self) -> int:
        return self._number("SELECT count(*) FROM letter")

    def pushed_out(self) -> int:
        """How many letters went for want of room."""
        return self._number("SELECT sum(count) FROM pushed_out")

    def send_again(self, ids: Sequence[int]) -> int:
        """Let the node handle letters once more, now or when it runs again. How many there were; unreadable ones stay."""
        if not self._exists:
            return 0
        with self._writing() as connection:
            connection.executemany(_FORGIVEN, ((id,) for id in ids))
            query = "UPDATE letter SET is_again = 1 WHERE id = ? AND kind != 'unreadable'"
            return connection.executemany(query, ((id,) for id in dict.fromkeys(ids))).rowcount

    def adopt(self, letter: DeadLetter) -> None:
        """Let the node handle a dead letter of its broker; what is unreadable is not taken."""
        if letter.envelope is not None:
            with self._writing() as connection:
                self._keep(connection, [refusal(letter.envelope, letter.attempts, letter.reason)], is_again=True)

    def drop(self, ids: Sequence[int]) -> int:
        """Forget letters, to the last byte. How many there were."""
        if not self._exists:
            return 0
        with self._opened() as file, self._writing(file) as connection:
            return _forget(connection, list(dict.fromkeys(ids)))

    def erase(self, is_meant: Callable[[Envelope], bool], *, is_dry: bool = False) -> int:
        """Drop what is meant, and bytes that may say anything. How many that were."""
        with self._reading() as connection:
            query = "SELECT id, data FROM letter"
            ids = [id for id, data in (connection.execute(query) if connection else ()) if codec.may_be_meant(data, is_meant)]
        return len(ids) if is_dry or not ids else self.drop(ids)

    def _keep(self, connection: sqlite3.Connection, refusals: Sequence[Refusal], *, is_again: bool = False) -> None:
        at_ms = _now_ms()
        connection.executemany(
            _KEEP,
            [(r.mark, r.hand, r.kind, r.attempts, r.reason, at_ms, is_again, r.data) for r in refusals],
        )
        for kind in {refused.kind for refused in refusals}:
            sizes = [len(refused.data) for refused in refusals if refused.kind == kind]
            letters, size = self._spare.get(kind, (0, 0))
            self._spare[kind] = letters - len(sizes), size - sum(sizes)
            if min(self._spare[kind]) < 0:
                self._make_room(connection, kind)

    def _make_room(self, connection: sqlite3.Connection, kind: Kind) -> None:
        """Push out a tenth where there is too much, so that not all are counted for each that comes."""
        letters, size = connection.execute(_SIZE, (kind,)).fetchone()
        if letters > LETTERS_MAX or size > LETTERS_BYTES_MAX:
            bounds = (LETTERS_BYTES_MAX * 9 // 10, LETTERS_MAX * 9 // 10)
            connection.execute(_COUNT, (kind, connection.execute(_PUSH_OUT, (kind, *bounds)).rowcount))
            letters, size = connection.execute(_SIZE, (kind,)).fetchone()
            _log.warning("%s keeps no more dead letters (%s): the oldest go; look at them", self.path or "the process", kind)
        self._spare[kind] = LETTERS_MAX - letters, LETTERS_BYTES_MAX - size

    def _number(self, query: str) -> int:
        with self._reading() as connection:
            return (connection.execute(query).fetchone()[0] or 0) if connection else 0

    def _letter(self, id: int, attempts: int, reason: str, at_ms: int, count: int, data: bytes) -> DeadLetter:
        return replace(codec.dead_letter(self.name, data, attempts, reason, str(id), at_ms), count=count)

    @property
    def _exists(self) -> bool:
        return bool(self._state())

    def _state(self) -> tuple[float, ...]:
        """When the file and its log were written to; without a file, whenever it is asked. Empty where there is nothing."""
        if self.path is None:
            return (time.time(),) if self._memory else ()
        times = []
        for path in (self.path, log_path(self.path)):
            with suppress(OSError):
                times.append(path.stat().st_mtime)
        return tuple(times)

    @contextmanager
    def _opened(self) -> Iterator[File | None]:
        """The file, made if need be; one that is damaged is moved aside. Left without a byte of what was deleted."""
        with self._turn:
            if self.path is None:
                yield None
                return
            with closing(_opened(self.path)) as file:
                yield file
                file.scrub()

    @contextmanager
    def _writing(self, file: File | None = None) -> Iterator[sqlite3.Connection]:
        with self._turn:
            if self.path is None:
                self._memory = self._memory or _in_memory()
                with transaction(self._memory):
                    yield self._memory
                return
            with nullcontext(file) if file else closing(_opened(self.path)) as opened, opened.writing() as connection:
                yield connection
            # Its log went with the last to close it: after a power failure it could be back, and be played over later writes.
            sync_folder(self.path.parent)

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        """None where there is nothing yet, or nothing that can be read: the next write sees to that."""
        if self.path is None or not self._exists:
            with self._turn:
                yield self._memory
        else:
            with self._turn, closing(File(self.path, _FORMAT)) as file, file.reading() as connection:
                yield connection


def _in_memory() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    for statement in _FORMAT.migrations[0]:
        connection.execute(statement)
    return connection


def _opened(path: Path) -> File:
    try:
        return File(path, _FORMAT)
    except DatabaseUnreadable as error:
        aside = path.with_name(f"{path.name}.damaged")
        _log.error("%s; it is moved to %s", error, aside)
        with suppress(OSError):
            path.replace(aside)
        remove(path)
        return File(path, _FORMAT)


def _forget(connection: sqlite3.Connection, ids: Sequence[int]) -> int:
    connection.executemany(_FORGIVEN, ((id,) for id in ids))
    return connection.executemany(_FORGET, ((id,) for id in ids)).rowcount if ids else 0


def _digest(*parts: str) -> bytes:
    return blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=16).digest()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


Files = Mapping[str, DeadLetterFile]
"""By the name of the node."""


def files_in(folder: Path) -> Files:
    return {path.stem: DeadLetterFile(path) for path in sorted(folder.glob(f"*{SUFFIX}"))}


def file_of(folder: Path, node: str) -> DeadLetterFile:
    return DeadLetterFile(folder / f"{node}{SUFFIX}", node)


def listed(files: Files, limit: int = DEAD_LETTERS_SHOWN) -> list[DeadLetter]:
    """The oldest of all; an id says whose it is."""
    letters = [replace(letter, id=f"@{name}/{letter.id}") for name, file in files.items() for letter in file.letters(limit)]
    return sorted(letters, key=lambda letter: letter.at_ms)[:limit]


def send_again(files: Files, ids: Iterable[str]) -> int:
    return _each(files, ids, DeadLetterFile.send_again)


def drop(files: Files, ids: Iterable[str]) -> int:
    return _each(files, ids, DeadLetterFile.drop)


def is_of_a_node(id: str) -> bool:
    return id.startswith("@")


def _each(files: Files, ids: Iterable[str], act: Callable[[DeadLetterFile, Sequence[int]], int]) -> int:
    numbers: dict[str, list[int]] = {}
    for id in filter(is_of_a_node, ids):
        name, _, number = id[1:].rpartition("/")
        if name in files and number.isascii() and number.isdecimal():
            numbers.setdefault(name, []).append(int(number))
    return sum(act(files[name], letters) for name, letters in numbers.items())
