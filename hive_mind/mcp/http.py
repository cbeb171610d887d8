"""The server over streamable HTTP, on this machine alone and for clients with the token.

A message is mended or refused as over standard input and output.
"""

import asyncio
import hmac
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import uvicorn
from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.requests import Request
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from hive_mind.errors import BackendUnavailable, reason_of
from hive_mind.mcp.stdio import MESSAGE_BYTES_MAX, Refused, message_of, too_long
from hive_mind.runtime.workers.strangers import BACKLOG, Strangers

HOST, PATH = "127.0.0.1", "/mcp"
_NAMES = (HOST, "localhost", "[::1]")
_THIS_MACHINE = TransportSecuritySettings(
    allowed_hosts=[f"{name}:*" for name in _NAMES], allowed_origins=[f"http://{name}:*" for name in _NAMES]
)

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def listening(port: int) -> socket.socket:
    """A socket of this machine. Raises `BackendUnavailable` for a port that is taken."""
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        raise BackendUnavailable("mcp", f"can't listen on {HOST}:{port}: {reason_of(error)}; give another --http PORT") from error


async def serve_http(server: MCPServer, listener: socket.socket, token: str) -> None:
    """Serve until a signal comes, and close the socket.

    Requests for another host are refused: a page in a browser may have a name that leads here.
    """
    served = server.streamable_http_app(streamable_http_path=PATH, host=HOST, transport_security=_THIS_MACHINE)
    strangers = Strangers()

    class Connection(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            strangers.arrived(transport.get_extra_info("peername"), transport.abort)

    app = with_token(with_messages(served), token, strangers.known)
    await uvicorn.Server(uvicorn.Config(app, http=Connection, backlog=BACKLOG, log_level="warning")).serve(sockets=[listener])


def with_token(app: App, token: str, on_known: Callable[[tuple[str, int]], object] = lambda _: None) -> App:
    """Refuse requests that do not show the token, before anything of them is read. `on_known` gets the peer of one that does."""
    expected = f"Bearer {token}".encode()

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        credentials = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] == "lifespan" or (scope["type"] == "http" and hmac.compare_digest(credentials, expected)):
            if scope.get("client"):
                on_known(tuple(scope["client"]))
            await app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b"show the token: Authorization: Bearer ...\n"})

    return checked


def with_messages(app: App) -> App:
    """Let the bodies through that are messages, from pages and to hosts that are of this machine."""
    security = TransportSecurityMiddleware(_THIS_MACHINE)

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await app(scope, receive, send)
            return
        if (refusal := await security.validate_request(Request(scope), is_post=True)) is not None:
            await refusal(scope, receive, send)
            return
        body = bytearray()
        while len(body) <= MESSAGE_BYTES_MAX:
            event = await receive()
            body += event.get("body", b"")
            if not event.get("more_body"):
                break
        try:
            if len(body) > MESSAGE_BYTES_MAX:
                raise too_long(body, b"")
            message = message_of(bytes(body))
        except Refused as refused:
            await send({"type": "http.response.start", "status": 400, "headers": [(b"content-type", b"application/json")]})
            await send({"type": "http.response.body", "body": refused.reply})
            return
        waiting = [{"type": "http.request", "body": message, "more_body": False}]
        headers = [header for header in scope["headers"] if header[0] != b"content-length"]
        length = (b"content-length", str(len(message)).encode())

        async def given() -> MutableMapping[str, Any]:
            return waiting.pop() if waiting else await receive()

        await app({**scope, "headers": [*headers, length]}, given, send)

    return checked
