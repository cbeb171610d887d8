"""The parent's side of `reader`: started over a copy, asked for pages, killed when it does not answer.

Kuzu can't say beforehand how much memory a file takes, so it is started with little and again with more.
"""

import asyncio
import sys
from asyncio.streams import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from hive_mind.errors import BackendError

_READER = Path(__file__).with_name("reader.py")
# A cap, not a reservation: Kuzu takes it as needed.
POOLS_MB = (64, 256, 1024, 4096)
# Of a log of 100 MB, or a page of long texts on a slow disk.
_SILENCE_MAX_S = 120.0
_END_MAX_S = 5.0

Rows = list[list[Any]]


class Table(NamedTuple):
    """As the reader found it. `rows` counts places, also of rows that were deleted."""

    name: str
    kind: str
    columns: list[str]
    rows: int


class Failed(Exception):
    """It could not be read: the message says why. `is_over`: the process is gone. `is_out_of_pool`: more memory may do."""

    def __init__(self, why: str, *, is_over: bool) -> None:
        super().__init__(why)
        self.is_over, self.is_out_of_pool = is_over, "Buffer manager exception" in why


class Reader:
    """A process over a copy. Made by `opened`."""

    def __init__(self, path: Path, pool: int, process: asyncio.subprocess.Process) -> None:
        self.path, self.pool = path, pool
        self._process = process
        self._stdin, self._stdout = cast(StreamWriter, process.stdin), cast(StreamReader, process.stdout)
        self.tables: dict[str, Table] = {}

    async def ask(self, wanted: Mapping[str, object]) -> AsyncIterator[Rows]:
        """What it answers, some rows at a time. Raises `Failed`, perhaps after some."""
        try:
            self._stdin.write(msgspec.json.encode(wanted) + b"\n")
            await self._stdin.drain()
        except OSError:
            pass  # Why it is gone is said below.
        while (frame := await self.frame())[0] == "rows":
            yield frame[1]

    async def frame(self) -> list[Any]:
        """The next one. Raises `Failed`."""
        try:
            frame: list[Any] = await asyncio.wait_for(self._frame(), _SILENCE_MAX_S)
        except TimeoutError:
            raise Failed(f"no answer within {_SILENCE_MAX_S:.0f} s", is_over=True) from None
        except asyncio.IncompleteReadError:
            code = await self._process.wait()
            raise Failed(f"reading it ended with signal {-code}" if code < 0 else f"exit code {code}", is_over=True) from None
        if frame[0] == "error":
            raise Failed(frame[1], is_over=not self.tables)
        return frame

    async def close(self) -> None:
        """End the process, which it does by itself when nobody asks any more."""
        self._stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), _END_MAX_S)
        except TimeoutError:
            self._process.kill()
        # To the end of its pipes too, or they would live until the garbage collector finds them.
        await self._process.communicate()

    async def _frame(self) -> list[Any]:
        length = int.from_bytes(await self._stdout.readexactly(4), "big")
        frame: list[Any] = msgspec.msgpack.decode(await self._stdout.readexactly(length))
        return frame


async def opened(path: Path, pool: int = 0) -> Reader:
    """A reader of the copy at `path`, with the first pool from `pool` on that is large enough. Raises `Failed`."""
    while True:
        try:
            return await _opened_with(path, pool)
        except Failed as failed:
            pool += 1
            if not failed.is_out_of_pool or pool == len(POOLS_MB):
                raise


async def _opened_with(path: Path, pool: int) -> Reader:
    # -P: the folder of the script must not become importable.
    command = [sys.executable, "-P", str(_READER), str(path), str(POOLS_MB[pool])]
    pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=null)
    except OSError as error:
        raise BackendError("kuzu", f"{sys.executable or 'python'} can't be started to read {path}: {error}") from error
    reader = Reader(path, pool, process)
    try:
        reader.tables = {table[0]: Table(*table) for table in (await reader.frame())[1]}
    except BaseException:
        await reader.close()
        raise
    return reader
