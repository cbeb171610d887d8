"""The storage of a queue: every message by its number, the ready ones in order, and the locks of those in somebody's hands."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from math import inf
from uuid import UUID, uuid4

from hive_mind.devbroker.servicebus.message import StoredMessage, message_lock_lost

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
    """A ready message is taken once."""

    def __init__(self) -> None:
        # Numbers only grow, so this is in their order.
        self._kept: dict[int, StoredMessage] = {}
        self._ready, self._expiries = DueQueue(), DueQueue()

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[StoredMessage]:
        return iter(self._kept.values())

    def add(self, kept: StoredMessage) -> None:
        """Put a message in; it is not ready yet."""
        self._kept[kept.sequence] = kept
        if kept.expires_at != inf:
            self._expiries.enter(kept.sequence, kept.expires_at)

    def remove(self, kept: StoredMessage) -> None:
        del self._kept[kept.sequence]
        self._expiries.strike_out(kept.sequence)
        self._ready.strike_out(kept.sequence)

    def make_ready(self, kept: StoredMessage) -> None:
        """It may be taken; those with lower numbers come first."""
        self._ready.enter(kept.sequence, kept.sequence)

    def pop_ready(self) -> StoredMessage | None:
        """The next one; it stays in, but is not ready any more."""
        sequence = self._ready.pop()
        return None if sequence is None else self._kept[sequence]

    def next_expiry(self) -> float | None:
        """When the next message expires, locked or not."""
        return self._expiries.first_due()

    def pop_expired(self, now: float) -> Iterator[StoredMessage]:
        """The messages that expired, each once; those in somebody's hands do not."""
        for sequence in self._expiries.pop_due(now):
            kept = self._kept[sequence]
            if kept.token is None:
                yield kept


class Locks:
    """Each locks one message by a token for `duration_s`, or until it is opened. `opened` is called with each released token.

    All last equally long, so the order in which they were given or renewed is the order in which they end.
    """

    def __init__(self, duration_s: float) -> None:
        self.opened: Callable[[UUID], None] = lambda _: None
        self._duration_s = duration_s
        self._kept: OrderedDict[UUID, StoredMessage] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def lock(self, kept: StoredMessage, now: float) -> UUID:
        """Give it to somebody; nobody has it."""
        token = uuid4()
        kept.token, kept.locked_until = token, now + self._duration_s
        self._kept[token] = kept
        return token

    def find(self, token: UUID) -> StoredMessage:
        """The message that the token locks. Raises `AmqpError` when it locks nothing (any more)."""
        try:
            return self._kept[token]
        except KeyError:
            raise message_lock_lost() from None

    def renew(self, token: UUID, now: float) -> float:
        """Begin again; until when it now lasts."""
        kept = self.find(token)
        kept.locked_until = now + self._duration_s
        self._kept.move_to_end(token)
        return kept.locked_until

    def open(self, kept: StoredMessage) -> None:
        token, kept.token = kept.token, None
        if token is not None:
            del self._kept[token]
            self.opened(token)

    def first_due(self) -> float | None:
        return next(iter(self._kept.values())).locked_until if self._kept else None

    def ended(self, now: float) -> Iterator[StoredMessage]:
        """Messages whose lock has ended. The caller opens the locks."""
        while (due := self.first_due()) is not None and due <= now:
            yield next(iter(self._kept.values()))
