"""Lines that a person types, or that come through a pipe, for a coroutine that may stop waiting at any moment.

Python's own reading can't be given up: a process would not end before somebody pressed Enter.
"""

import asyncio
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from io import UnsupportedOperation
from typing import TextIO

from hive_mind.cli.output import printable

_BLOCK_BYTES = 65_536


class Keyboard:
    """Standard input, line by line. Nothing else may read it, and who has given up waiting must not ask again."""

    def __init__(self) -> None:
        self._lines = _lines(sys.stdin)

    async def ask(self, prompt: str) -> str:
        """Show a prompt on standard error and give the next line. Raises `EOFError` at the end."""
        sys.stderr.write(printable(prompt))
        sys.stderr.flush()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[str | None] = loop.create_future()

        def give(line: str | None) -> None:
            if not answer.done():
                answer.set_result(line)

        def wait() -> None:
            line = next(self._lines, None)
            # Whoever asked may have given up, and its loop be closed.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(give, line)

        # Ends with the process, whether a line came or not.
        threading.Thread(target=wait, daemon=True).start()
        line = await answer
        if line is None:
            raise EOFError
        return line


def _lines(stdin: TextIO) -> Iterator[str]:
    """Straight from the system: a buffer of Python's is locked while it waits, and a process could not end."""
    rest = b""
    while block := _block(stdin):
        *whole, rest = (rest + block).split(b"\n")
        yield from (line.decode("utf-8", "replace") for line in whole)
    if rest:
        yield rest.decode("utf-8", "replace")


def _block(stdin: TextIO) -> bytes:
    """What came; b"" at the end, and where somebody has closed it meanwhile."""
    # A closed file has no number.
    with suppress(ValueError):
        try:
            number = stdin.fileno()
        except UnsupportedOperation:
            # Not a file of the system, as in tests.
            return stdin.buffer.read(_BLOCK_BYTES)
        with suppress(OSError):
            return os.read(number, _BLOCK_BYTES)
    return b""
