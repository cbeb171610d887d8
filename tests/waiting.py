"""Waiting for what happens elsewhere, and of which nobody tells."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from itertools import chain, repeat
from typing import TypeVar

T = TypeVar("T")

_PAUSE_MAX_S = 0.1


def wait_until(holds: Callable[[], T], what: object = "it holds", within_s: float = 90.0) -> T:
    """What `holds` gives, as soon as that is true. Else it fails, and says `what`: a text, or what gives one then."""
    began_s = looks_s = time.monotonic()
    while not (found := holds()):
        now_s = time.monotonic()
        assert now_s < began_s + within_s, f"not within {within_s:g} s: {what() if callable(what) else what}"
        # Half of the time at least is left to what is waited for.
        time.sleep(max(_PAUSE_MAX_S, min(now_s - looks_s, 1.0)))
        looks_s = time.monotonic()
    return found


async def until(holds: Callable[[], T | Awaitable[T]], what: str = "it holds", within_s: float = 90.0) -> T:
    """The same in an event loop; what `holds` gives may have to be awaited."""
    try:
        async with asyncio.timeout(within_s):
            for pause_s in chain(repeat(0.005, 20), repeat(0.02, 50), repeat(_PAUSE_MAX_S)):
                found = holds()
                if inspect.isawaitable(found):
                    found = await found
                if found:
                    return found
                await asyncio.sleep(pause_s)
    except TimeoutError:
        raise AssertionError(f"not within {within_s:g} s: {what}") from None
