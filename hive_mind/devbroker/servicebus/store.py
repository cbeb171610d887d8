"""What a queue stores: every message by its number, the ready ones in order, and those that are scheduled for later."""

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from math import inf

from hive_mind.devbroker.servicebus.errors import no_such_message
from hive_mind.devbroker.servicebus.message import Kept, State

# Below this many entries tidying up costs more than it frees.
_UNTIDY_MIN = 64


class DueQueue:
    """Each number stands here once. Due may be a time, or a number for what is wanted in order."""

    def __init__(self) -> None:
        self._due: dict[int, float] = {}
        self._heap: list[tuple[float, int]] = []

    def __len__(self) -> int:
        return len(self._due)

    def enter(self, number: int, due: float) -> None:
        """Write a number down; one that stands here already moves."""
        self._due[number] = due
        heappush(self._heap, (due, number))
        if len(self._heap) > 2 * len(self._due) + _UNTIDY_MIN:
            self._heap = [(due, number) for number, due in self._due.items()]
            heapify(self._heap)

    def strike_out(self, number: int) -> None:
        """Forget a number, if it stands here."""
        self._due.pop(number, None)

    def first_due(self) -> float | None:
        """When the first is due; None if empty."""
        while self._heap:
            due, number = self._heap[0]
            if self._due.get(number) == due:
                return due
            heappop(self._heap)
        return None

    def pop(self) -> int | None:
        """The first, and strike it out."""
        return None if self.first_due() is None else self._pop()

    def pop_due(self, now: float) -> Iterator[int]:
        """Those that are due, each struck out as it comes."""
        while (due := self.first_due()) is not None and due <= now:
            yield self._pop()

    def _pop(self) -> int:
        _, number = heappop(self._heap)
        del self._due[number]
        return number


class MessageStore:
    """With `by_session` messages wait in one line per session, else in one line. A ready message is taken once."""

    def __init__(self, *, by_session: bool) -> None:
        self._by_session = by_session
        # Numbers only grow, so this is in their order.
        self._kept: dict[int, Kept] = {}
        self._ready: dict[str | None, DueQueue] = {}
        self._expiries = DueQueue()

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[Kept]:
        return iter(self._kept.values())

    def add(self, kept: Kept) -> None:
        """Put a message in; it is not ready yet."""
        self._kept[kept.sequence] = kept
        if kept.expires_at != inf:
            self._expiries.enter(kept.sequence, kept.expires_at)

    def remove(self, kept: Kept) -> None:
        """Take a message out for good."""
        del self._kept[kept.sequence]
        self._expiries.strike_out(kept.sequence)
        line = self._line_of(kept)
        if line in self._ready:
            self._ready[line].strike_out(kept.sequence)
            self._drop_if_empty(line)

    def find(self, sequence: int) -> Kept | None:
        return self._kept.get(sequence)

    def make_ready(self, kept: Kept) -> None:
        """It may be taken; those with lower numbers come first."""
        self._ready.setdefault(self._line_of(kept), DueQueue()).enter(kept.sequence, kept.sequence)

    def pop_ready(self, session: str | None = None) -> Kept | None:
        """The next of a line; it stays in, but is not ready any more."""
        line = self._ready.get(session)
        if line is None:
            return None
        sequence = line.pop()
        self._drop_if_empty(session)
        return self._kept[sequence] if sequence is not None else None

    def ready_sessions(self) -> Iterator[str]:
        """Sessions with ready messages, those that have waited longest first."""
        return (session for session in tuple(self._ready) if session is not None)

    def next_expiry(self) -> float | None:
        """When the next message expires, locked or not."""
        return self._expiries.first_due()

    def pop_expired(self, now: float) -> Iterator[Kept]:
        """What expired, each once; deferred ones and those in somebody's hands do not."""
        for sequence in self._expiries.pop_due(now):
            kept = self._kept[sequence]
            if kept.token is None and kept.state is State.ACTIVE:
                yield kept

    def _line_of(self, kept: Kept) -> str | None:
        return kept.letter.session if self._by_session else None

    def _drop_if_empty(self, line: str | None) -> None:
        if not self._ready[line]:
            del self._ready[line]


class Schedule:
    """Kept in the order of the times they are scheduled at."""

    def __init__(self) -> None:
        self._kept: dict[int, Kept] = {}
        self._due_queue = DueQueue()

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[Kept]:
        return iter(tuple(self._kept.values()))

    def add(self, kept: Kept) -> None:
        self._kept[kept.sequence] = kept
        self._due_queue.enter(kept.sequence, kept.letter.scheduled_at)

    def check(self, sequence: int) -> None:
        """Raises `AmqpError` when nothing is scheduled under this number (any more)."""
        if sequence not in self._kept:
            raise no_such_message(sequence)

    def cancel(self, sequence: int) -> Kept:
        """Take out what was checked."""
        self._due_queue.strike_out(sequence)
        return self._kept.pop(sequence)

    def first_due(self) -> float | None:
        """When the first is to be sent."""
        return self._due_queue.first_due()

    def pop_due(self, now: float) -> Iterator[Kept]:
        """What is to be sent now."""
        for sequence in self._due_queue.pop_due(now):
            yield self._kept.pop(sequence)
