"""A request that is put again under its key, because its answer was lost on the way: it waits for that answer, and does nothing.

This is known as long as the process lives; `memory.requests_done` knows it beyond that.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from hive_mind.api.request import KEY_CHARACTERS_MAX
from hive_mind.errors import InvalidInput

_KEPT = 1024


class PutAgain:
    """Answers by key, the latest of them."""

    def __init__(self) -> None:
        self._requests: dict[str, tuple[object, asyncio.Task[Any]]] = {}

    async def once(self, key: str, request: object, work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """The result of the work for this request, made now or before. Failed work is done again the next time.

        Raises what it raises, and `InvalidInput` for the key of another request. Without a key nothing is known of it.
        """
        if not key:
            return await work()
        if len(key) > KEY_CHARACTERS_MAX:
            raise InvalidInput(f"the key of a request has {len(key)} characters, at most {KEY_CHARACTERS_MAX}")
        earlier, task = self._requests.get(key, (request, None))
        if earlier != request:
            raise InvalidInput("another request was put under this key: give each request a key of its own")
        if task is None or (task.done() and (task.cancelled() or task.exception())):
            # A task of its own: a caller that gives up waiting stops nothing.
            task = asyncio.create_task(work())
            self._requests[key] = request, task
            self._forget_oldest()
        return await asyncio.shield(task)

    def _forget_oldest(self) -> None:
        while len(self._requests) > _KEPT:
            # The oldest are done, but for a few.
            if (key := next((key for key, (_, task) in self._requests.items() if task.done()), None)) is None:
                return
            del self._requests[key]
