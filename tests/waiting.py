"""Waiting for what happens elsewhere, and of which nobody tells."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(holds: Callable[[], T], what: object = "it holds", within_s: float = 90.0) -> T:
    """What `holds` gives, as soon as that is true. Else it fails, and says `what`: a text, or what gives one then."""
    give_up_s = time.monotonic() + within_s
    while not (found := holds()):
        assert time.monotonic() < give_up_s, f"not within {within_s:g} s: {what() if callable(what) else what}"
        time.sleep(0.1)
    return found


async def until(holds: Callable[[], T | Awaitable[T]], what: str = "it holds", within_s: float = 90.0) -> T:
    """The same in an event loop; what `holds` gives may have to be awaited."""
    try:
        async with asyncio.timeout(within_s):
            while True:
                found = holds()
                if inspect.isawaitable(found):
                    found = await found
                if found:
                    return found
                await asyncio.sleep(0.005)
    except TimeoutError:
        raise AssertionError(f"not within {within_s:g} s: {what}") from None
