"""Ending a task that may be in the middle of a call of the SDK."""

import asyncio

_NOTICED_WITHIN_S = 1.0


async def end(task: "asyncio.Task[None]") -> None:
    """Cancel it until it has ended: the SDK sometimes takes a cancellation for a broken connection, and goes on."""
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=_NOTICED_WITHIN_S)
