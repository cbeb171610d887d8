"""The graph of an agent's memory: for people and programs that explore, path by path.

`Graph` asks, also while another process holds the agent. `questions` are answered from its record. Cypher goes to `server`, a
process of its own with a Kuzu database made of the record, within walls of its own; `pipe` says whether a file may be trusted.
That process may abort or compute for ever without harm to ours: it is started at the first query, killed at a query's deadline,
and started again at the next one."""

import asyncio
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from hive_mind import errors
from hive_mind.errors import BackendError, BackendTimeout, BackendUnavailable
from hive_mind.model.decoding import converted
from hive_mind.safe_files import PassingFolder
from hive_mind.sqlite import is_unwritable
from hive_mind.sqlite.file import translating
from hive_mind.store.graph import questions
from hive_mind.store.graph.pipe import Child, GraphLocation, PipeClosed, code_of
from hive_mind.store.graph.questions import TABLES, Edge, Neighbourhood, Rows, Thing, Way
from hive_mind.store.sqlite.reading import RecordReader
from hive_mind.store.sqlite.rows import FORMAT

__all__ = ["TABLES", "Edge", "Graph", "Neighbourhood", "Rows", "Thing", "Way"]


_log = logging.getLogger(__name__)

Report = Callable[[int, int, str], None]
Value = TypeVar("Value")
Given = ParamSpec("Given")

# A bulk copy of ten million edges says nothing for less than that.
_MAKING_SILENCE_S = 600.0
# A query that reached its deadline has this long to say so.
_GRACE_S = 2.0
# Room for a graph while it is made: the least, beside some multiple of its record.
_ROOM_BYTES = 64 << 20
# Ways of more edges join nearly everything, and take seconds.
LENGTH_MAX = 6
LENGTH, PATHS, ROWS, TIMEOUT_S = 4, 3, 1000, 10.0
"""Where nobody says otherwise: edges of a path, paths, rows of an answer, seconds it may take."""

_CHILD = code_of("hive_mind.store.graph.server")


class Graph:
    """The graph beside a record. For one event loop; its queries are answered one after another.

    Raises `InvalidInput` for what can't be asked, and `BackendError` where there is no answer. `report` gets how far Kuzu's
    database is while it is made.
    """

    def __init__(self, record: Path, *, report: Report | None = None, idle_s: float = 60.0) -> None:
        self._record, self._idle_s = record.resolve(), idle_s
        self._report: Report = report or (lambda *_: None)
        self._child: Child | None = None
        self._aside: PassingFolder | None = None
        self._is_begun = False
        """whether the process works on the query itself"""
        self._turn = asyncio.Lock()

    async def neighbourhood(self, of: str, depth: int = 1, limit: int = 100) -> Neighbourhood:
        """Things within `depth` edges of a fact, an episode or an entity, given by id or name."""
        return await self._asked(questions.neighbourhood, of, depth, limit)

    async def path(self, start: str, end: str, max_length: int = LENGTH, limit: int = PATHS) -> tuple[Way, ...]:
        """The shortest ways between two things; none where all have more than `max_length` edges (up to 6)."""
        if not 1 <= max_length <= LENGTH_MAX:
            raise errors.InvalidInput(f"a path of {max_length} edges can't be looked for: give 1 to {LENGTH_MAX}")
        return tuple(await self._asked(questions.paths, start, end, max_length, limit))

    async def history(self, fact_id: str, limit: int = ROWS) -> tuple[Thing, ...]:
        """The facts a fact replaced, the fact, and its replacements: the oldest first."""
        return tuple(await self._asked(questions.history, fact_id, limit))

    async def sources_of(self, fact_id: str, limit: int = ROWS) -> tuple[Thing, ...]:
        return tuple(await self._asked(questions.sources_of, fact_id, limit))

    async def derived_from(self, source: str, limit: int = ROWS) -> tuple[Thing, ...]:
        """Facts derived from an episode with this id; where there is none, the facts that rest on a source of this name."""
        return tuple(await self._asked(questions.derived_from, source, limit))

    async def query(self, cypher: str, limit: int = ROWS, timeout_s: float = TIMEOUT_S) -> Rows:
        """The answer to a query in Cypher that only reads. A result that is too large is cut, and says so."""
        query = {"cypher": cypher, "limit": limit, "timeout_s": timeout_s}
        async with self._turn:
            try:
                kind, *reply_parts = await self._answered(query, timeout_s + _GRACE_S)
            except BaseException:
                # A process that still works on it would give its answer to the next query.
                await self._end()
                raise
        if kind == "refused":
            name, message = reply_parts
            if name == BackendError.__name__ and _lacks_room(self._record):
                await self.close()
                raise BackendError("graph", f"{message}; the memory itself is not touched: {_advice(self._record)}")
            raise _error(name, message)
        return converted(reply_parts[0], Rows)

    async def build(self) -> Path:
        """Kuzu's database as the record is now, for programs that open it themselves; made anew where the record has changed."""
        if is_unwritable(self._record):
            problem = (
                f"{self._record.parent} can't be written to, so no database is made there; queries are answered all the same"
            )
            raise BackendError("graph", problem)
        await self.query("RETURN 1", 1)
        return GraphLocation(self._record.parent).database

    @property
    def _folder(self) -> Path:
        """Where Kuzu's database is: beside the record, or, where nothing can be made there, in a folder for this time."""
        return self._record.parent if self._aside is None else self._aside.path

    async def close(self) -> None:
        """End the process. Closing twice is fine; another query starts it again."""
        async with self._turn:
            await self._end()

    async def __aenter__(self) -> "Graph":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _asked(
        self, question: Callable[Concatenate[RecordReader, Given], Value], *given: Given.args, **more: Given.kwargs
    ) -> Value:

        def ask() -> Value:
            with RecordReader(self._record) as reader, translating(self._record, FORMAT):
                return question(reader, *given, **more)

        return await asyncio.to_thread(ask)

    async def _answered(self, query: dict[str, Any], deadline_s: float) -> list[Any]:
        try:
            return await self._exchange(query, "", deadline_s)
        except PipeClosed as ended:
            if self._is_begun:
                raise BackendError("graph", f"this query ended the graph's process ({ended}): ask in another way") from None
            # With code 0 it was idle, and has not seen the query.
            why = f"its process ended ({ended})" if ended.code else ""
        await self._end()
        try:
            return await self._exchange(query, why, deadline_s)
        except PipeClosed as ended:
            # First, as it gives back the room that the advice is about.
            await self._end()
            problem = f"its process ended twice ({ended}); the memory itself is not touched: {_advice(self._record)}"
            raise BackendUnavailable("graph", problem) from None

    async def _exchange(self, query: dict[str, Any], anew: str, deadline_s: float) -> list[Any]:
        """The last message to a query: "answer" with a value, or "refused" with an error's name and text."""
        child, self._is_begun = await self._running(), False
        await child.send(query, anew)
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
            if self._aside is None and is_unwritable(self._record):
                self._aside = await asyncio.to_thread(PassingFolder)
            self._child = await Child.started(_CHILD, str(self._record), str(self._idle_s), str(self._folder))
        return self._child

    async def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            await child.end()
            GraphLocation(self._folder).give_room_back()
            if self._aside is not None:
                aside, self._aside = self._aside, None
                await asyncio.to_thread(aside.close)


def _error(name: str, message: str) -> errors.HiveError:
    kind: Any = getattr(errors, name)
    error: errors.HiveError = kind("graph", message) if issubclass(kind, BackendError) else kind(message)
    return error


def _lacks_room(record: Path) -> bool:
    return record.exists() and shutil.disk_usage(record.parent).free < _ROOM_BYTES + 3 * record.stat().st_size


def _advice(record: Path) -> str:
    """Kuzu aborts on a full disk, or says that it can't read what it could not write."""
    if _lacks_room(record):
        return f"its disk has {shutil.disk_usage(record.parent).free >> 20} MB of room left, so make some, then ask again"
    return f"delete {record.parent}/graph.*"
