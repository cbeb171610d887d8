"""The graph of an agent, for programs: questions go to a process of its own, which is started at the first one.

That process reads the record beside it, so it also works while another process holds the agent. It may abort or compute for ever
without harm to ours: it is killed at a question's deadline, and started again at the next question.
"""

import asyncio
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from hive_mind import errors
from hive_mind.errors import BackendError, BackendTimeout, BackendUnavailable
from hive_mind.store._kuzu.pipe import Child, Ended, code_of
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
# What a graph may take while it is made: the least, beside some multiple of its record.
_ROOM_BYTES = 64 << 20
# Ways of more edges join nearly everything, and take seconds.
LENGTH_MAX = 6

_CHILD = code_of("hive_mind.store.graph.server")


class Graph:
    """The graph beside a record. For one event loop, whose tasks are answered one after another.

    Raises `InvalidInput` for what can't be asked, and `BackendError` where there is no answer. `report` gets how far the graph
    is while it is made.
    """

    def __init__(self, record: Path, *, report: Report | None = None, idle_s: float = 60.0) -> None:
        self._record, self._idle_s = record.resolve(), idle_s
        self._report: Report = report or _no_report
        self._child: Child | None = None
        self._is_begun = False
        """whether the process works on the question itself"""
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
                kind, *said = await self._answered(name, arguments, deadline_s)
            except BaseException:
                # A process that still works on it would give its answer to the next question.
                await self._end()
                raise
        if kind == "refused":
            raise _error(*said)
        return msgspec.convert(said[0], type_)

    async def _answered(self, name: str, arguments: dict[str, Any], deadline_s: float) -> list[Any]:
        try:
            return await self._exchange(name, arguments, "", deadline_s)
        except Ended as ended:
            if name == "query" and self._is_begun:
                raise BackendError("graph", f"this query ended the graph's process ({ended}): ask in another way") from None
            # With code 0 it was idle, and has not seen the question.
            why = f"its process ended ({ended})" if ended.code else ""
        await self._end()
        try:
            return await self._exchange(name, arguments, why, deadline_s)
        except Ended as ended:
            # First, as it gives back the room that the advice is about.
            await self._end()
            what = f"its process ended twice ({ended}); the memory itself is not touched: {_advice(self._record)}"
            raise BackendUnavailable("graph", what) from None

    async def _exchange(self, name: str, arguments: dict[str, Any], anew: str, deadline_s: float) -> list[Any]:
        """The last message to a question: "answer" with a value, or "refused" with an error's name and text."""
        child, self._is_begun = await self._running(), False
        await child.send(name, arguments, anew)
        while True:
            try:
                message = await child.receive(deadline_s if self._is_begun else _MAKING_SILENCE_S)
            except TimeoutError:
                raise BackendTimeout("graph", "no answer inside the deadline: ask for less, or with a longer timeout") from None
            match message:
                case ["progress", done, total, what]:
                    self._report(done, total, what)
                case ["notice", text]:
                    _log.info("%s", text)
                case ["begun"]:
                    self._is_begun = True
                case _:
                    return message

    async def _running(self) -> Child:
        """The process; another one where the last had nothing to do and has gone."""
        if self._child is None or self._child.process.returncode is not None:
            await self._end()
            self._child = await Child.started(_CHILD, str(self._record), str(self._idle_s))
        return self._child

    async def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            await child.end()
            Place(self._record.parent).give_room_back()


def _error(name: str, message: str) -> errors.HiveError:
    kind: Any = getattr(errors, name)
    error: errors.HiveError = kind("graph", message) if issubclass(kind, BackendError) else kind(message)
    return error


def _advice(record: Path) -> str:
    """Kuzu aborts on a full disk, and says other things."""
    free = shutil.disk_usage(record.parent).free
    if free < _ROOM_BYTES + 3 * record.stat().st_size:
        return f"its disk has {free >> 20} MB of room left, so make some, then ask again"
    return f"delete {record.parent}/graph.*"


def _no_report(done: int, total: int, what: str) -> None:
    del done, total, what
