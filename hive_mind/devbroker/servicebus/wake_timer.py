"""Wakes an entity: soon, when something changed, and later, when something becomes due. Never twice for the same reason."""

from collections.abc import Callable
from math import inf

from hive_mind.devbroker.entity import Host, Timer

# A clock and a timer never agree to the microsecond; coming a little late saves coming twice.
_LATE_S = 0.001


class WakeTimer:
    """`look` does what is to be done and returns when it wants to be called again, if at all."""

    def __init__(self, host: Host, look: Callable[[], float | None]) -> None:
        self._host, self._look = host, look
        self._is_called = False
        self._timer: Timer | None = None
        self._timer_at = inf

    def ring(self) -> None:
        """Look after what is under way, once."""
        if not self._is_called:
            self._is_called = True
            self._host.call_soon(self._wake)

    def expect(self, due: float | None) -> None:
        """Look at that time, or earlier if an earlier time was asked for."""
        if due is None or due == inf or due >= self._timer_at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = due
        self._timer = self._host.call_later(max(0.0, due - self._host.now()) + _LATE_S, self._come)

    def _come(self) -> None:
        self._timer, self._timer_at = None, inf
        self._wake()

    def _wake(self) -> None:
        self._is_called = False
        self.expect(self._look())
