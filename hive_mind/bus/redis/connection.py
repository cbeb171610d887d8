"""A connection to a Redis server, in version 2 of its protocol: commands out as bytes, and as many replies in.

hiredis parses. A client library would do more, and its modules would be a seventh of the memory of an idle worker.
"""

import asyncio
import socket
import ssl
from collections.abc import Sequence
from typing import Any

import hiredis

Packed = bytes
"""A command as it goes over the wire."""

# A peer that is gone without a word is noticed within a minute, also where nothing is said for long.
_KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}
_GOODBYE_S = 1.0


class ReplyError(Exception):
    """An error that the server replies. `code` is its first word, such as `NOPERM`; "ERR" says nothing and is left out."""

    def __init__(self, reply: str) -> None:
        self.code, _, rest = reply.partition(" ")
        super().__init__(rest if self.code == "ERR" else reply)


class Connection(asyncio.Protocol):
    """Open it with `connected`. One call at a time; where one ends without replies, `abort`: what comes later is not its own."""

    def __init__(self) -> None:
        self._reader = hiredis.Reader(protocolError=ConnectionError, replyError=ReplyError)
        self._transport: asyncio.Transport | None = None
        self._replies: list[Any] = []
        self._wanted = 0
        self._waiting: asyncio.Future[list[Any]] | None = None
        self._why_not = ConnectionError("the server hung up")
        self._closed = asyncio.get_running_loop().create_future()

    async def call(self, commands: Sequence[Packed], within_s: float) -> list[Any]:
        """The replies, in order; an error is among them as a `ReplyError`. Raises `OSError`."""
        if self._transport is None or self._transport.is_closing():
            raise self._why_not
        if not commands:
            return []
        loop = asyncio.get_running_loop()
        self._replies, self._wanted, self._waiting = [], len(commands), loop.create_future()
        timer = loop.call_later(within_s, self._fail, TimeoutError(f"the server was silent for {within_s:g} s"))
        try:
            self._transport.write(b"".join(commands))
            return await self._waiting
        finally:
            timer.cancel()
            self._waiting = None

    async def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
            await asyncio.wait([self._closed], timeout=_GOODBYE_S)
            self.abort()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - of a stream it is one
        self._transport = transport
        if (raw := transport.get_extra_info("socket")) is not None:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name, value in _KEEPALIVE.items():
                if hasattr(socket, name):
                    raw.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)

    def data_received(self, data: bytes) -> None:
        try:
            self._reader.feed(data)
            while (reply := self._reader.gets()) is not False:
                self._take(reply)
        except ConnectionError as error:
            self._fail(error)
            self.abort()

    def connection_lost(self, error: Exception | None) -> None:
        if isinstance(error, OSError):
            self._why_not = ConnectionError(*error.args)
        self._fail(self._why_not)
        if not self._closed.done():
            self._closed.set_result(None)

    def _take(self, reply: Any) -> None:
        if self._waiting is None:
            # Said unasked before it hangs up, such as that it has too many clients.
            self._why_not = ConnectionError(f"the server says: {reply}")
            return
        self._replies.append(reply)
        if len(self._replies) == self._wanted and not self._waiting.done():
            self._waiting.set_result(self._replies)

    def _fail(self, error: OSError) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(error)


async def connected(host: str, port: int, tls: ssl.SSLContext | None) -> Connection:
    """Raises `OSError`."""
    _, connection = await asyncio.get_running_loop().create_connection(Connection, host, port, ssl=tls)
    return connection
