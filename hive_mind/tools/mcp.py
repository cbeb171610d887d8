"""Tools of servers that speak the Model Context Protocol: started as a child process, or reached by an address.

They are called `mcp:SERVER/TOOL`. A server's own claims about its tools are not trusted: each tool counts as one that must not
run twice, unless the configuration of the server says otherwise. A child sees the variables it is given, and few others.
"""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Any, TextIO

import msgspec
from mcp import Client, MCPError, StdioServerParameters
from mcp.client import Transport
from mcp.client.context import ClientRequestContext
from mcp.client.stdio import stdio_client
from mcp.types import CallToolResult, ContentBlock, ElicitRequestFormParams, ElicitRequestParams, ElicitResult
from mcp.types import Tool as ServedTool

from hive_mind.errors import BackendRejected, BackendTimeout, BackendUnavailable, HiveError, InvalidInput, reason_of
from hive_mind.model.content import Arguments, ToolSpec
from hive_mind.model.decoding import json_decoder
from hive_mind.runs.effects import ToolTraits
from hive_mind.tools import McpServer, NeedsPerson, Tool, ToolContext

_BEGIN_S = 30.0
# After that a person at a terminal wonders.
_UNEXPLAINED_S = 3.0
# A process that does not end when its input does is ended by the library within two seconds.
_ENDED_S = 5.0
_CALL_S = timedelta(minutes=5).total_seconds()
_DESCRIPTION_CHARACTERS = 2_000
_LINE_BYTES_MAX = 1 << 16

_log = logging.getLogger(__name__)


class McpTools:
    """The tools of one server. Open with `open`; closing ends its process. Closing twice is fine."""

    def __init__(self, server: McpServer) -> None:
        self._server = server
        self._client: Client | None = None
        self._holding: asyncio.Task[None] | None = None
        self._ready, self._over = asyncio.Event(), asyncio.Event()
        self._calls: list[_McpCall] = []
        self.tools: Sequence[Tool] = ()

    async def begin(self) -> None:
        """Connect. Raises `BackendUnavailable` for a server that does not answer."""
        self._holding = asyncio.create_task(self._hold(), name=f"MCP server {self._server.name}")
        ready = asyncio.create_task(self._ready.wait())
        try:
            done, _ = await asyncio.wait([self._holding, ready], timeout=_UNEXPLAINED_S, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                _log.info("waiting for MCP server %s, which says nothing yet; for at most %g s", self._server.name, _BEGIN_S)
                await asyncio.wait([self._holding, ready], timeout=_BEGIN_S - _UNEXPLAINED_S, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ready.cancel()
        if not self._ready.is_set():
            why = self._holding.exception() if self._holding.done() and not self._holding.cancelled() else None
            await self.close()
            raise BackendUnavailable(
                f"mcp:{self._server.name}",
                f"the server does not answer: {_cause(why) or f'it said nothing within {_BEGIN_S:g} s'}",
            )

    async def close(self) -> None:
        """End the connection, and the process that was started for it."""
        self._over.set()
        if self._holding is not None:
            # One that has not answered yet sees no end, either.
            if self._ready.is_set():
                await asyncio.wait([self._holding], timeout=_BEGIN_S)
            self._holding.cancel()
            await asyncio.wait([self._holding], timeout=_ENDED_S)

    async def _hold(self) -> None:
        """The connection belongs to one task: it is opened and closed there, while other tasks make calls."""
        async with (
            _log_of(self._server.name) as log,
            Client(_reached(self._server, log), read_timeout_seconds=_CALL_S, elicitation_callback=self._elicited) as client,
        ):
            self._client = client
            self.tools = [self._tool(tool) for tool in await _listed(client)]
            self._ready.set()
            await self._over.wait()

    def _tool(self, served: ServedTool) -> Tool:
        server = self._server
        description = (served.description or served.title or served.name)[:_DESCRIPTION_CHARACTERS]
        may_repeat = any(fnmatchcase(served.name, pattern) for pattern in server.idempotent)
        spec = ToolSpec(f"mcp:{server.name}/{served.name}", description, served.input_schema)

        async def call(context: ToolContext, arguments: Arguments) -> Any:
            where = f"mcp:{self._server.name}"
            if self._client is None or self._over.is_set() or self._holding is None or self._holding.done():
                raise BackendUnavailable(where, "the server has gone; resume the run to start it again")
            try:
                result = await self._answered(_McpCall(context), self._client.call_tool(served.name, dict(arguments)))
            except TimeoutError as error:
                raise BackendTimeout(where, f"{served.name} gave nothing in {_CALL_S:g} s") from error
            except MCPError as error:
                raise BackendRejected(where, str(error)) from error
            except (OSError, RuntimeError) as error:
                raise BackendUnavailable(where, f"the connection broke: {reason_of(error)}") from error
            # Structured where the server gives that, else its texts.
            text = "\n".join(_text(part) for part in result.content)
            if result.is_error:
                raise BackendRejected(where, text or f"{served.name} failed and does not say why")
            return result.structured_content if result.structured_content is not None else text

        return Tool(spec, call, ToolTraits(is_idempotent=may_repeat), _CALL_S)

    async def _elicited(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        """The server wants something of a person: the run of the call that is under way waits for it.

        With several under way nobody knows which of them asks; it is cancelled, and may be called again.
        """
        del context
        if len(self._calls) != 1 or not isinstance(params, ElicitRequestFormParams):
            return ElicitResult(action="cancel")
        call = self._calls[0]
        fields = params.requested_schema.get("properties", {})
        as_json = f" (answer as JSON with {', '.join(fields)})" if len(fields) > 1 else ""
        try:
            answer = await call.context.ask_person(f"{params.message}{as_json}")
            return ElicitResult(action="accept", content=_content(fields, answer))
        except NeedsPerson as needs:
            call.needs.set_result(needs)
            return ElicitResult(action="cancel")
        except InvalidInput:
            return ElicitResult(action="decline")

    async def _answered(self, call: "_McpCall", calling: Coroutine[Any, Any, CallToolResult]) -> CallToolResult:
        """Its result. Raises `NeedsPerson` as soon as it has to wait for one: for the server it is cancelled then."""
        self._calls.append(call)
        task = asyncio.create_task(calling)
        ends: list[asyncio.Future[Any]] = [task, call.needs]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if call.needs.done():
                raise call.needs.result()
            return await task
        finally:
            self._calls.remove(call)
            task.cancel()
            await asyncio.wait([task])


@dataclass(slots=True, eq=False)
class _McpCall:
    """One that is under way. `needs`: the person it has to wait for."""

    context: ToolContext
    needs: "asyncio.Future[NeedsPerson]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())


async def open(server: McpServer) -> McpTools:
    """Its tools, once it has answered. Raises `BackendUnavailable`."""
    tools = McpTools(server)
    await tools.begin()
    return tools


def _reached(server: McpServer, log: TextIO) -> Transport | str:
    if server.url:
        return server.url
    program, *arguments = server.command
    return stdio_client(StdioServerParameters(command=program, args=arguments, env=dict(server.env)), log)


class _Lines(asyncio.Protocol):
    """A server's standard error as lines of our log, where values of credentials are kept out."""

    def __init__(self, name: str) -> None:
        self._name, self._rest = name, b""

    def data_received(self, data: bytes) -> None:
        """Data arrives cut anywhere; a line without an end is logged in pieces."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > _LINE_BYTES_MAX:
            lines, self._rest = [*lines, self._rest], b""
        for line in filter(None, lines):
            _log.info("mcp:%s: %s", self._name, line.decode("utf-8", "replace").rstrip())


@asynccontextmanager
async def _log_of(name: str) -> AsyncIterator[TextIO]:
    reading, writing = os.pipe()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: _Lines(name), os.fdopen(reading, "rb", 0))
    try:
        with os.fdopen(writing, "w", encoding="utf-8") as log:
            yield log
    finally:
        transport.close()


async def _listed(client: Client) -> list[ServedTool]:
    tools: list[ServedTool] = []
    cursor: str | None = None
    while True:
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        if not (cursor := page.next_cursor):
            return tools


def _content(fields: Mapping[str, Any], answer: Any) -> dict[str, Any]:
    """An answer as the server's form has it. Raises `InvalidInput` for one that does not fit."""
    if len(fields) == 1 and not isinstance(answer, dict):
        ((name, form),) = fields.items()
        return {name: _field_of(str(form.get("type", "string")), answer)}
    try:
        content = json_decoder(dict[str, Any])(answer) if isinstance(answer, str) and fields else answer
    except msgspec.DecodeError as error:
        raise InvalidInput(f"the answer is no JSON object with {', '.join(fields)}") from error
    return {name: content[name] for name in fields if name in content} if isinstance(content, dict) else {}


def _field_of(kind: str, answer: Any) -> Any:
    if not isinstance(answer, str):
        return answer
    if kind == "boolean":
        return answer.strip().casefold() in ("yes", "y", "true", "approved", "1")
    try:
        return int(answer) if kind == "integer" else float(answer) if kind == "number" else answer
    except ValueError as error:
        raise InvalidInput(f"the answer is no {kind}: {answer[:80]!r}") from error


def _text(block: ContentBlock) -> str:
    return block.text if block.type == "text" else f"[{block.type}: it can't be shown as text]"


def _cause(error: BaseException | None) -> str:
    """The error at the bottom of it: libraries wrap it into groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) if isinstance(error, HiveError | OSError) or str(error or "") else type(error).__name__ if error else ""
