"""A worker over HTTP as its clients see it: the bytes of a request, the parts of a reply, and how long it may be silent.

A client says that it knows beats; a worker then sends a blank every few seconds for as long as its loop lives and a request is
under way, which JSON allows in front of a value. So silence means that the process is stopped, hangs or is gone, however long a
request takes. Loads next to nothing: `hive-mind ask` uses it before the command line is loaded.
"""

import socket
from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import NamedTuple

from hive_mind.clocks import NOTICE_EVERY_S, NOTICE_FIRST_S

SILENCE_S = 15.0
"""A process that sends no byte within this time counts as silent: five beats, so that a busy one is not taken for a hung one."""
BEAT_S = 3.0
BEATS = "Hive-Mind-Beats"
"""The header of a client that knows beats. The status of a reply is 200 once a beat was sent; the body says what became of it."""

DOOR = "Hive-Mind-Door"
"""The header of a client that is no other program: `command`, for the command line and what it starts."""

RECEIVED_BYTES = 1 << 16
_UNAUTHORISED = 401


class ForeignProcess(ConnectionError):
    """Another process listens on this port."""


class Cut(ConnectionError):
    """A reply ended before it was whole."""


class _Head(NamedTuple):
    status: int
    content_type: str
    bytes_left: int
    """-1 where it does not say how long it is."""


def request_bytes(method: str, path: str, token: str, body: bytes, accept: str = "application/json") -> bytes:
    """A whole request. Version 1.0: the reply ends with the connection, and is not cut into pieces."""
    lines = [
        f"{method} {path} HTTP/1.0",
        "Host: 127.0.0.1",
        f"Authorization: Bearer {token}",
        "Content-Type: application/json",
        f"Accept: {accept}",
        f"{BEATS}: 1",
        f"{DOOR}: command",
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def waiting_line(process: str, waited_s: float) -> str:
    """For people who wait though nothing is wrong."""
    return f"waiting for process {process} for {waited_s:.0f} s: it lives, and works on the reply"


class ReplyReader:
    """Makes the body of a reply of what comes, piece by piece. `on_beat` gets the seconds since it was made, now and then."""

    def __init__(self, on_beat: Callable[[float], None] = lambda _: None) -> None:
        self._before = b""
        self._head: _Head | None = None
        self._on_beat, self._began_s, self._noticed_s = on_beat, monotonic(), NOTICE_FIRST_S

    @property
    def content_type(self) -> str:
        """ "" until the head is here."""
        return self._head.content_type if self._head else ""

    def feed(self, received: bytes) -> bytes:
        """The part of it that is body. Raises `ForeignProcess`, and `Cut` for what is no reply."""
        if self._head is None:
            self._before += received
            head, end, received = self._before.partition(b"\r\n\r\n")
            if not end:
                return b""
            first, *lines = head.decode("latin-1").split("\r\n")
            _, _, status = first.partition(" ")
            fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            length = fields.get("content-length", "-1")
            if not status[:3].isdecimal() or not length.lstrip("-").isdecimal():
                raise Cut("it answers with something that is no HTTP")
            if int(status[:3]) == _UNAUTHORISED:
                raise ForeignProcess("another process listens on its port")
            self._head = _Head(int(status[:3]), fields.get("content-type", "").partition(";")[0], int(length))
        if self._head.bytes_left >= 0:
            self._head = self._head._replace(bytes_left=max(self._head.bytes_left - len(received), 0))
        if received.isspace() and (waited_s := monotonic() - self._began_s) >= self._noticed_s:
            self._noticed_s = waited_s + NOTICE_EVERY_S
            self._on_beat(waited_s)
        return received

    def end(self) -> None:
        """Nothing more comes. Raises `Cut` where something is missing."""
        if self._head is None or self._head.bytes_left > 0:
            raise Cut("it ended before it had answered")


def body_within(port: int, request: bytes, silence_s: float, on_beat: Callable[[float], None] = lambda _: None) -> bytes:
    """The body of a reply. Raises `TimeoutError` after so much silence, and `OSError` where nobody answers."""
    with socket.create_connection(("127.0.0.1", port), timeout=silence_s) as connection:
        connection.sendall(request)
        return whole(_received(connection), ReplyReader(on_beat))


def whole(pieces: Iterator[bytes] | Sequence[bytes], reader: ReplyReader | None = None) -> bytes:
    """The body of a reply that came in these pieces. Raises `Cut` and `ForeignProcess`."""
    reader = reader or ReplyReader()
    body = b"".join([reader.feed(piece) for piece in pieces])
    reader.end()
    return body


def _received(connection: socket.socket) -> Iterator[bytes]:
    while received := connection.recv(RECEIVED_BYTES):
        yield received
