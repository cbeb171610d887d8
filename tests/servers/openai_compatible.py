"""A small server that speaks OpenAI's HTTP API on the loopback interface and misbehaves as it is told.

Used to test real clients against throttling, garbage and cut connections, without a network and without sleeping: what is
slow waits for an `Event` that the server sets when it stops.
"""

import hashlib
import json
import socket
import struct
import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True)
class Called:
    """A tool that the chat model wants called. `arguments` is JSON, or whatever a model takes for it."""

    name: str
    arguments: str = "{}"
    id: str = "call_1"


@dataclass(frozen=True)
class Reply:
    """A normal answer. `text` is what the chat model says beside its calls; embeddings are computed from the input."""

    text: str = "ok"
    calls: tuple[Called, ...] = ()


@dataclass(frozen=True)
class Refusal:
    """An HTTP error. `code` is the provider's error code."""

    status: int
    code: str = ""
    retry_after_s: str = ""
    message: str = "refused by the script"


@dataclass(frozen=True)
class RawBody:
    """Status 200 and these bytes, whatever they are."""

    body: bytes
    content_type: str = "application/json"


@dataclass(frozen=True)
class Cut:
    """Promises a body, sends `sent` bytes of it and closes the connection; with 0 even the header stays unsent."""

    sent: int = 0


@dataclass(frozen=True)
class Silence:
    """Never answers: holds the request until the server stops."""


@dataclass(frozen=True)
class Drip:
    """Status 200 and one piece after the other, each a moment after the last; then the rest never comes, or the reply ends."""

    pieces: tuple[bytes, ...]
    content_type: str = "application/json"
    has_end: bool = False


Behaviour = Reply | Refusal | RawBody | Cut | Silence | Drip


@dataclass(frozen=True)
class Received:
    """One request as it arrived."""

    path: str
    body: Any
    headers: dict[str, str] = field(default_factory=dict)


class OpenAICompatibleServer:
    """Plays its script in order, one behaviour a request; after the last one every request gets a normal reply.

    Use it as a context manager: leaving stops the threads and closes the sockets.
    """

    def __init__(self, script: Iterable[Behaviour] = (), dimension: int = 8) -> None:
        self.requests: list[Received] = []
        self.dimension = dimension
        self._script = deque(script)
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.script = self
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, name="openai-compatible")

    @property
    def base_url(self) -> str:
        """What a client is given as its base URL."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def hold(self) -> None:
        """Block until the server stops."""
        self._stopping.wait(30.0)

    def pause(self) -> None:
        """Between two pieces; none where the server stops."""
        self._stopping.wait(0.05)

    def next_behaviour(self, received: Received) -> Behaviour:
        """Record a request and say what happens to it."""
        with self._lock:
            self.requests.append(received)
            return self._script.popleft() if self._script else Reply()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(10.0)


def embedding_of(text: str, dimension: int) -> list[float]:
    """A vector that depends on the text alone: the same here and in the test that expects it."""
    digest = hashlib.shake_128(text.encode("utf-8", "surrogatepass")).digest(dimension)
    return [byte / 255 - 0.5 for byte in digest]


class _Http(ThreadingHTTPServer):
    daemon_threads = False  # server_close() then waits for every handler, so no thread outlives a test
    block_on_close = True
    script: OpenAICompatibleServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is part of the script, not news."""


class _Handler(BaseHTTPRequestHandler):
    server: _Http
    # One request a connection: a kept one would leave its thread waiting for a client that never comes back.
    protocol_version = "HTTP/1.0"

    def log_message(self, format: str, *args: Any) -> None:
        """Tests read `requests`, not a log."""

    def do_POST(self) -> None:
        script = self.server.script
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", "0"))) or b"null")
        match script.next_behaviour(Received(self.path, body, {k.lower(): v for k, v in self.headers.items()})):
            case Reply(text, calls):
                self._send(200, json.dumps(self._answer(body, text, calls)).encode())
            case Refusal(status, code, retry_after_s, message):
                error = {"error": {"message": message, "type": "error", "code": code or None, "param": None}}
                self._send(status, json.dumps(error).encode(), retry_after_s=retry_after_s)
            case RawBody(raw, content_type):
                self._send(200, raw, content_type)
            case Cut(sent):
                self._cut(json.dumps(self._answer(body, "cut")).encode(), sent)
            case Silence():
                script.hold()
            case Drip(pieces, content_type, has_end):
                self._drip(pieces, content_type, has_end=has_end)

    def _answer(self, body: Any, text: str, calls: tuple[Called, ...] = ()) -> dict[str, Any]:
        if self.path.endswith("/embeddings"):
            return self._embeddings(body)
        usage = {"prompt_tokens": len(json.dumps(body)) // 4, "completion_tokens": len(text) // 4 + 1}
        usage["total_tokens"] = sum(usage.values())
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if calls:
            told = [
                {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": one.arguments}} for one in calls
            ]
            message |= {"content": text or None, "tool_calls": told}
        choice = {"index": 0, "finish_reason": "tool_calls" if calls else "stop", "message": message}
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [choice],
            "usage": usage,
        }

    def _embeddings(self, body: Any) -> dict[str, Any]:
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        dimension = body.get("dimensions") or self.server.script.dimension
        data = [{"object": "embedding", "index": i, "embedding": embedding_of(text, dimension)} for i, text in enumerate(texts)]
        return {"object": "list", "model": body["model"], "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}

    def _send(self, status: int, body: bytes, content_type: str = "application/json", retry_after_s: str = "") -> None:
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(body)))
        if retry_after_s:
            self.send_header("retry-after", retry_after_s)
        self.end_headers()
        self.wfile.write(body)

    def _drip(self, pieces: tuple[bytes, ...], content_type: str, *, has_end: bool) -> None:
        self.send_response(200)
        self.send_header("content-type", content_type)
        self.end_headers()
        for piece in pieces:
            self.wfile.write(piece)
            self.wfile.flush()
            self.server.script.pause()
        if not has_end:
            self.server.script.hold()

    def _cut(self, body: bytes, sent: int) -> None:
        if sent:
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[:sent])
            self.wfile.flush()
        # Linger 0 makes close() reset the connection instead of ending it politely.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
