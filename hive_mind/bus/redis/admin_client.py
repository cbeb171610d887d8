"""A connection for what is asked now and then: queues, dead letters, trimming. One question at a time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from hive_mind.bus.redis.wire import ServerAddress, Wire

T = TypeVar("T")


class AdminClient:
    """Connects when somebody first asks, and again after trouble."""

    def __init__(self, place: ServerAddress) -> None:
        self._wire = Wire(place)
        self._turn = asyncio.Lock()

    async def ask(self, question: Callable[[Wire], Awaitable[T]]) -> T:
        """Raises what the question raises, and `BackendError` when nobody can be asked."""
        async with self._turn:
            if not self._wire.is_connected:
                await self._wire.connect()
            return await question(self._wire)

    async def close(self) -> None:
        async with self._turn:
            await self._wire.close()
