"""Work on long texts beside the event loop, so that heartbeats, health checks and other questions are answered meanwhile.

A thread does: Python changes between threads every few milliseconds, and what is called here computes and shares nothing.

From a thread to the tasks that wait for it, on any number of event loops: a value or an error settles their futures.

The result of an `open_…`: awaited it is what was opened, which its caller closes; `async with` opens it and closes it again. So
every one of them is used alike, whether a program keeps the thing for long or for a block.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Generator, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar


class Closable(Protocol):
    """A thing that is open until it is closed."""

    async def close(self) -> None:
        """Release what it has."""


P = ParamSpec("P")
Opened = TypeVar("Opened", bound=Closable)


@dataclass(slots=True, eq=False)
class Opening(Coroutine[Any, Any, Opened]):
    """One opening, awaited or entered once; a coroutine like any other for who runs it."""

    _opening: Coroutine[Any, Any, Opened]
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    def send(self, value: Any) -> Any:
        return self._opening.send(value)

    def throw(self, *error: Any) -> Any:
        return self._opening.throw(*error)

    def close(self) -> None:
        """As of any coroutine; what it opened is not closed by it."""
        self._opening.close()

    def __await__(self) -> Generator[Any, Any, Opened]:
        return self._opening.__await__()

    async def __aenter__(self) -> Opened:
        opened = await self._opening
        try:
            if hasattr(opened, "__aenter__"):
                await opened.__aenter__()
        except BaseException:
            await opened.close()
            raise
        self._stack.push_async_callback(opened.close)
        return opened

    async def __aexit__(self, *error: Any) -> None:
        await self._stack.__aexit__(*error)


def opening(opens: Callable[P, Coroutine[Any, Any, Opened]]) -> Callable[P, Opening[Opened]]:
    """An `open_…` that is awaited or entered."""

    @wraps(opens)
    def begun(*args: P.args, **kwargs: P.kwargs) -> Opening[Opened]:
        return Opening(opens(*args, **kwargs))

    return begun


Given = ParamSpec("Given")
Result = TypeVar("Result")

# Reading takes some microseconds for each character, and a change to a thread some tenths of a millisecond.
IN_LOOP_CHARACTERS_MAX = 2_000


async def off_loop(characters: int, work: Callable[Given, Result], *arguments: Given.args, **keywords: Given.kwargs) -> Result:
    """The result of work on so much text; of a short one it is done at once."""
    if characters <= IN_LOOP_CHARACTERS_MAX:
        return work(*arguments, **keywords)
    return await asyncio.to_thread(work, *arguments, **keywords)


_log = logging.getLogger(__name__)

Waiter = asyncio.Future[Any]


def settle(waiters: Iterable[Waiter], result: object = None, error: BaseException | None = None) -> None:
    """Give them a result or an error, if they still wait; one call for each loop, because a call wakes it."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Waiter]] = {}
    for waiter in waiters:
        by_loop.setdefault(waiter.get_loop(), []).append(waiter)
    for loop, futures in by_loop.items():
        call_on(loop, _wake, futures, result, error)


def call_on(loop: asyncio.AbstractEventLoop, call: Callable[..., object], *args: object) -> None:
    """Have something called on a loop, if it still runs."""
    try:
        loop.call_soon_threadsafe(call, *args)
    except RuntimeError:
        _log.debug("a caller's event loop was closed before its answer came")


def _wake(waiters: Sequence[Waiter], result: object, error: BaseException | None) -> None:
    for waiter in waiters:
        if waiter.done():
            continue
        if error is None:
            waiter.set_result(result)
        else:
            waiter.set_exception(error)
