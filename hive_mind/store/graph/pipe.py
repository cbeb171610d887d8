"""A process that is asked and may be gone at any moment: `Child` on our side, `Parent` on its.

Messages are MessagePack behind their length, over its standard input and output.
"""

import asyncio
import os
import sys
import threading
from asyncio.streams import StreamReader, StreamWriter
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, cast

import msgspec

if sys.platform != "win32":
    import resource

_LENGTH_BYTES = 4
_LAST_WORDS_BYTES = 4000


class PipeClosed(Exception):
    """It has gone instead of answering: `code` is 0 where nobody asked any more, negative for a signal."""

    def __init__(self, code: int, last_words: str) -> None:
        super().__init__(f"code {code}" + (f": {last_words}" if last_words else ""))
        self.code = code


def code_of(module: str) -> str:
    """Code for `python -c` to run a module's `main`: with -P, no file of the current folder takes the place of a package."""
    return f"import sys; sys.path.append({str(Path(__file__).parents[3])!r}); from {module} import main; main()"


def framed(message: object) -> bytes:
    body = msgspec.msgpack.encode(message)
    return len(body).to_bytes(_LENGTH_BYTES, "big") + body


class Child:
    """A process that was started to be asked, until `end`."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self._stdin, self._stdout = cast(StreamWriter, process.stdin), cast(StreamReader, process.stdout)

    @classmethod
    async def started(cls, code: str, *arguments: str) -> "Child":
        """Raises `OSError`. Its session is its own: Ctrl-C is for the parent, which ends it."""
        command = (sys.executable, "-P", "-c", code, *arguments)
        return cls(await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True))

    async def send(self, *message: object) -> None:
        """Where it is gone, `receive` says so."""
        with suppress(ConnectionError):
            self._stdin.write(framed(message))
            await self._stdin.drain()

    async def receive(self, patience_s: float) -> list[Any]:
        """Its next message. Raises `PipeClosed` or `TimeoutError`."""
        try:
            async with asyncio.timeout(patience_s):
                length = int.from_bytes(await self._stdout.readexactly(_LENGTH_BYTES), "big")
                message: list[Any] = msgspec.msgpack.decode(await self._stdout.readexactly(length))
                return message
        except asyncio.IncompleteReadError:
            stderr = cast(StreamReader, self.process.stderr)
            last_words = (await stderr.read(_LAST_WORDS_BYTES)).decode(errors="replace").strip().splitlines()
            raise PipeClosed(await self.process.wait(), last_words[-1] if last_words else "") from None

    async def end(self) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()
        # To the end of its pipes too, or they would live until the garbage collector finds them.
        await self.process.communicate()


class Parent:
    """The process that started this one. When it has gone, this process ends at once."""

    def __init__(self) -> None:
        os.umask(0o077)
        if sys.platform != "win32":
            # A crash must not leave the memory's content in a core file.
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        # Kuzu may print: answers go where nothing else is written.
        self._out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        self._asked: SimpleQueue[bytes] = SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def send(self, *message: object) -> None:
        self._out.write(framed(message))
        self._out.flush()

    def question(self, patience_s: float | None = None) -> list[Any] | None:
        """The next message from there; None where none comes within `patience_s`."""
        try:
            message: list[Any] = msgspec.msgpack.decode(self._asked.get(timeout=patience_s))
        except Empty:
            return None
        return message

    def _listen(self) -> None:
        while head := _read(_LENGTH_BYTES):
            self._asked.put(_read(int.from_bytes(head, "big")))
        os._exit(0)


def _read(count: int) -> bytes:
    """Read `count` bytes, fewer at the end. Without a buffer: its lock would abort Python when it ends."""
    body = b""
    while len(body) < count and (part := os.read(sys.stdin.fileno(), count - len(body))):
        body += part
    return body
