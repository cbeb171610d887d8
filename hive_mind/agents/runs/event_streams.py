"""Server-sent events of another server, read by the WHATWG's specification: one line after the other, bounded throughout.

That server may send anything: no event is larger than `EVENT_BYTES_MAX`, and a connection on which nothing is heard
for `SILENT_S` seconds is opened anew.

The other way round: the events in the runs of an agent, each entry of its ledger about runs and items, in one order. An event's
id is its position in the ledger, so a client that was cut off resumes after the last one it has.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeVar

import aiohttp
import msgspec

from hive_mind.errors import BackendTimeout, BackendUnavailable, reason_of
from hive_mind.ledger import Ledger
from hive_mind.runs import shown_url

EVENT_BYTES_MAX = 1 << 20
SILENT_S = 120.0
"""Servers are to send a comment every fifteen seconds or so, which is enough."""
_CONNECT_S = 15.0


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """`id` is the last one the server gave, "" for none; what it sends again after a break begins behind it."""

    kind: str
    data: str
    id: str


class StreamEnded(BackendUnavailable):
    """The server says that nothing more will come."""


async def events_from(url: str, token: str = "", last_id: str = "") -> AsyncGenerator[ServerEvent, None]:
    """The events of one connection, until it ends. Raises `StreamEnded`, `BackendUnavailable` or `BackendTimeout`."""
    headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    headers |= {"Last-Event-ID": last_id} if last_id else {}
    name = shown_url(url)
    within = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S, sock_read=SILENT_S)
    try:
        # A redirect would carry the token to somebody else.
        async with (
            aiohttp.ClientSession(timeout=within) as session,
            session.get(url, headers=headers, allow_redirects=False) as response,
        ):
            if response.status == HTTPStatus.NO_CONTENT:
                raise StreamEnded(name, "the server ended the stream (204)")
            if response.status != HTTPStatus.OK:
                raise BackendUnavailable(name, f"it answered {response.status} {response.reason}")
            if response.content_type != "text/event-stream":
                raise BackendUnavailable(name, f"it sends {response.content_type}, and no text/event-stream")
            reader = EventReader(last_id)
            async for chunk in response.content.iter_any():
                for event in reader.feed(chunk):
                    yield event
    except TimeoutError as error:
        raise BackendTimeout(name, f"nothing was heard for {SILENT_S:g} s") from error
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise BackendUnavailable(name, reason_of(error) or type(error).__name__) from error


class EventReader:
    """Makes events of bytes, however they are cut. An event that is too large is left out and counted."""

    def __init__(self, last_id: str = "") -> None:
        self.left_out = 0
        self._id = last_id
        self._line, self._line_bytes = bytearray(), 0
        self._kind, self._data, self._size = "", list[str](), 0
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        if self._after_cr and chunk[:1] == b"\n":
            chunk = chunk[1:]
        self._after_cr = chunk[-1:] == b"\r" if chunk else self._after_cr
        *lines, rest = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        events = []
        for line in lines:
            self._grow(line)
            if self._line_bytes:
                self._read(bytes(self._line))
            elif event := self._ended():
                events.append(event)
            self._line, self._line_bytes = bytearray(), 0
        self._grow(rest)
        return events

    def _grow(self, chunk: bytes) -> None:
        self._size += len(chunk)
        self._line_bytes += len(chunk)
        # Counted on, so that the rest of it is known to be too large.
        if self._size <= EVENT_BYTES_MAX:
            self._line += chunk

    def _read(self, line: bytes) -> None:
        if line.startswith(b":"):
            # Sent to be heard of, for as long as nothing happens.
            self._size -= len(line)
            return
        name, _, value = line.decode("utf-8", "replace").removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}").partition(":")
        value = value.removeprefix(" ")
        match name:
            case "event":
                self._kind = value
            case "data":
                self._data.append(value)
            case "id" if "\0" not in value:
                self._id = value

    def _ended(self) -> ServerEvent | None:
        kind, data, size = self._kind or "message", self._data, self._size
        self._kind, self._data, self._size = "", [], 0
        if size > EVENT_BYTES_MAX:
            self.left_out += 1
            return None
        return ServerEvent(kind, "\n".join(data), self._id) if data else None


Event = TypeVar("Event")


async def events_of(ledger: Ledger, since: int) -> AsyncIterator[bytes]:
    """Those behind this position, and those to come.

    The kind of an event is that of the entry after what it is about, "run.judged"; its data one line of JSON.
    """
    async for entry in ledger.follow(since):
        about, _, name = entry.stream.partition("/")
        if about in ("run", "item"):
            fields = {about: name, "seq": entry.seq, "at_ms": entry.at_ms, "said": msgspec.Raw(entry.body)}
            kind, data = f"{about}.{entry.kind}".encode(), msgspec.json.encode(fields)
            yield b"id: %d\nevent: %s\ndata: %s\n\n" % (entry.pos, kind, data)


async def beating(
    events: AsyncIterator[Event], every_s: float, over: asyncio.Event | None = None
) -> AsyncGenerator[Event | None, None]:
    """The same, with None for each such interval without an event; ends early once `over` is set."""
    ending = asyncio.ensure_future((over or asyncio.Event()).wait())
    coming = asyncio.ensure_future(anext(events, None))
    try:
        while not ending.done():
            await asyncio.wait([coming, ending], timeout=every_s, return_when=asyncio.FIRST_COMPLETED)
            if coming.done() and coming.result() is None:
                return
            yield coming.result() if coming.done() else None
            if coming.done():
                coming = asyncio.ensure_future(anext(events, None))
    finally:
        ending.cancel()
        coming.cancel()
        await asyncio.wait([ending, coming])
