"""The events in the runs of an agent, as server-sent events: each entry of its ledger about runs and items, in one order.

An event's id is its position in the ledger, so a client that was cut off resumes after the last one it has.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import TypeVar

import msgspec

from hive_mind.ledger.base import Ledger
from hive_mind.model.entry import Entry

Event = TypeVar("Event")
_SHOWN = ("run/", "item/")


async def events_of(ledger: Ledger, since: int) -> AsyncIterator[bytes]:
    """Those behind this position, and those to come."""
    async for entry in ledger.follow(since):
        if entry.stream.startswith(_SHOWN):
            yield event_of(entry)


def event_of(entry: Entry) -> bytes:
    """One event: its kind is that of the entry after what it is about, "run.judged"; its data one line of JSON."""
    about, _, name = entry.stream.partition("/")
    fields = {about: name, "seq": entry.seq, "at_ms": entry.at_ms, "said": msgspec.Raw(entry.body)}
    data = msgspec.json.encode(fields)
    return b"id: %d\nevent: %s.%s\ndata: %s\n\n" % (entry.pos, about.encode(), entry.kind.encode(), data)


async def beating(
    events: AsyncIterator[Event], every_s: float, over: asyncio.Event | None = None
) -> AsyncGenerator[Event | None, None]:
    """The same, with None for each such interval without an event; ends early once `over` is set."""
    ending = asyncio.ensure_future((over or asyncio.Event()).wait())
    coming: asyncio.Task[Event] | None = None
    try:
        while not ending.done():
            coming = coming or asyncio.ensure_future(_next(events))
            await asyncio.wait([coming, ending], timeout=every_s, return_when=asyncio.FIRST_COMPLETED)
            if not coming.done():
                yield None
                continue
            found_task, coming = coming, None
            try:
                yield found_task.result()
            except StopAsyncIteration:
                return
    finally:
        left = [task for task in (ending, coming) if task is not None]
        for task in left:
            task.cancel()
        await asyncio.wait(left)


async def _next(events: AsyncIterator[Event]) -> Event:
    return await anext(events)
