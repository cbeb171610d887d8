"""The server over standard input and output, and a client's message as the protocol's library takes it.

It ends when its client ends it, or reads no more, or we want it to. The library of the protocol waits for a line in a thread that
nothing interrupts. No signal would end the server, and no client that reads no more but keeps the other direction open. So it
reads a pipe of ours, into which only messages come that it can read. To others there is an answer here: the library drops them
without a word, and their client waits for ever. Only a notification is left without an answer.
"""

import asyncio
import json
import os
import select
import sys
import threading
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedIOBase, TextIOWrapper
from typing import IO, TYPE_CHECKING, Any, BinaryIO

from mcp_types import INVALID_REQUEST, PARSE_ERROR, jsonrpc_message_adapter
from pydantic import ValidationError
from typing_extensions import Buffer

from hive_mind.counted import whole_characters
from hive_mind.regex import regex

if TYPE_CHECKING:
    from mcp.server import MCPServer


# As much as the library takes over HTTP: a longer text is given in parts.
MESSAGE_BYTES_MAX = 4 << 20

# The id of a message that is too long to be read, where it stands as clients write it: first or last in the object.
_ID = r'"id"\s*:\s*(-?(?:0|[1-9]\d{0,17})|"[^"\\]{0,200}")'
_VERSION = r'"jsonrpc"\s*:\s*"2\.0"'
_ID_FIRST = regex(rf"\s*\{{\s*(?:{_VERSION}\s*,\s*)?{_ID}\s*,")
_ID_LAST = regex(rf",\s*{_ID}(?:\s*,\s*{_VERSION})?\s*\}}\s*\Z")
_END_BYTES = 512


class Refused(Exception):
    """No message. `reply`: the answer to it."""

    def __init__(self, code: int, why: str, id: object = None) -> None:
        super().__init__(why)
        error = {"code": code, "message": why}
        self.reply = json.dumps({"jsonrpc": "2.0", "id": id, "error": error}).encode()


def message_of(raw: bytes) -> bytes:
    """A line or a body as the library takes it. Raises `Refused`.

    A mark of its encoding goes; what is no text in it becomes U+FFFD, as does half a surrogate pair.
    """
    try:
        value = json.loads(raw.removeprefix(BOM_UTF8).decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise Refused(PARSE_ERROR, f"a message is one line of JSON: {error}") from error
    if not isinstance(value, dict):
        raise Refused(INVALID_REQUEST, f"a message is a JSON object, not {_kind_of(value)}: send one at a time")
    id = value.get("id")
    # An error may say that it did not find out to what; to answer that would go on for ever.
    if "id" in value and not _is_id(id) and not (id is None and "method" not in value and "error" in value):
        raise Refused(INVALID_REQUEST, "`id` is a string or a whole number; a notification has none")
    message = whole_characters(json.dumps(value, ensure_ascii=False)).encode()
    try:
        jsonrpc_message_adapter.validate_json(message, by_name=False)
    except ValidationError as error:
        raise Refused(INVALID_REQUEST, _what_it_has(value), whole_characters(id) if isinstance(id, str) else id) from error
    return message


def too_long(begin: bytes | bytearray, end: bytes | bytearray) -> Refused:
    """The refusal of a message by its first and last bytes."""
    first, last = begin[:_END_BYTES].decode("utf-8", "replace"), end[-_END_BYTES:].decode("utf-8", "replace")
    id = _ID_FIRST.match(first) or _ID_LAST.search(last)
    why = f"a message has at most {MESSAGE_BYTES_MAX:,} bytes: give a long text in parts"
    return Refused(INVALID_REQUEST, why, json.loads(id[1]) if id else None)


def _what_it_has(message: dict[str, Any]) -> str:
    if message.get("jsonrpc") != "2.0":
        return '`jsonrpc` is "2.0"'
    if "method" not in message:
        return "a request has a `method`, an answer a `result` or an `error`"
    if not isinstance(message["method"], str):
        return f"`method` is a string, not {_kind_of(message['method'])}"
    if message.get("params") is not None and not isinstance(message["params"], dict):
        return f"`params` is an object, not {_kind_of(message['params'])}"
    return "a message can't be nested like this"


def _is_id(id: object) -> bool:
    return isinstance(id, (int, str)) and not isinstance(id, bool)


def _kind_of(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


_READ_BYTES = 1 << 16


async def serve_stdio(server: "MCPServer") -> None:
    """Until its client goes away. Raises `BrokenPipeError` where that was killed: as any command, and not in a group."""
    is_unheard = False
    try:
        with client_lines() as lines:
            serving = asyncio.create_task(server.run_stdio_async())
            try:
                await asyncio.wait([serving])
            finally:
                # Its canceller would wait for the client's next line.
                lines.end()
                await serving
            is_unheard = lines.is_unheard
    except* BrokenPipeError:
        is_unheard = True
    if is_unheard:
        raise BrokenPipeError


class ClientLines:
    """`served` gives the messages that come from `wire`, until `end`, or until nobody reads from `heard`: `is_unheard`.

    `answers` takes what goes there. A line that is no message is answered by what says so.
    """

    def __init__(self, wire: int, heard: int) -> None:
        self.is_unheard = False
        self._wire, self._heard = wire, heard
        self._stop_reader, self._stop_writer = os.pipe()
        self.answers = _WholeLines(heard, self._stop_reader)
        self._end_of, self._into = os.pipe()
        self.served = TextIOWrapper(os.fdopen(self._end_of, "rb"), encoding="utf-8")
        self._thread = threading.Thread(target=self._pass_on, name="hive-client", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """The server hears that its client is gone."""
        os.write(self._stop_writer, b".")

    def close(self) -> None:
        self.end()
        # It may be writing what nobody reads any more.
        self.served.close()
        self._thread.join()
        for descriptor in (self._wire, self._heard, self._stop_reader, self._stop_writer):
            os.close(descriptor)

    def _pass_on(self) -> None:
        with suppress(OSError), os.fdopen(self._into, "wb", buffering=0) as into:
            for line in self._lines():
                try:
                    message = line if isinstance(line, Refused) else message_of(line)
                except Refused as refused:
                    message = refused
                if isinstance(message, Refused):
                    self.answers.write(message.reply + b"\n")
                else:
                    _write_all(into, message + b"\n")

    def _lines(self) -> Iterator[bytes | Refused]:
        """Each with or without its end; of one that is too long, its refusal."""
        beginning, is_too_long = bytearray(), False
        for block in self._read():
            *ends, rest = block.split(b"\n")
            for end in ends:
                beginning += end
                yield too_long(beginning, beginning) if is_too_long or len(beginning) > MESSAGE_BYTES_MAX else bytes(beginning)
                beginning, is_too_long = bytearray(), False
            beginning += rest
            if len(beginning) > MESSAGE_BYTES_MAX:
                # Its first and its last bytes may say which one it is.
                is_too_long = True
                del beginning[_READ_BYTES:-_READ_BYTES]
        if beginning.strip():
            yield bytes(beginning)

    def _read(self) -> Iterator[bytes]:
        watch = select.poll()
        watch.register(self._wire, select.POLLIN)
        watch.register(self._stop_reader, select.POLLIN)
        # It tells in any case that nobody reads.
        watch.register(self._heard, 0)
        while (ready := {descriptor for descriptor, _ in watch.poll()}) == {self._wire}:
            if not (block := os.read(self._wire, _READ_BYTES)):
                return
            yield block
        self.is_unheard = self._heard in ready


class _WholeLines(BufferedIOBase):
    """Writes line by line, so that two who write never meet within one. Once `stop` is readable it waits for no reader."""

    def __init__(self, descriptor: int, stop: int) -> None:
        self._descriptor, self._begun, self._alone = descriptor, bytearray(), threading.Lock()
        self._ready = select.poll()
        self._ready.register(descriptor, select.POLLOUT)
        self._ready.register(stop, select.POLLIN)

    def writable(self) -> bool:
        return True

    def write(self, buffer: Buffer, /) -> int:
        """See `BufferedIOBase`. Raises `OSError`."""
        body = bytes(buffer)
        with self._alone:
            lines, end, rest = (bytes(self._begun) + body).rpartition(b"\n")
            self._begun = bytearray(rest)
            left = memoryview(lines + end)
            while left and self._descriptor in dict(self._ready.poll()):
                # More than this could wait though the pipe has room.
                left = left[os.write(self._descriptor, left[: select.PIPE_BUF]) :]
        return len(body)


class _Wire:
    """Standard output for the protocol's library, which takes its `buffer`. What anybody else prints is no message."""

    def __init__(self, buffer: _WholeLines) -> None:
        self.buffer = buffer

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr, name)


def _write_all(into: BinaryIO | IO[bytes], body: bytes) -> None:
    rest = memoryview(body)
    while rest:
        rest = rest[into.write(rest) :]


@contextmanager
def client_lines() -> Iterator[ClientLines]:
    """While it lasts `sys.stdin` is what the client writes, and nothing else reads from the client, nor writes to it."""
    stdin, stdout = sys.stdin.fileno(), sys.stdout.fileno()
    before = sys.stdin, sys.stdout
    lines = ClientLines(wire := os.dup(stdin), client_copy := os.dup(stdout))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, stdin)
    os.close(nothing)
    os.dup2(sys.stderr.fileno(), stdout)
    sys.stdin, sys.stdout = lines.served, _Wire(lines.answers)
    try:
        yield lines
    finally:
        sys.stdin, sys.stdout = before
        os.dup2(wire, stdin)
        os.dup2(client_copy, stdout)
        lines.close()
