"""The reading of a name: its inbox, how far it has read, and where that is kept; and a watch over a hive.

An event hub does not keep how far each name has read. One SQLite file does, or none: positions are written now and then. Dead
letters that an earlier version kept in it are found there still.

The file may be open in several processes, such as a node and a command that looks at its dead letters. Losing the last second of
it costs repetitions, not messages, so it is not synced at every write.
"""

import asyncio
import json
import logging
import os
import sqlite3
import zlib
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from hive_mind.bus import OTHER_PROGRAM, Delivery, Envelope, Key, Subscription, key_of
from hive_mind.bus.eventhubs.reader import SequencedEvent, Unreadable
from hive_mind.bus.mailbox import Mailbox
from hive_mind.errors import BackendError, reason_of
from hive_mind.regex import regex
from hive_mind.safe_files import private_folder
from hive_mind.sqlite import Worker
from hive_mind.sqlite.file import transaction

_log = logging.getLogger(__name__)

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
        query = "SELECT name, count(*) FROM dead WHERE hub = ? AND hive = ? GROUP BY name"
        with _translating(self._path):
            return dict(self._connection.execute(query, (self._hub, hive)).fetchall())

    def forget(self, hive: str, ids: Sequence[int]) -> int:
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
            "eventhubs", f"positions and dead letters in {path}: {reason_of(error)}; look at the file and its disk"
        ) from error


# Envelopes that an inbox takes beyond its bound before it is left behind: fetching what was left costs half a second.
_OVERFLOW = 64
# A watcher sees an envelope once for each partition it went to, one shortly after the other.
_SEEN_MAX = 10_000


class PartitionInboxListener(Protocol):
    """Calls of an inbox to its bus, on the event loop. Nothing of it waits."""

    def moved(self, box: "Box", settled: int = 0) -> None:
        """Its position is another, perhaps because something was settled."""

    def has_room(self, box: "Box") -> None:
        """It was left behind, and can take more."""

    async def leave(self, box: "Box") -> None: ...


class Box:
    """See `bus.Inbox`. It sees everything that is read on its partition and keeps what is addressed to it."""

    def __init__(
        self, owner: PartitionInboxListener, subscription: Subscription, on_ready: Callable[[], None], at: Position
    ) -> None:
        self.place, self.hive = ConsumerName(subscription.hive, subscription.name), subscription.hive
        self.mailbox: Mailbox[int] = Mailbox(subscription, on_ready, self)
        self.is_behind = False
        self._owner, self._mark = owner, Watermark(at)

    @property
    def next(self) -> int:
        return self._mark.next

    @property
    def position(self) -> Position:
        return self._mark.position()

    def take_event(self, event: SequencedEvent) -> None:
        number, content = event.number, event.what
        if self.is_behind or number < self._mark.next:
            return
        if isinstance(content, Envelope) and self.mailbox.wants(content):
            if self.mailbox.is_heavy or self.mailbox.waiting >= self.mailbox.subscription.waiting_max + _OVERFLOW:
                self.is_behind = True
            elif self._mark.begin(number):
                self.mailbox.offer(number, content, size=event.size)
        elif isinstance(content, Unreadable) and content.hive == self.hive and self._mark.begin(number):
            self.mailbox.refuse(number, content.data, 1, content.reason)
        else:
            if isinstance(content, Unreadable) and not content.hive:
                # Counted only: whose dead letter would it be?
                self.mailbox.unreadable[OTHER_PROGRAM] += 1
            self._mark.skip(number)
        self._owner.moved(self)

    def jump(self, number: int) -> None:
        _log.warning("%s goes on at %d instead of %d: the hub was recreated", self.place.name, number, self.next)
        self._mark = Watermark(Position(number))
        self._owner.moved(self)

    def finish(self, number: int) -> None:
        self._mark.finish(number)
        self._owner.moved(self, 1)
        is_roomy = not self.mailbox.is_heavy and 2 * self.mailbox.waiting <= self.mailbox.subscription.waiting_max
        if self.is_behind and is_roomy:
            self.is_behind = False
            self._owner.has_room(self)

    def take(self, deliveries_max: int) -> Sequence[Delivery]:
        return self.mailbox.take(deliveries_max)

    async def close(self) -> None:
        """Give the name free; held events will be read again."""
        await self.mailbox.finish()
        if not self.mailbox.is_closed:
            self.mailbox.end()
            await self._owner.leave(self)

    def settled(self, native: int) -> None:
        self.finish(native)


class Watching:
    """A watch over the events of a hive, on one of the partitions. `known` is shared by those of all partitions."""

    is_behind = False

    def __init__(
        self, hive: str, start: int, shown_keys: OrderedDict[Key, None], on_envelope: Callable[[Envelope], None]
    ) -> None:
        self.hive, self.next, self._known, self._on_envelope = hive, start, shown_keys, on_envelope

    def take_event(self, event: SequencedEvent) -> None:
        if event.number < self.next:
            return
        self.next = event.number + 1
        if not isinstance(event.what, Envelope) or event.what.hive != self.hive or (key := key_of(event.what)) in self._known:
            return
        self._known[key] = None
        if len(self._known) > _SEEN_MAX:
            self._known.popitem(last=False)
        self._on_envelope(event.what)

    def jump(self, number: int) -> None:
        self.next = number


_EVERY_S, _EVERY = 1.0, 100


class Chores:
    """Work to do behind a caller that can't wait."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(self._do(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def finish(self) -> None:
        """Return when what is to be done by now is done."""
        if tasks := set(self._tasks):
            await asyncio.wait(tasks)

    async def _do(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except BackendError as error:
            _log.warning("this was not saved, so some messages will be delivered again: %s", error)


class Positions:
    """How far each name is. The file is asked each time: another process may have read under a name before this one does."""

    def __init__(self, keeper: Keeper, chores: Chores) -> None:
        self._keeper, self._chores = keeper, chores
        self._moved: dict[ConsumerName, tuple[int, Box]] = {}
        self._settled, self._is_writing = 0, False
        self._timer: asyncio.TimerHandle | None = None

    async def of(self, place: ConsumerName, partition: int) -> Position | None:
        """Where a name stopped; None if it never read, or if it read another partition, when the hub had fewer."""
        stop = (await self.all(place.hive)).get(place.name)
        return stop.at if stop is not None and stop.partition == partition else None

    async def all(self, hive: str) -> dict[str, Stop]:
        return await self._keeper.do(lambda state: state.positions(hive))

    def moved(self, box: Box, partition: int, *, settled: int = 0) -> None:
        """It has another position, to be written within a second or after a hundred that were settled."""
        self._moved[box.place] = partition, box
        self._settled += settled
        if self._settled >= _EVERY and not self._is_writing:
            self.write()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_EVERY_S, self.write)

    def write(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._settled = None, 0
        stops = {place: Stop(partition, box.position) for place, (partition, box) in self._moved.items()}
        self._moved.clear()
        if stops:
            self._is_writing = True
            self._chores.add(self._save(stops))

    async def _save(self, stops: dict[ConsumerName, Stop]) -> None:
        try:
            await self._keeper.write(list(stops.items()))
        finally:
            self._is_writing = False
