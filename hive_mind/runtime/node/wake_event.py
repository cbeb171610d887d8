"""A bell that wakes the one task that waits, and an alarm that rings it in time.

What `asyncio.Event` does for many costs a runner a tenth of its turn.
"""

import asyncio
from collections.abc import Callable


class Bell:
    """Rung any number of times, it wakes once; it stays rung until `clear`."""

    def __init__(self) -> None:
        self.is_rung = False
        self._waiting: asyncio.Future[None] | None = None

    def ring(self) -> None:
        """Wake current waiters, or the next one."""
        self.is_rung = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def clear(self) -> None:
        """Later waiters wait for the next ring."""
        self.is_rung = False

    async def wait(self) -> None:
        """Return when it is rung. One task at a time."""
        if not self.is_rung:
            self._waiting = asyncio.get_running_loop().create_future()
            await self._waiting


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
