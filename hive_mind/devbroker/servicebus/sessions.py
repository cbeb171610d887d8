"""Sessions of a queue: messages that go to one receiver at a time, and a state that goes with them."""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from hive_mind.devbroker.servicebus.errors import quota_reached, session_lock_lost, session_taken, wrong_argument

STATES_MAX = 10_000
STATE_BYTES_MAX = 256 << 10


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
        """Whether somebody has it."""
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
        """Sessions whose leases have ended; whoever asks releases them."""
        while (due := self.first_due()) is not None and due <= now:
            yield next(iter(self._leases))

    def state(self, session: str) -> bytes | None:
        """What was last stored."""
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
