"""`asyncio.create_subprocess_exec` and `anyio.open_process` for programs of ours, which begin as copies (`forked`)."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

import anyio

from tests.servers.forked import Forked

_AS_IT_WAS, _OPENED = asyncio.create_subprocess_exec, anyio.open_process
_LIMIT_BYTES = 1 << 16


class Copy:
    """Used like an `asyncio.subprocess.Process`."""

    stdin: asyncio.StreamWriter | None = None
    stdout: asyncio.StreamReader | None = None
    stderr: asyncio.StreamReader | None = None

    def __init__(self, running: Forked) -> None:
        self._running, self.pid = running, running.pid
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[int] = self._loop.create_future()
        self._loop.add_reader(running.status, self._note_end)

    @property
    def returncode(self) -> int | None:
        return self._running.returncode

    async def wait(self) -> int:
        return await asyncio.shield(self._ended)

    def send_signal(self, number: int) -> None:
        if self.returncode is not None:
            raise ProcessLookupError
        os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _note_end(self) -> None:
        self._loop.remove_reader(self._running.status)
        self._ended.set_result(self._running.wait())


async def create_subprocess_exec(*command: str, limit: int = _LIMIT_BYTES, **how: Any) -> Any:
    """A copy, where it is a module of ours that is to run."""
    if not _is_ours(command):
        return await _AS_IT_WAS(*command, limit=limit, **how)
    running = Forked(command, bufsize=0, **how)
    copy = Copy(running)
    if running.stdin:
        there, protocol = await asyncio.get_running_loop().connect_write_pipe(lambda: _protocol(limit)[0], running.stdin)
        copy.stdin = asyncio.StreamWriter(there, protocol, None, asyncio.get_running_loop())
    copy.stdout, copy.stderr = [await _reader(stream, limit) for stream in (running.stdout, running.stderr)]
    return copy


def _is_ours(command: Sequence[str]) -> bool:
    return command[0] == sys.executable and command[1] == "-m" and command[2].partition(".")[0] in ("hive_mind", "tests")


async def _reader(stream: IO[bytes] | None, limit: int) -> asyncio.StreamReader | None:
    if stream is None:
        return None
    protocol, reader = _protocol(limit)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, stream)
    return reader


def _protocol(limit: int) -> tuple[asyncio.StreamReaderProtocol, asyncio.StreamReader]:
    reader = asyncio.StreamReader(limit)
    return asyncio.StreamReaderProtocol(reader), reader


def install() -> None:
    asyncio.create_subprocess_exec = create_subprocess_exec
    anyio.open_process = open_process


_users = list[object]()


@contextmanager
def installed() -> Iterator[None]:
    """Tasks side by side may need it at the same time: the last to leave puts back what was there before the first."""
    _users.append(user := object())
    install()
    try:
        yield
    finally:
        _users.remove(user)
        if not _users:
            asyncio.create_subprocess_exec, anyio.open_process = _AS_IT_WAS, _OPENED


class _Writing:
    def __init__(self, stream: asyncio.StreamWriter) -> None:
        self._stream = stream

    async def send(self, data: bytes) -> None:
        self._stream.write(data)
        await self._stream.drain()

    async def aclose(self) -> None:
        self._stream.close()


class _Reading:
    def __init__(self, stream: asyncio.StreamReader) -> None:
        self._stream = stream

    async def receive(self) -> bytes:
        if data := await self._stream.read(_LIMIT_BYTES):
            return data
        raise anyio.EndOfStream

    async def aclose(self) -> None:
        """Its end is that of the program."""


async def open_process(command: list[str], *, stderr: Any, **how: Any) -> Any:
    """That of anyio, for a client of MCP."""
    if not _is_ours(command):
        return await _OPENED(command, stderr=stderr, **how)
    copy = await create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=stderr, **how)
    copy.stdin, copy.stdout = _Writing(copy.stdin), _Reading(copy.stdout)
    return copy
