"""Which receiver holds which session of a queue, and which receivers wait for one."""

from collections.abc import Callable

from hive_mind.devbroker.amqp.types import Symbol
from hive_mind.devbroker.entity import Host, Link, Timer
from hive_mind.devbroker.servicebus.errors import no_session, not_allowed, session_lock_lost
from hive_mind.devbroker.servicebus.locks import Lease
from hive_mind.devbroker.servicebus.queue import Queue

SESSION_FILTER = "com.microsoft:session-filter"

# .NET counts time in tenths of microseconds since the year 1.
_TICKS_PER_S, _TICKS_BEFORE_1970 = 10_000_000, 621_355_968_000_000_000

# A little below the minute after which clients give up by themselves; they say their own wish in milliseconds.
_PATIENCE_MS = 55_000


class SessionLinks:
    """`ready` is called with each link that holds a session now, before it is answered."""

    def __init__(self, host: Host, queue: Queue, ready: Callable[[Link], None]) -> None:
        self._host, self._queue, self._ready = host, queue, ready
        self._leases: dict[Link, Lease] = {}
        self._waiting: dict[Link, Timer] = {}

    def lease_of(self, link: Link) -> Lease | None:
        """What the link holds; None where there are no sessions."""
        return self._leases.get(link)

    def attach(self, link: Link) -> None:
        """Give the link the session it names, or else any that is free, as soon as there is one. Raises `AmqpError`."""
        if SESSION_FILTER not in link.filters:
            raise not_allowed("this entity requires sessions; accept one to receive from it")
        wish, now = link.filters[SESSION_FILTER], self._host.now()
        session = self._queue.free_session(now) if wish is None else str(wish)
        if session is not None:
            self._hold(link, self._queue.accept(session, now))
        else:
            link.answer_later()
            self._waiting[link] = self._host.call_later(_patience_s(link), lambda: self._give_up(link))

    def detach(self, link: Link) -> None:
        """The link is gone, and lets go of what it held or waited for."""
        if link in self._waiting:
            self._waiting.pop(link).cancel()
        if link in self._leases:
            self._queue.release(self._leases.pop(link), self._host.now())

    def serve_waiting(self) -> None:
        """Give free sessions to waiting receivers, first come, first served."""
        for link in tuple(self._waiting):
            now = self._host.now()
            session = self._queue.free_session(now)
            if session is None:
                return
            self._waiting.pop(link).cancel()
            self._hold(link, self._queue.accept(session, now))
            link.answer()

    def end_lost(self) -> None:
        """Detach links whose sessions were lost."""
        for link, lease in tuple(self._leases.items()):
            if not self._queue.sessions.holds(lease):
                link.detach(session_lock_lost(lease.session))

    def _hold(self, link: Link, lease: Lease) -> None:
        self._leases[link] = lease
        link.answer_filters = {SESSION_FILTER: lease.session}
        link.answer_properties[Symbol("com.microsoft:locked-until-utc")] = int(lease.until * _TICKS_PER_S) + _TICKS_BEFORE_1970
        self._ready(link)

    def _give_up(self, link: Link) -> None:
        if self._waiting.pop(link, None) is not None:
            link.answer(no_session())


def _patience_s(link: Link) -> float:
    wish_ms = link.properties.get("com.microsoft:timeout")
    return min(wish_ms if isinstance(wish_ms, int) and wish_ms > 0 else _PATIENCE_MS, 10 * _PATIENCE_MS) / 1000
