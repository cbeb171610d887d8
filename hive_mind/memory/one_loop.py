"""The event loop that a memory is used in: one at a time, also where threads come for it at the same moment.

A waiter in one loop can't be woken by another: a call from another loop is refused with an error instead of waiting for ever.
A memory that sleeps, and is not in use, belongs to the next caller.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from hive_mind.errors import InvalidInput


class OneLoop:
    """Admits calls from one loop. `is_asleep` tells whether there is nothing that another loop could not use."""

    def __init__(self, is_asleep: Callable[[], bool]) -> None:
        self._is_asleep = is_asleep
        self._turn, self._calls, self._users = Lock(), 0, 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._renew()

    def _renew(self) -> None:
        """A waiter on one of these has bound it to a loop."""
        self.waking, self.is_idle = asyncio.Lock(), asyncio.Event()
        self.is_idle.set()

    @contextmanager
    def call(self) -> Iterator[None]:
        """As long as a call lasts. Raises `InvalidInput` for one in another thread, or in a second `asyncio.run`."""
        self.enter()
        try:
            yield
        finally:
            with self._turn:
                self._calls -= 1

    def enter(self) -> None:
        """Begin a call that never ends: from now on the memory belongs here. Raises `InvalidInput` as `call` does."""
        loop = asyncio.get_running_loop()
        with self._turn:
            if loop is not self._loop:
                self._take(loop)
            self._calls += 1

    @contextmanager
    def use(self) -> Iterator[None]:
        """As long as somebody needs it awake: `is_idle` waits for that."""
        self._users += 1
        self.is_idle.clear()
        try:
            yield
        finally:
            self._users -= 1
            if not self._users:
                self.is_idle.set()

    def _take(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._calls or not self._is_asleep():
            raise InvalidInput(
                "this memory is open in another event loop: use and close it in the asyncio.run, and the thread, that opened it"
            )
        if self._loop is not None:
            self._renew()
        self._loop = loop
