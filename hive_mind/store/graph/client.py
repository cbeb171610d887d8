"""The graph of an agent, for programs: questions go to a process of its own, which is started at the first one.

That process reads the record beside it, so it also works while another process holds the agent. It may abort or compute for ever
without harm to ours: it is killed at a question's deadline, and started again at the next question.
"""

import asyncio
import logging
import shutil
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from hive_mind import errors
from hive_mind.errors import BackendError, BackendTimeout, BackendUnavailable
from hive_mind.store.graph import wire
from hive_mind.store.graph.seal import Place
from hive_mind.store.graph.values import Neighbourhood, Rows, Thing
from hive_mind.store.graph.values import Path as Way

_log = logging.getLogger(__name__)

Report = Callable[[int, int, str], None]
Value = TypeVar("Value")

# A bulk copy of ten million edges says nothing for less than that.
_MAKING_SILENCE_S = 600.0
# Our own questions take milliseconds; and a query that reached its deadline has this long to say so.
_ANSWER_S, _GRACE_S = 30.0, 2.0
_LAST_WORDS_BYTES = 4000
# What a graph may take while it is made: the least, beside some multiple of its record.
_ROOM_BYTES = 64 << 20
# Ways of more edges join nearly everything, and take seconds.
LENGTH_MAX = 6


_CHILD = f"import sys; sys.path.append({str(Path(__file__).parents[3])!r}); from hive_mind.store.graph.server import main; main()"


class _Ended(Exception):
    """The process has gone instead of answering."""

    is_begun = False
    """while it worked on the question"""
    was_idle = False
    """before it saw the question"""


class Graph:
    """The graph beside a record. For one event loop, whose tasks are answered one after another.

    Raises `InvalidInput` for what can't be asked, and `BackendError` where there is no answer. `report` is told how far the graph
    is while it is made.
    """

    def __init__(self, record: Path, *, report: Report | None = None, idle_s: float = 60.0) -> None:
        self._record, self._idle_s = record.resolve(), idle_s
        self._report: Report = report or _no_report
        self._process: Process | None = None
        self._turn = asyncio.Lock()

    async def neighbourhood(self, of: str, depth: int = 1, limit: int = 100) -> Neighbourhood:
        """What lies within `depth` edges of a fact, an episode or an entity, given by id or name."""
        return await self._ask(Neighbourhood, "neighbourhood", given=of, depth=depth, limit=limit)

    async def path(self, start: str, end: str, max_length: int = 4, limit: int = 3) -> tuple[Way, ...]:
        """The shortest ways between two things; none where all have more than `max_length` edges (up to 6)."""
        if not 1 <= max_length <= LENGTH_MAX:
            raise errors.InvalidInput(f"a path of {max_length} edges can't be looked for: give 1 to {LENGTH_MAX}")
        return await self._ask(tuple[Way, ...], "paths", from_given=start, to_given=end, longest=max_length, limit=limit)

    async def history(self, fact_id: str, limit: int = 1000) -> tuple[Thing, ...]:
        """What a fact replaced, the fact, and what replaced it: the oldest first."""
        return await self._ask(tuple[Thing, ...], "history", given=fact_id, limit=limit)

    async def sources_of(self, fact_id: str, limit: int = 1000) -> tuple[Thing, ...]:
        """What a fact derives from."""
        return await self._ask(tuple[Thing, ...], "sources_of", given=fact_id, limit=limit)

    async def derived_from(self, source: str, limit: int = 1000) -> tuple[Thing, ...]:
        """What derives from an episode, or rests on a source of this name."""
        return await self._ask(tuple[Thing, ...], "derived_from", source=source, limit=limit)

    async def query(self, cypher: str, limit: int = 1000, timeout_s: float = 10.0) -> Rows:
        """The answer to a query in Cypher that only reads. What is too much is cut, and says so."""
        return await self._ask(Rows, "query", deadline_s=timeout_s + _GRACE_S, cypher=cypher, limit=limit, timeout_s=timeout_s)

    async def close(self) -> None:
        """End the process. Closing twice is fine; another question starts it again."""
        async with self._turn:
            await self._end()

    async def __aenter__(self) -> "Graph":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _ask(self, type_: type[Value], name: str, /, deadline_s: float = _ANSWER_S, **arguments: Any) -> Value:
        async with self._turn:
            try:
                body = await self._answered(name, arguments, deadline_s)
            except BaseException:
                # A process that still works on it would give its answer to the next question.
                await self._end()
                raise
        if isinstance(body, wire.Refused):
            raise _error(body)
        return msgspec.msgpack.decode(body.value, type=type_)

    async def _answered(self, name: str, arguments: dict[str, Any], timeout_s: float) -> wire.Answer | wire.Refused:
        try:
            return await self._exchange(wire.Question(name, arguments), timeout_s)
        except _Ended as ended:
            if name == "query" and ended.is_begun:
                raise BackendError("graph", f"this query ended the graph's process ({ended}): ask in another way") from None
            why = "" if ended.was_idle else f"its process ended ({ended})"
        await self._end()
        try:
            return await self._exchange(wire.Question(name, arguments, anew=why), timeout_s)
        except _Ended as ended:
            await self._end()
            told = f"its process ended twice ({ended}); the memory itself is not touched: {_advice(self._record)}"
            raise BackendUnavailable("graph", told) from None

    async def _exchange(self, question: wire.Question, timeout_s: float) -> wire.Answer | wire.Refused:
        process = await self._sent(question)
        patience_s = _MAKING_SILENCE_S
        while True:
            try:
                reply = await self._next(process, patience_s)
            except _Ended as ended:
                ended.is_begun = patience_s == timeout_s
                raise
            match reply:
                case wire.Progress(done, total, what):
                    self._report(done, total, what)
                case wire.Notice(text):
                    _log.info("%s", text)
                case wire.Begun():
                    patience_s = timeout_s
                case wire.Answer() | wire.Refused() as last:
                    return last

    async def _sent(self, question: wire.Question) -> Process:
        """The process that has the question; another one where the last had nothing to do and has gone."""
        process = self._process
        if process is None or process.returncode is not None:
            await self._end()
            process = self._process = await self._started()
        assert process.stdin is not None  # noqa: S101 - asked for
        process.stdin.write(wire.framed(question))
        with suppress(ConnectionError):
            await process.stdin.drain()
        return process

    async def _started(self) -> Process:
        # -P and not -m: a file of the current folder must not take the place of a package.
        command = (sys.executable, "-P", "-c", _CHILD, str(self._record), str(self._idle_s))
        # A session of its own: Ctrl-C is for us, who end it.
        return await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True)

    async def _next(self, process: Process, patience_s: float) -> wire.Reply:
        assert process.stdout is not None  # noqa: S101 - asked for
        assert process.stderr is not None  # noqa: S101 - asked for
        try:
            async with asyncio.timeout(patience_s):
                head = await process.stdout.readexactly(wire.LENGTH_BYTES)
                return wire.reply_in(await process.stdout.readexactly(int.from_bytes(head, "big")))
        except TimeoutError:
            raise BackendTimeout("graph", "no answer inside the deadline: ask for less, or with a longer timeout") from None
        except asyncio.IncompleteReadError:
            said = (await process.stderr.read(_LAST_WORDS_BYTES)).decode(errors="replace").strip().splitlines()
            code = await process.wait()
            ended = _Ended(f"code {code}" + (f": {said[-1]}" if said else ""))
            ended.was_idle = not code
            raise ended from None

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()
        Place(self._record.parent).give_room_back()


def _error(refused: wire.Refused) -> errors.HiveError:
    kind: Any = getattr(errors, refused.error)
    error: errors.HiveError = kind("graph", refused.message) if issubclass(kind, BackendError) else kind(refused.message)
    return error


def _advice(record: Path) -> str:
    """Kuzu aborts on a full disk, and says other things."""
    free = shutil.disk_usage(record.parent).free
    if free < _ROOM_BYTES + 3 * record.stat().st_size:
        return f"its disk has {free >> 20} MB of room left, so make some, then ask again"
    return f"delete {record.parent}/graph.*"


def _no_report(done: int, total: int, what: str) -> None:
    del done, total, what
