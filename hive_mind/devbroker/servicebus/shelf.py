"""What lies in a queue: every message by its number, and which of them are ready, in order."""

from collections.abc import Iterator
from math import inf

from hive_mind.devbroker.servicebus.agenda import Agenda
from hive_mind.devbroker.servicebus.kept import Kept, State


class Shelf:
    """With `by_session` messages wait in one line per session, else in one line. Who takes a ready one has it alone."""

    def __init__(self, *, by_session: bool) -> None:
        self._by_session = by_session
        # Numbers only grow, so this is in their order.
        self._kept: dict[int, Kept] = {}
        self._ready: dict[str | None, Agenda] = {}
        self._expiries = Agenda()

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
        """By its number."""
        return self._kept.get(sequence)

    def make_ready(self, kept: Kept) -> None:
        """It may be taken; those with lower numbers come first."""
        self._ready.setdefault(self._line_of(kept), Agenda()).enter(kept.sequence, kept.sequence)

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
        """When the next message expires, whoever has it."""
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
