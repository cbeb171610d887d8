"""Rings when a node wants to be woken."""

import asyncio
from collections.abc import Callable


class Alarm:
    """One bell, set by a monotonic clock that may be another one than the event loop's."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._timer: asyncio.TimerHandle | None = None
        self._at_ms = 0

    def set(self, at_ms: int, now_ms: int) -> None:
        """Ring then, unless that is to happen sooner anyway. It may ring too early, and wants to be set again each time."""
        if self._timer is not None:
            if self._at_ms <= at_ms:
                return
            self._timer.cancel()
        self._at_ms = at_ms
        # At least a millisecond, or a node that always wants a tick would leave nobody else a turn.
        self._timer = asyncio.get_running_loop().call_later(max(at_ms - now_ms, 1) / 1000, self._on_time)

    def cancel(self) -> None:
        """Do not ring."""
        if self._timer is not None:
            self._timer.cancel()

    def _on_time(self) -> None:
        self._timer = None
        self._ring()
