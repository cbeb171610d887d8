"""The interface of every ledger: keep streams of entries, and let exactly one of several writers be the next.

`append` names the sequence number it expects (optimistic concurrency). The second of two writers gets an error and nothing of its
write is kept, so a run has one executor, one decision counts and no question is asked twice, whatever was killed in between. A
ledger does not interpret its entries, never changes one, and deletes whole streams only, on request.

Entries that may be appended, whatever the back end.

Following a ledger: give the entries there page by page, then wait to be woken.

A follower that looked and found nothing must not miss an entry that came just then; so appends are counted, and no follower falls
asleep before it has seen the last one.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from hive_mind.awaiting import settle
from hive_mind.errors import BackendUnavailable, InvalidInput
from hive_mind.model.entry import Entry, Head

BODY_MAX_BYTES = 1 << 20
"""of one entry; anything larger belongs into a file, and its name into the entry"""
NAME_MAX_CHARACTERS = 200
"""of a stream and of a kind"""

# An entry is at most 1 MiB, most are below 1 kB.
PAGE_ENTRIES = 100
# SQLite's integers.
_NUMBER_MAX = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Page:
    """A part of what was appended."""

    entries: Sequence[Entry]
    upto: int
    """the position until which the ledger was looked through for them; at its end, the one that was asked for"""


class Ledger(Protocol):
    """Safe to call from many tasks.

    Opened by `open(path, is_shared=False)` of a back end, which raises `DatabaseLocked` (somebody has it open and does not share
    it), `DatabaseUnreadable` (damaged, foreign or newer file) or `BackendError`. A shared ledger may be open in several processes
    at once, each of which sees what the others append.
    """

    async def append(self, stream: str, seq: int, entries: Sequence[Entry]) -> bool:
        """Keep `entries` as number `seq` of the stream and those that follow: all are durable when this returns.

        False, and nothing is kept, when somebody was first: the stream has an entry `seq` already. A caller that is cancelled
        leaves all or nothing. Raises `InvalidInput` for a `seq` beyond the stream's end and for an entry that is too large, and
        `BackendError` when the disk is full or fails; then nothing of this is kept.
        """

    async def read(self, stream: str, since: int = 0) -> list[Entry]:
        """The entries of a stream from number `since` on. Sees every `append` that was handed in before.

        Raises `DatabaseUnreadable`, naming the entry, where one is not as it was written: a stream with a hole would mean
        something else.
        """

    async def drop(self, heads: Sequence[Head], stream: str, entries: Sequence[Entry]) -> bool:
        """Drop whole streams and append `entries` to `stream`, all at once; durable when it returns.

        False, and nothing is done, where one of them does not end (any more) as `heads` says. `stream` may be one of those that
        go: it then begins anew. Positions are never given again, so there have to be entries. Raises as `append`.
        """

    async def heads(self, prefix: str) -> list[Head]:
        """Where each stream with a name that begins so ends, by name. A damaged end is logged."""

    async def newer(self, since_pos: int, prefix: str = "") -> Page:
        """Some of the entries behind position `since_pos`, in order, of streams with names that begin so; none at the end.

        A damaged entry is logged and left out.
        """

    def follow(self, since_pos: int, prefix: str = "") -> AsyncIterator[Entry]:
        """Every entry behind position `since_pos`, in order, of streams with names that begin so; then those to come.

        After a restart it goes on behind the last `pos` it gave. Ends when the ledger is closed. Damaged ones as by `newer`.
        """

    async def close(self) -> None:
        """Finish what was handed in, release the file, leave no thread behind. Closing twice is fine."""


def check(stream: str, seq: int, entries: Sequence[Entry]) -> None:
    """Raises `InvalidInput` for what no ledger keeps."""
    _check_name("stream", stream)
    if not 0 <= seq <= _NUMBER_MAX - len(entries):
        raise InvalidInput(f"sequence number {seq} of stream {stream!r}: the first is 0")
    for entry in entries:
        _check_name("kind", entry.kind)
        if len(entry.body) > BODY_MAX_BYTES:
            size, most = f"{len(entry.body):,}", f"{BODY_MAX_BYTES:,}"
            raise InvalidInput(f"an entry of {size} bytes for stream {stream!r}: at most {most}; keep it in a file and name that")
        if not 0 <= entry.at_ms <= _NUMBER_MAX:
            raise InvalidInput(f"an entry of time {entry.at_ms} for stream {stream!r}: give milliseconds since 1970")


def check_drop(stream: str, entries: Sequence[Entry]) -> None:
    """Raises `InvalidInput` for a drop that would leave no trace: the last position could be given again."""
    check(stream, 0, entries)
    if not entries:
        raise InvalidInput(f"streams are dropped together with an entry that says so: give one for stream {stream!r}")


def beyond_end(stream: str, seq: int, length: int) -> InvalidInput:
    """The error for an entry that would leave a hole."""
    return InvalidInput(f"stream {stream!r} has {length:,} entries: entry {seq:,} can't be appended before entry {length:,}")


def _check_name(kind: str, name: str) -> None:
    # Printable, so that it can be shown in a message and has a place in every order.
    if not 0 < len(name) <= NAME_MAX_CHARACTERS or not name.isprintable():
        raise InvalidInput(f"{kind} {name[:NAME_MAX_CHARACTERS]!r}: use 1 to {NAME_MAX_CHARACTERS} printable characters")


class Arrivals:
    """Tells followers that something was appended. `notify` and `end` may be called from any thread."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._waiting: set[asyncio.Future[None]] = set()
        self.count = 0
        self._is_over = False

    def notify(self) -> None:
        with self._turn:
            self.count += 1
            waiting, self._waiting = self._waiting, set()
        settle(waiting)

    def end(self) -> None:
        self._is_over = True
        self.notify()

    def are_over(self) -> bool:
        return self._is_over

    async def after(self, count: int, timeout_s: float | None) -> None:
        """Until there were more than `count`, or so much time has passed."""
        waiter = asyncio.get_running_loop().create_future()
        with self._turn:
            if self.count != count:
                return
            self._waiting.add(waiter)
        try:
            await asyncio.wait((waiter,), timeout=timeout_s)
        finally:
            with self._turn:
                self._waiting.discard(waiter)


async def followed(
    newer: Callable[[int], Awaitable[Page]], arrivals: Arrivals, since_pos: int, every_s: float | None
) -> AsyncIterator[Entry]:
    """All entries behind `since_pos`, and those to come. `every_s`: how often to look for what nobody tells of."""
    while not arrivals.are_over():
        count = arrivals.count
        try:
            page = await newer(since_pos)
        except BackendUnavailable:
            if arrivals.are_over():
                return
            raise
        for entry in page.entries:
            yield entry
        if page.upto == since_pos:
            await arrivals.after(count, every_s)
        since_pos = page.upto
