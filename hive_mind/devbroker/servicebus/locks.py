"""Locks: tokens that lock single messages, and leases that lock a session for one receiver, with the session's state.

All locks of a queue last equally long, so the order in which they were given or renewed is the order in which they end.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from uuid import UUID, uuid4

from hive_mind.devbroker.servicebus.errors import (
    message_lock_lost,
    quota_reached,
    session_lock_lost,
    session_taken,
    wrong_argument,
)
from hive_mind.devbroker.servicebus.message import Kept

STATES_MAX = 10_000
STATE_BYTES_MAX = 256 << 10


class Locks:
    """Locks that last `duration_s`, or until opened where it is infinite. `opened` is called with each released token."""

    def __init__(self, duration_s: float) -> None:
        self.opened: Callable[[UUID], None] = lambda _: None
        self._duration_s = duration_s
        self._kept: OrderedDict[UUID, Kept] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[Kept]:
        return iter(tuple(self._kept.values()))

    def lock(self, kept: Kept, now: float) -> UUID:
        """Give it to somebody; nobody has it."""
        token = uuid4()
        kept.token, kept.locked_until = token, now + self._duration_s
        self._kept[token] = kept
        return token

    def find(self, token: UUID) -> Kept:
        """What the token locks. Raises `AmqpError` when it locks nothing (any more)."""
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

    def open(self, kept: Kept) -> None:
        token, kept.token = kept.token, None
        if token is not None:
            del self._kept[token]
            self.opened(token)

    def first_due(self) -> float | None:
        return next(iter(self._kept.values())).locked_until if self._kept else None

    def ended(self, now: float) -> Iterator[Kept]:
        """Messages whose lock has ended. The caller opens the locks."""
        while (due := self.first_due()) is not None and due <= now:
            yield next(iter(self._kept.values()))


@dataclass(slots=True, eq=False)
class Lease:
    """Somebody holds a session until then. Another lease of the same session is another object."""

    session: str
    until: float


class Sessions:
    """Leases in the order in which they end, since all last `lock_s`."""

    def __init__(self, lock_s: float) -> None:
        self._lock_s = lock_s
        self._leases: OrderedDict[str, Lease] = OrderedDict()
        self._states: dict[str, tuple[bytes, float]] = {}

    def accept(self, session: str, now: float) -> Lease:
        """Give it to somebody. Raises `AmqpError` when somebody else holds it."""
        if session in self._leases:
            raise session_taken(session)
        lease = self._leases[session] = Lease(session, now + self._lock_s)
        return lease

    def lease_of(self, session: str) -> Lease:
        """Raises `AmqpError` when nobody holds the session."""
        try:
            return self._leases[session]
        except KeyError:
            raise session_lock_lost(session) from None

    def is_held(self, session: str) -> bool:
        return session in self._leases

    def renew(self, session: str, now: float) -> float:
        """Begin again; until when it is now held."""
        lease = self.lease_of(session)
        lease.until = now + self._lock_s
        self._leases.move_to_end(session)
        return lease.until

    def holds(self, lease: Lease) -> bool:
        """Whether this lease is the one by which its session is held."""
        return self._leases.get(lease.session) is lease

    def release(self, session: str) -> None:
        """Nobody holds it now."""
        del self._leases[session]

    def first_due(self) -> float | None:
        """When the first lease ends."""
        return next(iter(self._leases.values())).until if self._leases else None

    def ended(self, now: float) -> Iterator[str]:
        """Sessions whose lease has ended. The caller releases them."""
        while (due := self.first_due()) is not None and due <= now:
            yield next(iter(self._leases))

    def state(self, session: str) -> bytes | None:
        return self._states[session][0] if session in self._states else None

    def set_state(self, session: str, state: bytes | None, now: float) -> None:
        """Store, or forget with None. Raises `AmqpError` for what is too much."""
        if state is None:
            self._states.pop(session, None)
            return
        if len(state) > STATE_BYTES_MAX:
            raise wrong_argument(f"the state of a session has at most {STATE_BYTES_MAX} bytes; this one has {len(state)}")
        if session not in self._states and len(self._states) >= STATES_MAX:
            raise quota_reached(f"{STATES_MAX} sessions have a state, which is the most")
        self._states[session] = state, now

    def stored_since(self, time: float) -> Iterator[str]:
        """Sessions whose state was stored after that."""
        return (session for session, (_, stored_at) in tuple(self._states.items()) if stored_at > time)
