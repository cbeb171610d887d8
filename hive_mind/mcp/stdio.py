"""The server over standard input and output.

It ends when its client ends it, or reads no more, or we want it to. The library of the protocol waits for a line in a thread that
nothing interrupts. No signal would end the server, and no client that reads no more but keeps the other direction open. So it
reads a pipe of ours, into which only messages come that it can read. To others there is an answer here.
"""

import asyncio
import os
import select
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedIOBase, TextIOWrapper
from typing import IO, TYPE_CHECKING, Any, BinaryIO

from typing_extensions import Buffer

from hive_mind.mcp.messages import MESSAGE_BYTES_MAX, Refused, message_of, too_long

if TYPE_CHECKING:
    from mcp.server import MCPServer

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
        self.answers = _WholeLines(heard)
        self._stop_reader, self._stop_writer = os.pipe()
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
    """Writes line by line, so that two who write never meet within one."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._begun, self._alone = descriptor, bytearray(), threading.Lock()

    def writable(self) -> bool:
        return True

    def write(self, buffer: Buffer, /) -> int:
        """See `BufferedIOBase`. Raises `OSError`."""
        body = bytes(buffer)
        with self._alone:
            lines, end, rest = (bytes(self._begun) + body).rpartition(b"\n")
            self._begun = bytearray(rest)
            left = memoryview(lines + end)
            while left:
                left = left[os.write(self._descriptor, left) :]
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
