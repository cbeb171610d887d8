"""A reply as server-sent events: what is known before it, then the reply or why there is none."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import msgspec

from hive_mind.api.request import OnEvent
from hive_mind.errors import HiveError
from hive_mind.runtime.replies import refusal

# A reader that does not read keeps no more than this waiting; figures of progress are left out then.
_WAITING_MAX = 1000


async def replying(work: Callable[[OnEvent], Coroutine[Any, Any, Any]]) -> AsyncIterator[bytes]:
    """Events of one request. It goes on where the reader stops."""
    events: asyncio.Queue[bytes] = asyncio.Queue(_WAITING_MAX)

    def on_event(name: str, says: object) -> None:
        if not events.full():
            events.put_nowait(_event(name, says))

    async def done() -> bytes:
        try:
            return _event("reply", {"ok": await work(on_event)})
        except HiveError as error:
            return _event("error", refusal(error))

    task = asyncio.ensure_future(done())
    while not task.done():
        coming = asyncio.ensure_future(events.get())
        await asyncio.wait([task, coming], return_when=asyncio.FIRST_COMPLETED)
        if coming.done():
            yield coming.result()
        else:
            coming.cancel()
    while not events.empty():
        yield events.get_nowait()
    yield task.result()


def _event(name: str, says: object) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(says))
