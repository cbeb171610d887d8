"""Agents as processes of their own, seen from the program that starts them: requests go in and replies come out."""

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from hive_mind.errors import BackendUnavailable
from hive_mind.runtime.replies import AgentFailed
from hive_mind.runtime.serving import LINE_BYTES_MAX, read_line

Reply = dict[str, Any]


class AgentProcess:
    """One `hive-mind agent run --serve`. Its output goes to `log`, or nowhere."""

    def __init__(self, name: str, arguments: Sequence[str], log: Path | None = None) -> None:
        self.name, self._arguments, self._log = name, arguments, log
        self._process: Process | None = None
        self._waiting: dict[int, asyncio.Future[Reply]] = {}
        self._reading: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[Reply]
        self._next = 0

    @property
    def pid(self) -> int:
        assert self._process is not None  # noqa: S101 - started
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        """Start it; `ready` says when it is of use."""
        self._ready = asyncio.get_running_loop().create_future()
        stderr = self._log.open("ab") if self._log else DEVNULL
        try:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", "hive_mind", "agent", "run", "--serve", "--name", self.name, *self._arguments),
                stdin=PIPE,
                stdout=PIPE,
                stderr=stderr,
                limit=64 * LINE_BYTES_MAX,
            )
        finally:
            if not isinstance(stderr, int):
                stderr.close()
        self._reading = asyncio.create_task(self._read(self._process), name=f"replies of {self.name}")

    async def ready(self, timeout_s: float = 60.0) -> Reply:
        """Return when it is in its hive. Raises `BackendUnavailable` where it ended instead."""
        return await asyncio.wait_for(asyncio.shield(self._ready), timeout_s)

    async def do(self, what: str, *, timeout_s: float = 60.0, **fields: object) -> Any:
        """Put a request; what it answers. Raises `AgentFailed`, `BackendUnavailable` where it has ended, or `TimeoutError`."""
        if self._process is None or self._process.stdin is None or not self.is_running:
            raise self._gone()
        self._next += 1
        number = self._next
        waiting = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            self._process.stdin.write(msgspec.json.encode({"id": number, "do": what, **fields}) + b"\n")
            await self._process.stdin.drain()
            reply = await asyncio.wait_for(waiting, timeout_s)
        except ConnectionError:
            raise self._gone() from None
        finally:
            del self._waiting[number]
        if "error" in reply:
            raise AgentFailed(self.name, reply["kind"], reply["error"])
        return reply["ok"]

    async def stop(self, timeout_s: float = 20.0) -> int:
        """Let it finish and end; after that time it is killed. Its exit code."""
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.terminate()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), timeout_s)
        return await self.kill()

    async def kill(self) -> int:
        """End it as if the power went. Its exit code."""
        process = self._process
        if process is None:
            return 0
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
        code = await process.wait()
        if self._reading is not None:
            await asyncio.wait([self._reading])
        if process.stdin is not None:
            process.stdin.close()
        return code

    async def _read(self, process: Process) -> None:
        assert process.stdout is not None  # noqa: S101 - asked for above
        while line := await read_line(process.stdout):
            self._take(msgspec.json.decode(line))
        await process.wait()
        for waiting in (self._ready, *self._waiting.values()):
            if not waiting.done():
                waiting.set_exception(self._gone())
        # Nobody need have waited for it.
        _ = self._ready.exception()

    def _take(self, reply: Reply) -> None:
        if reply.get("event") == "ready":
            if not self._ready.done():
                self._ready.set_result(reply)
            return
        waiting = self._waiting.get(reply["id"])
        if waiting is not None and not waiting.done():
            waiting.set_result(reply)

    def _gone(self) -> BackendUnavailable:
        code = self._process.returncode if self._process else None
        return BackendUnavailable(self.name, f"the process is not running (exit code {code})")
