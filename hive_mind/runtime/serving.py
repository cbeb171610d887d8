"""An agent as a service for programs: one JSON object per line in, one per line out.

    {"id": 1, "do": "store", "content": "The pump is red."}   →   {"id": 1, "ok": {"fact_id": "…", "sharing": "held"}}
    {"id": 2, "do": "dance"}                                  →   {"id": 2, "error": "…", "kind": "InvalidInput"}

Requests are dealt with side by side; questions one after the other, so that what is said of each is about that one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from hive_mind.errors import BackendThrottled, BackendTimeout, HiveError, InvalidInput
from hive_mind.runtime.calls import AgentCalls, Reply
from hive_mind.runtime.members.member import RunningMember
from hive_mind.runtime.requests import Call, read_call, request

LINE_BYTES_MAX = 1 << 20
_AT_ONCE_MAX = 64
LEAVE_S = 60.0
# Grace period for requests under way when a process ends.
FINISH_S = 10.0

Write = Callable[[bytes], Awaitable[None]]


class MemberCalls(AgentCalls):
    """Calls to the one agent of a process, which speaks for its node too."""

    @request(gives=dict[str, Any])
    async def _do_leave(self, call: Call) -> Any:
        del call
        if not await self._member.leave(LEAVE_S):
            raise BackendTimeout("hive", f"not everything could be handed over in {LEAVE_S:g} s; ask again")
        return {}

    @request(gives=dict[str, Any])
    async def _do_stop(self, call: Call) -> Any:
        del call
        return {}


class Service:
    """Serves one member until it is told to stop, or the one who asks goes away."""

    def __init__(self, member: RunningMember, write: Write) -> None:
        self._calls, self._write = MemberCalls(member.agent, member, is_kept=member.is_kept), write
        self._room = asyncio.Semaphore(_AT_ONCE_MAX)
        self._under_way: set[asyncio.Task[None]] = set()
        self.stopped = asyncio.Event()
        self.failure: BaseException | None = None

    async def serve(self, reader: asyncio.StreamReader) -> None:
        """Take line by line, to the end. `finish` afterwards."""
        while not self.stopped.is_set():
            line = await read_line(reader)
            if line is None:
                await self._send({"id": 0} | refusal(InvalidInput(f"a line has at most {LINE_BYTES_MAX} bytes")))
            elif not line:
                break
            elif line.strip():
                await self._room.acquire()
                task = asyncio.create_task(self._answer(line))
                self._under_way.add(task)
                task.add_done_callback(self._done)
        self.stopped.set()

    async def finish(self, timeout_s: float) -> None:
        """Answer what is under way, at the latest by then."""
        if self._under_way:
            _, late = await asyncio.wait(self._under_way, timeout=timeout_s)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)

    async def _answer(self, line: bytes) -> None:
        try:
            fields = msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            await self._send({"id": 0} | refusal(InvalidInput(f"no request: {error}")))
            return
        try:
            reply: Reply = {"id": _id_in(fields), "ok": await self._calls.do(read_call(self._calls.register, fields))}
        except HiveError as error:
            reply = {"id": _id_in(fields)} | refusal(error)
        await self._send(reply)
        if fields.get("do") == "stop" and "ok" in reply:
            self.stopped.set()

    async def _send(self, reply: Reply) -> None:
        await self._write(msgspec.json.encode(reply) + b"\n")

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._under_way.discard(task)
        self._room.release()
        if not task.cancelled() and (error := task.exception()) is not None:
            # A defect, or nobody reads any more: either way this is the end.
            self.failure = error
            self.stopped.set()


async def read_line(reader: asyncio.StreamReader) -> bytes | None:
    """The next line; b"" at the end, None for one that was too long."""
    is_too_long = False
    while True:
        try:
            line = await reader.readuntil(b"\n")
        except asyncio.LimitOverrunError as error:
            await reader.readexactly(error.consumed)
            is_too_long = True
        except asyncio.IncompleteReadError as error:
            return error.partial
        else:
            return None if is_too_long else line


def _id_in(fields: Mapping[str, object]) -> int | str:
    """The id of a request, also of a malformed one."""
    id = fields.get("id")
    return id if isinstance(id, int | str) else 0


def refusal(error: HiveError) -> Reply:
    """An error as an answer."""
    reply = {"error": str(error), "kind": type(error).__name__}
    return reply | ({"retry_after_s": error.retry_after_s} if isinstance(error, BackendThrottled) else {})
