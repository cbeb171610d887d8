"""A client of workers over HTTP: by it commands, the console, MCP and the platform put requests to a process. `ask` of a
resident process has a shorter way, `cli/asking/quick_ask.py`.

Every wait is bounded by silence: a request may take as long as it needs while its process says that it lives
(`worker_http`). Where it says nothing, the error names the process, its condition and what to do. The other end is
`runtime/workers/health.py`.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from time import monotonic
from typing import Any
from uuid import uuid4

import msgspec

from hive_mind.api.request import Progress
from hive_mind.errors import BackendTimeout, BackendUnavailable, reason_of
from hive_mind.model.decoding import json_decoder
from hive_mind.runtime.replies import asked_patiently, reply_of
from hive_mind.runtime.worker_http import RECEIVED_BYTES, SILENCE_S, Cut, ForeignProcess, ReplyReader, request_bytes, waiting_line
from hive_mind.runtime.workers import Contact, WorkerStatus

_log = logging.getLogger(__name__)

_EVENTS = "text/event-stream"


class ProcessSilent(BackendTimeout):
    """A process that says nothing. Whether a request was carried out is not known."""


class ProcessGone(BackendUnavailable):
    """There is no such process, or it ended before it had answered."""


class ProcessBegins(BackendUnavailable):
    """A process that can't be reached yet: nothing was sent."""


async def called(
    contact: Contact,
    agent: str,
    request: str,
    fields: Mapping[str, object],
    *,
    silence_s: float = SILENCE_S,
    progress: Progress | None = None,
) -> Any:
    """The answer of an agent to a request of `api.requests`. Raises what it refuses with, `ProcessSilent` and `ProcessGone`.

    `progress` gets how far it is, of requests that report.
    """
    path = f"/v1/agents/{agent}"
    if progress is None:

        async def replied() -> Any:
            return reply_of(agent, await said(contact, "POST", path, {"do": request, **fields}, silence_s=silence_s))

        return await asked_patiently(replied)
    in_events = msgspec.json.encode(fields)
    return await asked_patiently(lambda: _reported(contact, agent, f"{path}/{request}", in_events, silence_s, progress))


# Any agent of a hive can be asked for shared facts.
_QUESTIONS = frozenset({"ask", "search"})
# A process that was killed is started again, and has opened its memory by then. Clients of MCP wait for a minute.
_REVIVED_S, _PAUSE_S = 30.0, 0.5


class ProcessAgent:
    """An agent that another process has open: the client of commands and of models. `silence_s`: how long that may say nothing.

    This one is reached at `contact`. A subclass may look that up for each request, know who can answer instead, and start a
    process again that has ended.
    """

    may_revive = False

    def __init__(self, fleet: str, name: str, contact: Contact | None, silence_s: float = SILENCE_S) -> None:
        self.fleet, self.name, self.silence_s = fleet, name, silence_s
        self._contact = contact

    async def call(self, request: str, progress: Progress | None = None, /, **fields: object) -> Any:
        """Put a request to it, see `api.requests`. Raises `HiveError`.

        Where its process is silent or gone, another agent of its hive answers a question, by what it knows itself and what is
        shared; the reply says whose it is. Where it may be revived, a request is put again, with a key if it changes something.
        """
        if self.may_revive:
            # The register is loaded by those that need it: a question to a process does not.
            from hive_mind.api.requests import REQUESTS

            fields = {"key": uuid4().hex, **fields} if REQUESTS.entry(request).again else fields
        ends = monotonic() + _REVIVED_S
        while self.may_revive and monotonic() < ends:
            try:
                return await self._answered(request, progress, fields)
            except BackendUnavailable:
                await self.revive()
                await asyncio.sleep(_PAUSE_S)
        return await self._answered(request, progress, fields)

    async def contact_of(self, agent: str) -> Contact:
        """How the process of an agent is reached. Raises `HiveError` where it is not."""
        if self._contact is None:
            raise ProcessGone(agent, "it is not running here")
        return self._contact

    async def other(self) -> str:
        """An agent of its hive that is ready, in another process; "" for none, as here. That of a fleet (`FleetAgent`) looks."""
        return ""

    async def revive(self) -> None:
        """Start its process again, where it has ended."""

    async def _answered(self, request: str, progress: Progress | None, fields: Mapping[str, object]) -> Any:
        try:
            return await self._asked(self.name, request, progress, fields)
        except (ProcessSilent, ProcessGone) as error:
            stand_in = await self.other() if request in _QUESTIONS else ""
            if not stand_in:
                raise
            reply = await self._asked(stand_in, request, progress, fields)
            instead = f"agent {stand_in} answered instead of {self.name}, by what it knows and the hive shares: {error}"
        return {**reply, "agent": stand_in, "note": "; ".join(filter(None, (instead, reply.get("note", ""))))}

    async def _asked(self, agent: str, request: str, progress: Progress | None, fields: Mapping[str, object]) -> Any:
        contact = await asked_patiently(lambda: self.contact_of(agent), ProcessBegins)
        return await called(contact, agent, request, fields, silence_s=self.silence_s, progress=progress)


async def said(contact: Contact, method: str, path: str, request: object, *, silence_s: float = SILENCE_S) -> bytes:
    """The body of a worker's reply. Raises `ProcessSilent` and `ProcessGone`."""
    body = b"" if request is None else msgspec.json.encode(request)
    async with aclosing(_pieces(contact, request_bytes(method, path, contact.token, body), silence_s)) as pieces:
        return b"".join([piece async for _, piece in pieces])


async def status_of(contact: Contact, within_s: float) -> WorkerStatus:
    """How a worker is. Raises `BackendUnavailable` and `BackendTimeout`."""
    body = await said(contact, "GET", "/v1/status", None, silence_s=within_s)
    try:
        return json_decoder(WorkerStatus)(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BackendUnavailable(contact.process, f"malformed status reply: {error}") from error


async def replied(contact: Contact, method: str, path: str, request: object = None, *, silence_s: float = SILENCE_S) -> Any:
    """The reply of a worker itself, to what concerns no agent. Raises `HiveError`."""
    return reply_of(contact.process, await said(contact, method, path, request, silence_s=silence_s))


async def _reported(contact: Contact, agent: str, path: str, body: bytes, silence_s: float, progress: Progress) -> Any:
    request = request_bytes("POST", path, contact.token, body, _EVENTS)
    # A reply is one line, of any length.
    rest, is_stream = b"", False
    async with aclosing(_pieces(contact, request, silence_s)) as pieces:
        async for is_stream, piece in pieces:
            *blocks, rest = (rest + piece).split(b"\n\n") if is_stream else (rest + piece, b"")
            for event, data in _events(blocks if is_stream else []):
                if event in (b"reply", b"error"):
                    return reply_of(agent, data)
                if event == b"progress":
                    says = msgspec.json.decode(data)
                    progress(says["done"], says["total"])
            rest = rest if is_stream else blocks[0]
    if not is_stream:
        return reply_of(agent, rest)
    raise ProcessGone(agent, f"process {contact.process} ended before it had answered: hive-mind status says why")


def _events(blocks: list[bytes]) -> list[tuple[bytes, bytes]]:
    lines = [dict(line.split(b": ", 1) for line in block.split(b"\n") if not line.startswith(b":")) for block in blocks]
    return [(fields[b"event"], fields[b"data"]) for fields in lines if fields]


async def _pieces(contact: Contact, request: bytes, silence_s: float) -> AsyncGenerator[tuple[bool, bytes], None]:
    """The body as it comes, and whether it is a stream of events."""
    reader, writer = ReplyReader(lambda waited_s: _log.info(waiting_line(contact.process, waited_s))), None
    try:
        async with asyncio.timeout(silence_s):
            source, writer = await asyncio.open_connection("127.0.0.1", contact.port)
            writer.write(request)
            await writer.drain()
        while True:
            async with asyncio.timeout(silence_s):
                piece = await source.read(RECEIVED_BYTES)
            if not piece:
                break
            body = reader.feed(piece)
            yield reader.content_type == _EVENTS, body
        reader.end()
    except TimeoutError as error:
        raise await asyncio.to_thread(silence, contact, silence_s) from error
    except ForeignProcess as error:
        raise ProcessGone(contact.process, f"another process listens on port {contact.port}") from error
    except Cut as error:
        raise ProcessGone(contact.process, f"{error}: hive-mind status says why") from error
    except OSError as error:
        condition = await asyncio.to_thread(condition_of, contact)
        raise ProcessGone(contact.process, f"it can't be reached: {reason_of(error)}; {condition}") from error
    finally:
        if writer is not None:
            writer.close()


def silence(contact: Contact, silence_s: float) -> ProcessSilent:
    """The error for a process that says nothing: its condition, and the remedy."""
    return ProcessSilent(contact.process, f"no answer in {silence_s:g} s: {condition_of(contact)}")


def condition_of(contact: Contact) -> str:
    """How a process is that does not answer, and what to do about it."""
    # Loaded only where one does not answer, because it takes longer than a question.
    from hive_mind.runtime.process_identity import Identity, state_of

    match state_of(Identity(contact.pid, contact.started)):
        case "gone":
            return "it has ended; hive-mind status says why, and hive-mind rollout restart starts it again"
        case "stopped":
            return f"process {contact.pid} is stopped; kill -CONT {contact.pid} lets it go on, or hive-mind rollout restart"
    return (
        f"process {contact.pid} is there, but busy or hung; wait for longer with --timeout, or see hive-mind status and "
        "hive-mind rollout restart"
    )
