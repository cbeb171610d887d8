"""What happens in the runs of an agent, as server-sent events: each entry of its ledger about runs and items, in one order.

An event's id is its position in the ledger, so a client that was cut off resumes after the last one it has.
"""

import asyncio
from collections.abc import AsyncIterator

import msgspec

from hive_mind.ledger.base import Ledger
from hive_mind.model.entry import Entry

_SHOWN = ("run/", "item/")


async def events_of(ledger: Ledger, since: int) -> AsyncIterator[bytes]:
    """Those behind this position, and those to come."""
    async for entry in ledger.follow(since):
        if entry.stream.startswith(_SHOWN):
            yield event_of(entry)


def event_of(entry: Entry) -> bytes:
    """One event: its kind is that of the entry after what it is about, "run.judged"; its data one line of JSON."""
    about, _, name = entry.stream.partition("/")
    told = {about: name, "seq": entry.seq, "at_ms": entry.at_ms, "said": msgspec.Raw(entry.body)}
    data = msgspec.json.encode(told)
    return b"id: %d\nevent: %s.%s\ndata: %s\n\n" % (entry.pos, about.encode(), entry.kind.encode(), data)


async def beating(events: AsyncIterator[bytes], every_s: float) -> AsyncIterator[bytes]:
    """The same, with b"" for each such interval without an event."""
    coming: asyncio.Task[bytes] | None = None
    try:
        while True:
            coming = coming or asyncio.ensure_future(_next(events))
            done, _ = await asyncio.wait([coming], timeout=every_s)
            if not done:
                yield b""
                continue
            found, coming = coming, None
            try:
                yield found.result()
            except StopAsyncIteration:
                return
    finally:
        if coming is not None:
            coming.cancel()
            await asyncio.wait([coming])


async def _next(events: AsyncIterator[bytes]) -> bytes:
    return await anext(events)
