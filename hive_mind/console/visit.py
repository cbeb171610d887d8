"""One request for a page: the session, the values that came along, and the ways to answer."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
from aiohttp import web

from hive_mind import __version__
from hive_mind.agents.runs.event_streams import beating
from hive_mind.console import PREFIX
from hive_mind.console.decisions import Decisions
from hive_mind.console.evaluations import RunFolders
from hive_mind.console.fleet import Fleet
from hive_mind.console.sessions import Session
from hive_mind.errors import BackendUnavailable, HiveError, InvalidInput

_AGENTS_OFFERED_MAX = 1000
# A reader that went away is only noticed by writing to it.
_BEAT_S = 2.0

Handler = Callable[["Visit"], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Page:
    """A page with what belongs to it. Paths stand below `PREFIX`; `posts` change something, and need a form of our pages."""

    title: str
    path: str
    gets: Mapping[str, Handler]
    posts: Mapping[str, Handler] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Console:
    """The state that all pages share. `closing`: no more is sent to listeners; `name`: the fleet's."""

    fleet: Fleet
    decisions: Decisions
    evaluations: RunFolders
    pages: tuple[Page, ...]
    closing: asyncio.Event
    name: str = ""


@dataclass(frozen=True, slots=True)
class Visit:
    """See above."""

    console: Console
    request: web.Request
    session: Session

    @property
    def fleet(self) -> Fleet:
        return self.console.fleet

    def given(self, name: str, default: str = "") -> str:
        return self.request.query.get(name, default).strip()

    def number(self, name: str, default: int, most: int) -> int:
        """A number of the address from 1 on; the default for anything else."""
        text = self.given(name)
        return max(1, min(most, int(text))) if text.isdecimal() and len(text) < 10 else default

    async def form(self) -> dict[str, str]:
        return {name: value.strip() for name, value in (await self.request.post()).items() if isinstance(value, str)}

    async def agents(self) -> list[str]:
        """Names of the agents, those that are of use first; of very many the first."""
        pairs = [(process.error, agent) for process in await self.fleet.processes() for agent, _ in process.agents]
        ordered = sorted(
            (bool(error) or agent.phase not in ("ready", "asleep", "learning"), agent.name) for error, agent in pairs
        )
        return [name for _, name in ordered[:_AGENTS_OFFERED_MAX]]

    async def agent(self, name: str = "") -> str:
        """The agent that is meant: the one named in the address or the form, else one that is of use. Raises `HiveError`."""
        if agent_name := name or self.given("agent"):
            return agent_name
        if not (names := await self.agents()):
            raise BackendUnavailable("fleet", "no agent answers here; hive-mind status says why")
        return names[0]

    def show(self, template: str, /, status: int = 200, **values: Any) -> web.Response:
        from hive_mind.console.rendering import render

        frame = {
            "prefix": PREFIX,
            "pages": self.console.pages,
            "here": self.request.path,
            "csrf": self.session.csrf,
            "version": __version__,
            # Not to a browser that was not let in.
            "fleet_name": self.console.name if self.session.cookie else "",
        }
        return web.Response(text=render(template, **frame, **values), status=status, content_type="text/html")

    def part(self, template: str, /, **values: Any) -> str:
        from hive_mind.console.rendering import render

        return render(template, prefix=PREFIX, csrf=self.session.csrf, **values)

    def go(self, path: str, **query: str) -> web.Response:
        """After a form: the page that shows what became of it."""
        return web.Response(status=303, headers={"Location": f"{PREFIX}{quote(path)}?{urlencode(query)}"})

    async def decide(self, agent: str, request: str, about: str, reason: str, /, **fields: object) -> Any:
        """Let an agent do what a person decided, with a line about it before and one about what came of it.

        Raises `HiveError`; nothing is done that can't be noted.
        """
        noted = (self.session.cookie, agent, request, about, reason)
        await self.console.decisions.note(*noted, outcome="begun")
        try:
            reply = await self.fleet.call(agent, request, **fields)
        except HiveError as error:
            await self.console.decisions.note(*noted, outcome=f"failed: {error}")
            raise
        await self.console.decisions.note(*noted, outcome="done")
        return reply

    async def stream(self, events: AsyncGenerator[Any, None]) -> web.StreamResponse:
        """Server-sent events, until the reader or the process goes. None is a beat: nothing new."""
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(self.request)
        with suppress(ConnectionError):
            try:
                async with aclosing(events), aclosing(beating(events, _BEAT_S, self.console.closing)) as coming:
                    async for event in coming:
                        await response.write(_event_bytes(event))
            except HiveError as error:
                await response.write(_event_bytes({"error": str(error)}))
        return response


def _event_bytes(event: Any) -> bytes:
    return b": nothing new\n\n" if event is None else b"data: " + msgspec.json.encode(event) + b"\n\n"


async def together(*requests: Awaitable[Any]) -> list[Any]:
    """The answers of all of them, put side by side. Raises as the first of them did, when none is under way any more."""
    answers = await asyncio.gather(*requests, return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    return answers


def required(form: Mapping[str, str], name: str, label: str) -> str:
    """A value that a form must have. Raises `InvalidInput`."""
    if not (value := form.get(name, "")):
        raise InvalidInput(f"{label} is missing")
    return value
