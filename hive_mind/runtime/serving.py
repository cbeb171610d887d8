"""An agent as a service for programs: one JSON object per line in, one per line out.

    {"id": 1, "do": "store", "content": "The pump is red."}   →   {"id": 1, "ok": {"fact_id": "…", "sharing": "held"}}
    {"id": 2, "do": "dance"}                                  →   {"id": 2, "error": "…", "kind": "InvalidInput"}

Requests are dealt with side by side; questions one after the other, so that what is said of each is about that one.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from hive_mind.bus.base import EVERYONE
from hive_mind.errors import BackendTimeout, HiveError, InvalidInput
from hive_mind.hive.effects import Now
from hive_mind.memory.distributed import DistributedCognitiveMemory
from hive_mind.model.content import Content
from hive_mind.model.query import Hit, Method, Query
from hive_mind.runtime.member import RunningMember
from hive_mind.runtime.node import system_clock

LINE_BYTES_MAX = 1 << 20
_AT_ONCE_MAX = 64
_LEAVE_S = 60.0

Reply = dict[str, Any]
Write = Callable[[bytes], Awaitable[None]]


class _Call(msgspec.Struct, forbid_unknown_fields=True):
    """A request, with what any of them may need."""

    do: str
    id: int | str = 0
    text: str = ""
    content: str = ""
    concept: str = ""
    confidence: float = 0.8
    source: str = "user"
    query: str = ""
    method: Method = "hybrid"
    limit: int = 10
    question: str = ""
    fact_id: str = ""
    local: bool = False
    to: str = ""
    kind: str = "note"


class Service:
    """Serves one member until it is told to stop, or the one who asks goes away."""

    def __init__(self, member: RunningMember, write: Write) -> None:
        self._member, self._write = member, write
        self._asking = asyncio.Lock()
        self._room = asyncio.Semaphore(_AT_ONCE_MAX)
        self._under_way: set[asyncio.Task[None]] = set()
        self.stopped = asyncio.Event()
        self.failure: BaseException | None = None

    async def serve(self, reader: asyncio.StreamReader) -> None:
        """Take line by line, to the end. `finish` afterwards."""
        while not self.stopped.is_set():
            line = await read_line(reader)
            if line is None:
                await self._send({"id": 0} | _refusal(InvalidInput(f"a line has at most {LINE_BYTES_MAX} bytes")))
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
            call = msgspec.json.decode(line, type=_Call)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            await self._send({"id": _id_of(line)} | _refusal(InvalidInput(f"no request: {error}")))
            return
        try:
            reply: Reply = {"id": call.id, "ok": await self._do(call)}
        except HiveError as error:
            reply = {"id": call.id} | _refusal(error)
        await self._send(reply)
        if call.do == "stop":
            self.stopped.set()

    async def _do(self, call: _Call) -> Any:
        doing = getattr(self, f"_do_{call.do}", None) if call.do.isidentifier() else None
        if doing is None:
            known = ", ".join(sorted(name.removeprefix("_do_") for name in dir(self) if name.startswith("_do_")))
            raise InvalidInput(f"there is no {call.do[:40]!r}; known: {known}")
        return await doing(call)

    async def _do_learn(self, call: _Call) -> Any:
        learned = await self._member.agent.learn_from_content(Content(call.text, call.source))
        return {"facts": [fact.id for fact in learned.facts], "added": learned.added, "confirmed": learned.confirmed}

    async def _do_store(self, call: _Call) -> Any:
        fact = await self._memory.store_fact(call.concept, call.content, call.confidence, source=call.source)
        return {"fact_id": fact.id, "sharing": fact.sharing.value}

    async def _do_retract(self, call: _Call) -> Any:
        fact = await self._memory.retract_fact(call.fact_id)
        return {"fact_id": fact.id, "sharing": fact.sharing.value}

    async def _do_search(self, call: _Call) -> Any:
        async with self._asking:
            hits = await self._memory.search_facts(Query(call.query, call.limit, call.method))
            return {"hits": [self._hit(hit) for hit in hits], **self._reached()}

    async def _do_ask(self, call: _Call) -> Any:
        async with self._asking:
            answer = await self._member.agent.answer_question(call.question, call.limit)
            sources = [self._hit(hit) for hit in answer.sources]
            return {"answer": answer.text, "is_known": answer.is_known, "sources": sources, **self._reached()}

    async def _do_facts(self, call: _Call) -> Any:
        async with self._asking:
            listed = self._memory.local_get_all_facts if call.local else self._memory.get_all_facts
            facts = await listed(call.limit if call.limit > 0 else None)
            held = [{"fact_id": fact.id, "content": fact.content, "sharing": fact.sharing.value} for fact in facts]
            return {"facts": held, "completeness": self._memory.completeness}

    async def _do_tell(self, call: _Call) -> Any:
        to = EVERYONE if call.to == "*" else (call.to,)
        return {"told": list(await self._member.runner.tell(to, call.kind, call.text.encode()))}

    async def _do_told(self, call: _Call) -> Any:
        del call
        return msgspec.to_builtins(self._member.told.entries())

    async def _do_members(self, call: _Call) -> Any:
        del call
        now: Now = system_clock()
        return msgspec.to_builtins(self._member.member.membership.view(now))

    async def _do_stats(self, call: _Call) -> Any:
        del call
        member, bus = self._member, self._member.runner.health
        node = member.member.node
        held = await self._memory.get_statistics()
        return {
            "facts": held.facts,
            "epoch": node.topology.epoch,
            "outbox": len(node.outbox),
            "unconfirmed": member.telling.unconfirmed,
            "is_busy": member.is_busy,
            "silent": list(member.silent()),
            "figures": member.runner.figures._asdict(),
            "bus": msgspec.to_builtins(bus),
        }

    async def _do_leave(self, call: _Call) -> Any:
        del call
        if not await self._member.leave(_LEAVE_S):
            raise BackendTimeout("hive", f"not everything could be handed over in {_LEAVE_S:g} s; ask again")
        return {}

    async def _do_stop(self, call: _Call) -> Any:
        del call
        return {}

    @property
    def _memory(self) -> DistributedCognitiveMemory:
        return self._member.memory

    def _hit(self, hit: Hit) -> Reply:
        gathered = self._memory.last_gathered
        return {
            "fact_id": hit.fact.id,
            "content": hit.fact.content,
            "score": hit.score,
            "sources": list(hit.fact.sources),
            "from": gathered.holders.get(hit.fact.id, "") if gathered else "",
        }

    def _reached(self) -> Reply:
        """How much of the hive the last question was put to."""
        gathered = self._memory.last_gathered
        completeness = self._memory.completeness
        if gathered is None:
            return {"completeness": completeness, "asked": [], "silent": []}
        return {"completeness": completeness, "asked": list(gathered.asked), "silent": list(gathered.silent)}

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


def _id_of(line: bytes) -> int | str:
    """The id of a request that is none, as far as it can be made out."""

    class Named(msgspec.Struct):
        id: int | str = 0

    try:
        return msgspec.json.decode(line, type=Named).id
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return 0


def _refusal(error: HiveError) -> Reply:
    return {"error": str(error), "kind": type(error).__name__}
