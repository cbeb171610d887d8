"""Calls of a blocking SDK, off the event loop.

Each gets a thread of its own that nobody has to wait for: the SDK may wait for ever on a broker that took a connection and says
nothing, and neither closing a bus nor the end of the process may hang on that.
"""

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def off_loop(work: Callable[[], T], name: str) -> T:
    """What `work` returns or raises. A cancelled caller leaves it to end by itself."""
    waiter: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def run() -> None:
        try:
            result = work()
        except Exception as error:  # noqa: BLE001 - it belongs to the caller
            call_on(waiter.get_loop(), _fail, waiter, error)
        else:
            call_on(waiter.get_loop(), _settle, waiter, result)

    thread = threading.Thread(target=run, name=f"eventhubs {name}", daemon=True)
    thread.start()
    try:
        return await waiter
    finally:
        if not waiter.cancelled():
            # It has nothing left to do but return.
            thread.join()


def call_on(loop: asyncio.AbstractEventLoop, call: Callable[..., object], *args: object) -> None:
    """Have something called on a loop, if it still runs."""
    try:
        loop.call_soon_threadsafe(call, *args)
    except RuntimeError:
        # Closed: nobody waits any more.
        return


def _settle(waiter: asyncio.Future[T], result: T) -> None:
    if not waiter.done():
        waiter.set_result(result)


def _fail(waiter: asyncio.Future[T], error: Exception) -> None:
    if not waiter.done():
        waiter.set_exception(error)
