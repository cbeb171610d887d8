"""A rate limit: calls per minute; early ones wait."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable

_MINUTE_S = 60.0


class Pace:
    """`turn` returns at most `per_minute` times within any minute. Clock and waiting are handed in by tests."""

    def __init__(
        self,
        per_minute: int,
        clock_s: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._clock_s, self._sleep = clock_s, sleep
        self._turns: deque[float] = deque(maxlen=per_minute)
        self._lock = asyncio.Lock()

    async def free(self) -> None:
        """When a call could be made; none is taken."""
        while len(self._turns) == self._turns.maxlen and (wait_s := self._turns[0] + _MINUTE_S - self._clock_s()) > 0:
            await self._sleep(wait_s)

    async def turn(self) -> None:
        """When the next call may be made."""
        async with self._lock:
            await self.free()
            self._turns.append(self._clock_s())
