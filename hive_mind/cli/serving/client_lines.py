"""What the one client of a server writes to standard input: it ends when the client ends it, or reads no more, or we want it to.

The library of the protocol waits for a line in a thread that nothing interrupts. No signal would end the server, and no client
that reads no more but keeps the other direction open. So it reads a pipe of ours.
"""

import os
import select
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import BinaryIO

_READ_BYTES = 1 << 16


class ClientLines:
    """`served` gives what comes from `wire`, until `end`, or until nobody reads from the other end of `heard`: `is_unheard`."""

    def __init__(self, wire: int, heard: int) -> None:
        self.is_unheard = False
        self._wire, self._heard = wire, heard
        self._told, self._tell = os.pipe()
        self._end_of, self._into = os.pipe()
        self.served = TextIOWrapper(os.fdopen(self._end_of, "rb"))
        self._thread = threading.Thread(target=self._pass_on, name="hive-client", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """The server hears that its client is gone."""
        os.write(self._tell, b".")

    def close(self) -> None:
        """Let go of all of it."""
        self.end()
        # It may be writing what nobody reads any more.
        self.served.close()
        self._thread.join()
        for descriptor in (self._wire, self._heard, self._told, self._tell):
            os.close(descriptor)

    def _pass_on(self) -> None:
        with suppress(OSError), os.fdopen(self._into, "wb", buffering=0) as into:
            watch = select.poll()
            watch.register(self._wire, select.POLLIN)
            watch.register(self._told, select.POLLIN)
            # It tells in any case that nobody reads.
            watch.register(self._heard, 0)
            while (ready := {descriptor for descriptor, _ in watch.poll()}) == {self._wire}:
                if not (some := os.read(self._wire, _READ_BYTES)):
                    return
                _write_all(into, some)
            self.is_unheard = self._heard in ready


def _write_all(into: BinaryIO, some: bytes) -> None:
    rest = memoryview(some)
    while rest:
        rest = rest[into.write(rest) :]


@contextmanager
def client_lines() -> Iterator[ClientLines]:
    """While it lasts `sys.stdin` is what the client writes, and nothing else reads from the client."""
    own, before = sys.stdin.fileno(), sys.stdin
    lines = ClientLines(wire := os.dup(own), os.dup(sys.stdout.fileno()))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, own)
    os.close(nothing)
    sys.stdin = lines.served
    try:
        yield lines
    finally:
        sys.stdin = before
        os.dup2(wire, own)
        lines.close()
