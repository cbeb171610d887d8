"""What a queue, a subscription or a dead-letter queue does with messages, over a clock that is handed in.

A message is in exactly one state: scheduled, ready, locked by one receiver, or deferred. It leaves by being completed, by
expiring, or as a dead letter. Every call first does what has become due by then, so that no timer has to be punctual: timers only
wake receivers. What can't be done raises `AmqpError` and changes nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import inf
from sys import maxsize
from uuid import UUID

from hive_mind.devbroker.servicebus.admission import Duplicates, Quota
from hive_mind.devbroker.servicebus.errors import no_such_message, not_allowed, session_lock_lost
from hive_mind.devbroker.servicebus.locks import Lease, Locks, Sessions
from hive_mind.devbroker.servicebus.message import Kept, Letter, State, buried
from hive_mind.devbroker.servicebus.settings import QueueSettings
from hive_mind.devbroker.servicebus.store import MessageStore, Schedule


class Queue:
    """`changed` is called when a message or a session may have become free. Dead letters lie in a queue of the same kind."""

    def __init__(self, path: str, settings: QueueSettings, quota: Quota | None = None) -> None:
        self.path, self.settings = path, settings
        self.changed: Callable[[], None] = lambda: None
        self.quota = quota or Quota(settings.messages_max, settings.bytes_max)
        self.dead_letters = None if quota else Queue(f"{path}/$DeadLetterQueue", _of_dead_letters(settings), self.quota)
        # A message of a session is locked for as long as the session is.
        self.locks = Locks(inf if settings.requires_session else settings.lock_s)
        self.sessions = Sessions(settings.lock_s)
        self._store = MessageStore(by_session=settings.requires_session)
        self._schedule = Schedule()
        self._duplicates = Duplicates(settings.duplicate_window_s)
        self._sequence = 0

    def check(self, letters: Sequence[Letter]) -> None:
        """Raises `AmqpError` when these can't all be put in."""
        if self.settings.requires_session and any(letter.session is None for letter in letters):
            raise not_allowed("a message to an entity that requires sessions needs a session id")
        self.quota.check(len(letters), sum(letter.size for letter in letters))

    def send(self, letters: Sequence[Letter], now: float) -> list[int]:
        """Put in all or none; the numbers of those that are no duplicates."""
        self.advance(now)
        fresh = self._duplicates.without(letters, now)
        self.check(fresh)
        self._duplicates.note(fresh, now)
        return [self.put(letter, now) for letter in fresh]

    def put(self, letter: Letter, now: float, origin: int | None = None) -> int:
        """Put in one that was checked; its number."""
        self.quota.take(letter.size)
        kept = self._numbered(letter, now, origin)
        if letter.scheduled_at > now:
            kept.state = State.SCHEDULED
            self._schedule.add(kept)
            self.changed()  # the timer may have to be set earlier
        else:
            self._admit(kept)
        return kept.sequence

    def cancel(self, sequences: Sequence[int], now: float) -> None:
        """Take back scheduled messages, all or none."""
        self.advance(now)
        for sequence in sequences:
            self._schedule.check(sequence)
        for sequence in dict.fromkeys(sequences):
            self.quota.give_back(self._schedule.cancel(sequence).letter.size)

    def take(self, now: float, lease: Lease | None = None, *, for_good: bool = False) -> Kept | None:
        """The next message (of the session that is held), gone for good or locked by the token it now has."""
        self.advance(now)
        if lease is not None and not self.sessions.holds(lease):
            raise session_lock_lost(lease.session)
        kept = self._store.pop_ready(lease.session if lease else None)
        if kept is not None:
            self._hand_out(kept, now, for_good=for_good)
        return kept

    def take_deferred(self, sequences: Sequence[int], now: float, *, for_good: bool = False) -> list[Kept]:
        """These deferred messages, as `take` does; all or none."""
        self.advance(now)
        found = [self._deferred(sequence) for sequence in dict.fromkeys(sequences)]
        for kept in found:
            self._hand_out(kept, now, for_good=for_good)
        return found

    def complete(self, token: UUID, now: float) -> None:
        self._remove(self._unlocked(token, now))

    def abandon(self, token: UUID, now: float, *, is_failed: bool = True) -> None:
        """It goes to the next receiver; a failed attempt is counted, and the last one allowed makes it a dead letter."""
        self._put_back(self._unlocked(token, now), now, is_failed=is_failed)

    def defer(self, token: UUID, now: float) -> None:
        """It stays until somebody asks for it by its number. That too is an attempt."""
        kept = self._unlocked(token, now)
        kept.state = State.DEFERRED
        self._put_back(kept, now, is_failed=True)

    def bury(self, token: UUID, now: float, reason: str, description: str) -> None:
        """Make it a dead letter."""
        if self.dead_letters is None:
            raise not_allowed("a dead letter can't die again; complete it")
        self._bury(self._unlocked(token, now), now, reason, description)

    def renew(self, tokens: Sequence[UUID], now: float) -> list[float]:
        """Lock these for longer, all or none; until when."""
        self.advance(now)
        if self.settings.requires_session:
            raise not_allowed("renew the lock of the session; its messages have none of their own")
        for token in tokens:
            self.locks.find(token)
        return [self.locks.renew(token, now) for token in tokens]

    def free_session(self, now: float) -> str | None:
        """A session with ready messages that nobody holds."""
        self.advance(now)
        return next((session for session in self._store.ready_sessions() if not self.sessions.is_held(session)), None)

    def accept(self, session: str, now: float) -> Lease:
        """Hold a session, whether there are messages or not."""
        self.advance(now)
        return self.sessions.accept(session, now)

    def release(self, lease: Lease, now: float) -> None:
        """Let go of a session; what was taken of it and not settled is ready again, uncounted. Does nothing for a lost lease."""
        self.advance(now)
        if self.sessions.holds(lease):
            self._release(lease.session, now, is_failed=False)

    def locked_until(self, kept: Kept) -> float:
        """When the lock of a message that was taken ends."""
        session = kept.letter.session
        return self.sessions.lease_of(session).until if self.settings.requires_session and session else kept.locked_until

    def active_sessions(self) -> Iterator[str]:
        """Sessions with messages or with a state."""
        with_messages = (kept.letter.session for kept in self._store if kept.letter.session is not None)
        return iter(dict.fromkeys((*with_messages, *self.sessions.stored_since(-inf))))

    def peek(self, start: int, session: str | None, now: float) -> Iterator[Kept]:
        """Every message from a number on, whatever its state, without taking it."""
        self.advance(now)
        kept = sorted((*self._store, *self._schedule), key=lambda kept: kept.sequence)
        return (each for each in kept if each.sequence >= start and session in (None, each.letter.session))

    def advance(self, now: float) -> None:
        """Do what has become due."""
        for session in self.sessions.ended(now):
            self._release(session, now, is_failed=True)
        for kept in self.locks.ended(now):
            self.locks.open(kept)
            self._put_back(kept, now, is_failed=True)
        for kept in self._schedule.pop_due(now):
            # As if it were sent now: it gets a number behind all others.
            self._admit(self._numbered(kept.letter, now))
        for kept in self._store.pop_expired(now):
            self._expire(kept, now)

    def next_due(self) -> float | None:
        """When there is something to do at the earliest."""
        parts = (self.sessions, self.locks, self._schedule)
        dues = [*(part.first_due() for part in parts), self._store.next_expiry()]
        return min((due for due in dues if due is not None), default=None)

    def counts(self) -> dict[str, int]:
        """How many messages are in which state."""
        deferred = sum(kept.state is State.DEFERRED and kept.token is None for kept in self._store)
        locked, ready = len(self.locks), len(self._store) - len(self.locks) - deferred
        return {"ready": ready, "locked": locked, "deferred": deferred, "scheduled": len(self._schedule)}

    def _numbered(self, letter: Letter, now: float, origin: int | None = None) -> Kept:
        self._sequence += 1
        return Kept(letter, self._sequence, origin or self._sequence, now)

    def _admit(self, kept: Kept) -> None:
        kept.expires_at = kept.enqueued_at + min(kept.letter.ttl_s, self.settings.ttl_s)
        self._store.add(kept)
        self._make_ready(kept)

    def _make_ready(self, kept: Kept) -> None:
        self._store.make_ready(kept)
        self.changed()

    def _deferred(self, sequence: int) -> Kept:
        kept = self._store.find(sequence)
        if kept is None or kept.state is not State.DEFERRED or kept.token is not None:
            raise no_such_message(sequence)
        if self.settings.requires_session and kept.letter.session:
            self.sessions.lease_of(kept.letter.session)
        return kept

    def _hand_out(self, kept: Kept, now: float, *, for_good: bool) -> None:
        if for_good:
            self._remove(kept)
        else:
            self.locks.lock(kept, now)

    def _unlocked(self, token: UUID, now: float) -> Kept:
        self.advance(now)
        kept = self.locks.find(token)
        self.locks.open(kept)
        return kept

    def _put_back(self, kept: Kept, now: float, *, is_failed: bool) -> None:
        kept.attempts += is_failed
        if kept.attempts >= self.settings.deliveries_max:
            self._bury(kept, now, "MaxDeliveryCountExceeded", f"not dealt with in {kept.attempts} deliveries")
        elif kept.state is State.ACTIVE:
            if kept.expires_at <= now:
                self._expire(kept, now)
            else:
                self._make_ready(kept)

    def _expire(self, kept: Kept, now: float) -> None:
        if self.settings.buries_expired and self.dead_letters is not None:
            self._bury(kept, now, "TTLExpiredException", "its time to live ended before it was dealt with")
        else:
            self._remove(kept)

    def _bury(self, kept: Kept, now: float, reason: str, description: str) -> None:
        self._remove(kept)
        if self.dead_letters is not None:
            self.dead_letters.lay(kept, now, buried(kept.letter, reason, description), self.path)

    def lay(self, kept: Kept, now: float, letter: Letter, died_in: str) -> None:
        """Keep a dead letter, with the number it died under and the attempts it had."""
        self.quota.take(letter.size)
        dead = self._numbered(letter, now, kept.origin)
        dead.attempts, dead.died_in = kept.attempts, died_in
        self._store.add(dead)
        self._make_ready(dead)

    def _release(self, session: str, now: float, *, is_failed: bool) -> None:
        self.sessions.release(session)
        for kept in self.locks:
            if kept.letter.session == session:
                self.locks.open(kept)
                self._put_back(kept, now, is_failed=is_failed)
        self.changed()

    def _remove(self, kept: Kept) -> None:
        self._store.remove(kept)
        self.quota.give_back(kept.letter.size)


def _of_dead_letters(settings: QueueSettings) -> QueueSettings:
    """Dead letters neither expire nor die."""
    return replace(
        settings, deliveries_max=maxsize, ttl_s=inf, buries_expired=False, requires_session=False, duplicate_window_s=0.0
    )
