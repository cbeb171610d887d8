"""Which partition a name reads, and how far it has read: plain functions and counters, no broker.

State an event hub does not keep for us: how far each name has read. One SQLite file, or none. Dead letters that an earlier
version kept in it are found there still.

The file may be open in several processes, such as a node and a command that looks at its dead letters. Losing the last second of
it costs repetitions, not messages, so it is not synced at every write.
"""

import json
import logging
import os
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from hive_mind.errors import BackendError
from hive_mind.regex import regex
from hive_mind.safe_files import private_folder
from hive_mind.sqlite.file import transaction
from hive_mind.sqlite.worker import Worker

_NUMBER = regex(r"(?<![0-9])[0-9]+$")


def partition_of(name: str, partitions: int) -> int:
    """The partition where `name` reads. All senders compute the same, without coordination.

    Names that end in a number are dealt out evenly: agent-0 … agent-9 over four partitions are three, three, two and two.
    """
    number = _NUMBER.search(name)
    return (int(number[0]) if number else zlib.crc32(name.encode())) % partitions


@dataclass(frozen=True, slots=True)
class Position:
    """Everything before `next` is done with, but for the numbers in `open`."""

    next: int
    open: tuple[int, ...] = ()


class Watermark:
    """The part of a partition one name is done with.

    A log is read in order, but acknowledged in any; so beside the place that reading has reached there are the numbers before it
    that are not done with yet. They are few: no more than a mailbox holds.
    """

    def __init__(self, position: Position) -> None:
        self._next, self._open = position.next, set(position.open)
        # Held in an earlier life, and not read again yet.
        self._again = set(position.open)

    @property
    def next(self) -> int:
        """The first number to read."""
        return min(self._again, default=self._next)

    def begin(self, number: int) -> bool:
        """A number was read. Whether it is to be dealt with: not if it was before."""
        is_new = number >= self._next or number in self._again
        self._pass(number)
        if is_new:
            self._open.add(number)
        return is_new

    def skip(self, number: int) -> None:
        """A number was read that means nothing to this name."""
        if number in self._again:
            self._open.discard(number)
        self._pass(number)

    def finish(self, number: int) -> None:
        self._open.discard(number)

    def position(self) -> Position:
        return Position(self._next, tuple(sorted(self._open)))

    def _pass(self, number: int) -> None:
        self._next = max(self._next, number + 1)
        if self._again:
            # Numbers come in order: those missing by now are not on the broker any more.
            self._open -= {old for old in self._again if old < number}
            self._again = {old for old in self._again if old > number}


_log = logging.getLogger(__name__)

_FILE = "eventhubs.sqlite"
_BUSY_S = 5.0
# Deleted bytes are overwritten: a person may want them to be forgotten.
_PRAGMAS = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON;"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS position (
    hub TEXT, hive TEXT, name TEXT, partition INTEGER, next INTEGER NOT NULL, open TEXT NOT NULL,
    PRIMARY KEY (hub, hive, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS dead (
    id INTEGER PRIMARY KEY AUTOINCREMENT, hub TEXT NOT NULL, hive TEXT NOT NULL, name TEXT NOT NULL, number INTEGER NOT NULL,
    attempts INTEGER NOT NULL, reason TEXT NOT NULL, at_ms INTEGER NOT NULL, data BLOB NOT NULL
);
"""
_SAVE = """INSERT INTO position VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET partition = excluded.partition, next = excluded.next, open = excluded.open"""
_FIND = "SELECT id, name, number, attempts, reason, at_ms, data FROM dead WHERE hub = ? AND hive = ?"


@dataclass(frozen=True, slots=True)
class ConsumerName:
    """A name that reads."""

    hive: str
    name: str


@dataclass(frozen=True, slots=True)
class Stop:
    """Where it read last, and how far it is there. Another partition says nothing: its numbers are others."""

    partition: int
    at: Position


@dataclass(frozen=True, slots=True)
class Dead:
    """A dead letter as it is kept. `number` is its sequence number; the partition follows from the name."""

    id: int
    name: str
    number: int
    attempts: int
    reason: str
    at_ms: int
    data: bytes


class ConsumerState:
    """Open from construction to `close`; each call blocks for a moment, so all go through a `Keeper`."""

    def __init__(self, folder: Path | None, hub: str) -> None:
        self._hub, self._path = hub, ":memory:" if folder is None else str(folder / _FILE)
        with _translating(self._path):
            if folder is not None:
                private_folder(folder)
                # The log that SQLite makes beside it gets the same rights.
                os.close(os.open(self._path, os.O_CREAT | os.O_WRONLY, 0o600))
            self._connection = sqlite3.connect(self._path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
            self._connection.executescript(f"{_PRAGMAS} {_SCHEMA}")

    def positions(self, hive: str) -> dict[str, Stop]:
        query = "SELECT name, partition, next, open FROM position WHERE hub = ? AND hive = ?"
        with _translating(self._path):
            rows = self._connection.execute(query, (self._hub, hive)).fetchall()
        return {name: Stop(partition, Position(next, tuple(json.loads(open)))) for name, partition, next, open in rows}

    def write(self, items: Sequence[tuple[ConsumerName, Stop]]) -> None:
        """Remember where some stopped, all or none."""
        rows = [
            (self._hub, place.hive, place.name, stop.partition, stop.at.next, json.dumps(stop.at.open)) for place, stop in items
        ]
        with _translating(self._path), transaction(self._connection):
            self._connection.executemany(_SAVE, rows)

    def dead(self, hive: str, limit: int) -> list[Dead]:
        """The oldest of a hive."""
        with _translating(self._path):
            rows = self._connection.execute(f"{_FIND} ORDER BY id LIMIT ?", (self._hub, hive, limit)).fetchall()
        return [Dead(*row) for row in rows]

    def dead_counts(self, hive: str) -> dict[str, int]:
        """How many there are, by name."""
        query = "SELECT name, count(*) FROM dead WHERE hub = ? AND hive = ? GROUP BY name"
        with _translating(self._path):
            return dict(self._connection.execute(query, (self._hub, hive)).fetchall())

    def forget(self, hive: str, ids: Sequence[int]) -> int:
        """Drop dead letters. How many there were."""
        query = "DELETE FROM dead WHERE hub = ? AND hive = ? AND id = ?"
        with _translating(self._path):
            with transaction(self._connection):
                count = sum(self._connection.execute(query, (self._hub, hive, id)).rowcount for id in ids)
            # The log has them still. Where another process reads just now it goes on with it, and clears it the next time.
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return count

    def close(self) -> None:
        with _translating(self._path):
            self._connection.close()


Keeper = Worker[ConsumerState, tuple[ConsumerName, Stop]]


def keeper(folder: Path | None, hub: str) -> Keeper:
    """A `ConsumerState` and the one thread that uses it."""
    return Worker(partial(ConsumerState, folder, hub), "eventhubs state")


@contextmanager
def _translating(path: str) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise BackendError(
            "eventhubs", f"positions and dead letters in {path}: {error}; look at the file and its disk"
        ) from error
