"""Work on long texts beside the event loop, so that heartbeats, health checks and other questions are answered meanwhile.

A thread does: Python changes between threads every few milliseconds, and what is called here computes and shares nothing.

From a thread to the tasks that wait for it, on any number of event loops: a value or an error settles their futures.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ParamSpec, TypeVar

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
