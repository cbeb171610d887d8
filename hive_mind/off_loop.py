"""Work on long texts beside the event loop, so that heartbeats, health checks and other questions are answered meanwhile.

A thread does: Python changes between threads every few milliseconds, and what is called here computes and shares nothing.
"""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")

# Reading takes some microseconds for each character, and a change to a thread some tenths of a millisecond.
IN_LOOP_CHARACTERS_MAX = 2_000


async def off_loop(characters: int, work: Callable[Given, Result], *arguments: Given.args, **keywords: Given.kwargs) -> Result:
    """The result of work on so much text; of a short one it is done at once."""
    if characters <= IN_LOOP_CHARACTERS_MAX:
        return work(*arguments, **keywords)
    return await asyncio.to_thread(work, *arguments, **keywords)
