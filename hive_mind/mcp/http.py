"""The server over streamable HTTP, on this machine alone and for clients with the token."""

import hmac
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import uvicorn
from mcp.server import MCPServer

from hive_mind.errors import BackendUnavailable

HOST, PATH = "127.0.0.1", "/mcp"

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def listening(port: int) -> socket.socket:
    """A socket of this machine. Raises `BackendUnavailable` for a port that is taken."""
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        raise BackendUnavailable("mcp", f"can't listen on {HOST}:{port}: {error.strerror}; give another --http PORT") from error


async def serve_http(server: MCPServer, listener: socket.socket, token: str) -> None:
    """Serve until a signal comes, and close the socket.

    Requests for another host are refused: a page in a browser may have a name that leads here.
    """
    app = with_token(server.streamable_http_app(streamable_http_path=PATH, host=HOST), token)
    await uvicorn.Server(uvicorn.Config(app, log_level="warning")).serve(sockets=[listener])


def with_token(app: App, token: str) -> App:
    """Refuse requests that do not show the token, before anything of them is read."""
    wanted = f"Bearer {token}".encode()

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        shown = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] == "lifespan" or (scope["type"] == "http" and hmac.compare_digest(shown, wanted)):
            await app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b"show the token: Authorization: Bearer ...\n"})

    return checked
