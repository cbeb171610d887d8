"""The behaviour of a queue, a subscription or a dead-letter queue, over a clock that is handed in.

A message is in exactly one state: ready, or locked by one receiver. It leaves by being completed, by expiring, or as a dead
letter. Every call first does the work that has become due by then, so that no timer has to be punctual: timers only wake
receivers. A call that can't be done raises `AmqpError` and changes nothing.

A queue admits as much as its quota allows, and no message id twice within the window of duplicate detection.

The storage of a queue: every message by its number, the ready ones in order, and the locks of those in somebody's hands.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from math import inf
from sys import maxsize
from uuid import UUID, uuid4

from hive_mind.devbroker.amqp import AmqpError
from hive_mind.devbroker.servicebus import (
    BrokeredMessage,
    QueueSettings,
    StoredMessage,
    buried,
    not_allowed,
    quota_reached,
)

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
        self._due.pop(number, None)

    def first_due(self) -> float | None:
        while self._heap:
            due, number = self._heap[0]
            if self._due.get(number) == due:
                return due
            heappop(self._heap)
        return None

    def pop(self) -> int | None:
        return None if self.first_due() is None else self._pop()

    def pop_due(self, now: float) -> Iterator[int]:
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

    def add(self, message: StoredMessage) -> None:
        """Put a message in; it is not ready yet."""
        self._kept[message.sequence] = message
        if message.expires_at != inf:
            self._expiries.enter(message.sequence, message.expires_at)

    def remove(self, message: StoredMessage) -> None:
        del self._kept[message.sequence]
        self._expiries.strike_out(message.sequence)
        self._ready.strike_out(message.sequence)

    def make_ready(self, message: StoredMessage) -> None:
        """It may be taken; those with lower numbers come first."""
        self._ready.enter(message.sequence, message.sequence)

    def pop_ready(self) -> StoredMessage | None:
        """The next one; it stays in, but is not ready any more."""
        sequence = self._ready.pop()
        return None if sequence is None else self._kept[sequence]

    def next_expiry(self) -> float | None:
        return self._expiries.first_due()

    def pop_expired(self, now: float) -> Iterator[StoredMessage]:
        """The messages that expired, each once; those in somebody's hands do not."""
        for sequence in self._expiries.pop_due(now):
            message = self._kept[sequence]
            if message.token is None:
                yield message


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

    def lock(self, message: StoredMessage, now: float) -> UUID:
        token = uuid4()
        message.token, message.locked_until = token, now + self._duration_s
        self._kept[token] = message
        return token

    def find(self, token: UUID) -> StoredMessage:
        """The message that the token locks. Raises `AmqpError` when it locks nothing (any more)."""
        try:
            return self._kept[token]
        except KeyError:
            lost = "the lock expired, or the message was settled already; receive it again"
            raise AmqpError("com.microsoft:message-lock-lost", lost) from None

    def renew(self, token: UUID, now: float) -> float:
        """Begin again; until when it now lasts."""
        message = self.find(token)
        message.locked_until = now + self._duration_s
        self._kept.move_to_end(token)
        return message.locked_until

    def open(self, message: StoredMessage) -> None:
        token, message.token = message.token, None
        if token is not None:
            del self._kept[token]
            self.opened(token)

    def first_due(self) -> float | None:
        return next(iter(self._kept.values())).locked_until if self._kept else None

    def ended(self, now: float) -> Iterator[StoredMessage]:
        while (due := self.first_due()) is not None and due <= now:
            yield next(iter(self._kept.values()))


# The oldest are forgotten early beyond this: a window in time alone has no bound.
IDS_MAX = 200_000


@dataclass(slots=True)
class Quota:
    """Counted in messages and in bytes."""

    messages_max: int
    bytes_max: int
    messages: int = 0
    bytes: int = 0

    def check(self, messages: int, size: int) -> None:
        """Raises `AmqpError` when this number of messages, of this total size, does not fit."""
        if self.messages + messages > self.messages_max:
            raise quota_reached(f"{self.messages} messages are kept, of at most {self.messages_max}")
        if self.bytes + size > self.bytes_max:
            raise quota_reached(f"{self.bytes} bytes are kept, of at most {self.bytes_max}")

    def take(self, size: int) -> None:
        """Count one message more. Call `check` first."""
        self.messages += 1
        self.bytes += size

    def give_back(self, size: int) -> None:
        self.messages -= 1
        self.bytes -= size


class Duplicates:
    """Remembers ids for `window_s`; with 0 nothing is ever a duplicate."""

    def __init__(self, window_s: float, ids_max: int = IDS_MAX) -> None:
        self._window_s, self._ids_max = window_s, ids_max
        self._seen_at: OrderedDict[Hashable, float] = OrderedDict()

    def without(self, letters: Sequence[BrokeredMessage], now: float) -> list[BrokeredMessage]:
        if not self._window_s:
            return list(letters)
        while self._seen_at and next(iter(self._seen_at.values())) <= now - self._window_s:
            self._seen_at.popitem(last=False)
        first_of = {letter.id: letter for letter in reversed(letters)}
        return [each for each in letters if each.id is None or (each.id not in self._seen_at and first_of[each.id] is each)]

    def note(self, letters: Sequence[BrokeredMessage], now: float) -> None:
        if self._window_s:
            self._seen_at.update((letter.id, now) for letter in letters if letter.id is not None)
            while len(self._seen_at) > self._ids_max:
                self._seen_at.popitem(last=False)


class Queue:
    """`changed` is called when a message may have become free. Dead letters lie in a queue of the same kind."""

    def __init__(self, path: str, settings: QueueSettings, quota: Quota | None = None) -> None:
        self.path, self.settings = path, settings
        self.changed: Callable[[], None] = lambda: None
        self.quota = quota or Quota(settings.messages_max, settings.bytes_max)
        # Dead letters neither expire nor die.
        of_dead_letters = replace(settings, deliveries_max=maxsize, ttl_s=inf, duplicate_window_s=0.0)
        self.dead_letters = None if quota else Queue(f"{path}/$DeadLetterQueue", of_dead_letters, self.quota)
        self.locks = Locks(settings.lock_s)
        self._store = MessageStore()
        self._duplicates = Duplicates(settings.duplicate_window_s)
        self._sequence = 0

    def check(self, letters: Sequence[BrokeredMessage]) -> None:
        """Raises `AmqpError` when these can't all be put in."""
        self.quota.check(len(letters), sum(letter.size for letter in letters))

    def send(self, letters: Sequence[BrokeredMessage], now: float) -> list[int]:
        """Put in all or none; the numbers of those that are no duplicates."""
        self.advance(now)
        fresh = self._duplicates.without(letters, now)
        self.check(fresh)
        self._duplicates.note(fresh, now)
        return [self.put(letter, now) for letter in fresh]

    def put(self, letter: BrokeredMessage, now: float, origin: int | None = None) -> int:
        """Put in one that was checked; its number."""
        message = self._numbered(letter, now, origin)
        message.expires_at = now + min(letter.ttl_s, self.settings.ttl_s)
        self._add(message)
        return message.sequence

    def take(self, now: float, *, for_good: bool = False) -> StoredMessage | None:
        """The next message, gone for good or locked by the token it now has."""
        self.advance(now)
        message = self._store.pop_ready()
        if message is not None and for_good:
            self._remove(message)
        elif message is not None:
            self.locks.lock(message, now)
        return message

    def complete(self, token: UUID, now: float) -> None:
        self._remove(self._unlocked(token, now))

    def abandon(self, token: UUID, now: float, *, is_failed: bool = True) -> None:
        """It goes to the next receiver; a failed attempt is counted, and the last one allowed makes it a dead letter."""
        self._put_back(self._unlocked(token, now), now, is_failed=is_failed)

    def bury(self, token: UUID, now: float, reason: str, description: str) -> None:
        if self.dead_letters is None:
            raise not_allowed("a dead letter can't die again; complete it")
        self._bury(self._unlocked(token, now), now, reason, description)

    def renew(self, tokens: Sequence[UUID], now: float) -> list[float]:
        """Lock these for longer, all or none; until when."""
        self.advance(now)
        for token in tokens:
            self.locks.find(token)
        return [self.locks.renew(token, now) for token in tokens]

    def peek(self, start: int, now: float) -> Iterator[StoredMessage]:
        self.advance(now)
        return (message for message in self._store if message.sequence >= start)

    def advance(self, now: float) -> None:
        for message in self.locks.ended(now):
            self.locks.open(message)
            self._put_back(message, now, is_failed=True)
        for message in self._store.pop_expired(now):
            self._expire(message, now)

    def next_due(self) -> float | None:
        return min((due for due in (self.locks.first_due(), self._store.next_expiry()) if due is not None), default=None)

    def counts(self) -> dict[str, int]:
        return {"ready": len(self._store) - len(self.locks), "locked": len(self.locks)}

    def _numbered(self, letter: BrokeredMessage, now: float, origin: int | None = None) -> StoredMessage:
        self._sequence += 1
        return StoredMessage(letter, self._sequence, origin or self._sequence, now)

    def _add(self, message: StoredMessage) -> None:
        self.quota.take(message.letter.size)
        self._store.add(message)
        self._make_ready(message)

    def _make_ready(self, message: StoredMessage) -> None:
        self._store.make_ready(message)
        self.changed()

    def _unlocked(self, token: UUID, now: float) -> StoredMessage:
        self.advance(now)
        message = self.locks.find(token)
        self.locks.open(message)
        return message

    def _put_back(self, message: StoredMessage, now: float, *, is_failed: bool) -> None:
        message.attempts += is_failed
        if message.attempts >= self.settings.deliveries_max:
            self._bury(message, now, "MaxDeliveryCountExceeded", f"not dealt with in {message.attempts} deliveries")
        elif message.expires_at <= now:
            self._expire(message, now)
        else:
            self._make_ready(message)

    def _expire(self, message: StoredMessage, now: float) -> None:
        if self.settings.buries_expired and self.dead_letters is not None:
            self._bury(message, now, "TTLExpiredException", "its time to live ended before it was dealt with")
        else:
            self._remove(message)

    def _bury(self, message: StoredMessage, now: float, reason: str, description: str) -> None:
        self._remove(message)
        if self.dead_letters is not None:
            self.dead_letters.lay(message, now, buried(message.letter, reason, description), self.path)

    def lay(self, message: StoredMessage, now: float, letter: BrokeredMessage, died_in: str) -> None:
        """Keep a dead letter, with the number it died under and the attempts it had."""
        dead = self._numbered(letter, now, message.origin)
        dead.attempts, dead.died_in = message.attempts, died_in
        self._add(dead)

    def _remove(self, message: StoredMessage) -> None:
        self._store.remove(message)
        self.quota.give_back(message.letter.size)
