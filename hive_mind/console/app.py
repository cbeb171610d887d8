"""The console as an application of aiohttp: its pages, their readers, and the rights of a browser on them.

The first page stands here: the fleet, its agents with group, phase, facts, work on its way, and the nodes they hear; live.

    POST /ui/link          with the worker's token and {"evaluations": FOLDER} or nothing
                           → {"path": …}: a link that lets one browser in, once
    GET  /ui/enter/{code}  that link: gives the browser its cookie
    GET  /ui/static/{name} scripts and styles; nobody's secret
    …                      pages, with the cookie; a POST also with the form of one of our pages

No page has a script or a style in its text, and none loads anything from elsewhere: a browser refuses what a fact smuggles in.
"""

import asyncio
import hmac
import logging
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from aiohttp import web

from hive_mind.console import PREFIX
from hive_mind.console.pages import ASK, EVALUATIONS, FACTS, MESSAGES, QUEUES, RUNS
from hive_mind.console.seen import Fleet, ProcessSeen, RunFolders
from hive_mind.console.visit import SESSION_S, Console, Decisions, Handler, Page, Paged, Session, Sessions, Visit, paged
from hive_mind.errors import BackendError, HiveError
from hive_mind.model.decoding import json_decoder
from hive_mind.runtime.workers import AgentStatus, NodeStatus
from hive_mind.runtime.workers.site import admit, body_of, form_of

_log = logging.getLogger(__name__)

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    # Stricter, a browser would not say where a form of ours comes from.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_STATIC = Path(__file__).parent / "static"
_NOBODY = Session("", "", 0.0)
_Plain = Callable[[web.Request], Awaitable[web.StreamResponse]]


def console(
    fleet: Fleet,
    token: str,
    decisions: Decisions,
    hosts: Collection[str] = (),
    clock_s: Callable[[], float] = time.monotonic,
    name: str = "",
) -> web.Application:
    """The application, to be put below `PREFIX`. `token` lets a program ask for a link; `hosts`: by which names it may be asked,
    where its server does not see to that. `name`: of the fleet, by which people tell two consoles apart."""
    shared = Console(fleet, decisions, RunFolders(), PAGES, asyncio.Event(), name)
    doors = _Doors(shared, Sessions(clock_s), token, frozenset(hosts))
    app = web.Application(middlewares=[doors.errors])
    app.on_response_prepare.append(_protect)
    app.on_shutdown.append(doors.shut)
    app.on_cleanup.append(lambda _: fleet.close())
    app.add_routes([web.post("/link", doors.link), web.get("/enter/{code}", doors.enter), web.static("/static", _STATIC)])
    for page in PAGES:
        app.add_routes([web.get(path, doors.seen(handler)) for path, handler in page.gets.items()])
        app.add_routes([web.post(path, doors.changed(handler)) for path, handler in page.posts.items()])
    return app


class _LinkRequest(msgspec.Struct, forbid_unknown_fields=True):
    """`evaluations`: a folder of this machine with runs of evaluations, to be shown."""

    evaluations: str = ""


class _Doors:
    """Access, and what errors look like."""

    def __init__(self, shared: Console, sessions: Sessions, token: str, hosts: frozenset[str]) -> None:
        self._console, self._sessions, self._token, self._hosts = shared, sessions, token, hosts

    async def link(self, request: web.Request) -> web.StreamResponse:
        header = request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(header, b"Bearer " + self._token.encode()):
            raise web.HTTPUnauthorized(reason="a link needs the header Authorization: Bearer <token>")
        try:
            link_request = json_decoder(_LinkRequest)(await body_of(request) or b"{}")
        except msgspec.MsgspecError as error:
            raise web.HTTPBadRequest(reason=f"no request: {str(error)[:200]}") from error
        if link_request.evaluations:
            self._console.evaluations.add(link_request.evaluations)
        return web.json_response({"path": f"{PREFIX}/enter/{self._sessions.link()}"})

    async def enter(self, request: web.Request) -> web.StreamResponse:
        if (session := self._sessions.enter(request.match_info["code"])) is None:
            raise web.HTTPUnauthorized(reason="this link was used, or is too old: hive-mind ui prints another one")
        _log.info("the console let a browser in, for %g h", SESSION_S / 3600)
        response = web.Response(status=303, headers={"Location": f"{PREFIX}/"})
        # Behind a proxy that speaks TLS, what arrives here is plain HTTP.
        is_secure = request.secure or request.headers.get("X-Forwarded-Proto", "").lower() == "https"
        response.set_cookie(
            _cookie_of(request),
            session.cookie,
            max_age=int(SESSION_S),
            path=PREFIX,
            secure=is_secure,
            httponly=True,
            samesite="Strict",
        )
        return response

    def seen(self, handler: Handler) -> _Plain:

        async def guarded(request: web.Request) -> web.StreamResponse:
            return await handler(Visit(self._console, request, self._known(request)))

        return guarded

    def changed(self, handler: Handler) -> _Plain:
        """The same, from a form of ours alone: another page in the same browser has the cookie too."""

        async def guarded(request: web.Request) -> web.StreamResponse:
            session = self._known(request)
            token = request.headers.get("X-CSRF-Token", "") or (await form_of(request)).get("csrf", "")
            if not _is_own(request) or not session.knows(token):
                raise web.HTTPForbidden(reason="this did not come from a page of the console: load the page again, and try again")
            return await handler(Visit(self._console, request, session))

        return guarded

    async def shut(self, app: web.Application) -> None:
        """One who listens on would hold the process up."""
        del app
        self._console.closing.set()

    @web.middleware
    async def errors(self, request: web.Request, handler: _Plain) -> web.StreamResponse:
        """A page that says what is wrong; a defect stands in the log alone."""
        task = asyncio.ensure_future(self._handled(request, handler))
        await asyncio.wait([task])
        match task.exception():
            case None:
                return task.result()
            case web.HTTPException() as error:
                status, why = error.status, error.reason
            case HiveError() as error:
                status, why = (502 if isinstance(error, BackendError) else 400), str(error)
            case error:
                _log.error("a page failed: %s", request.path, exc_info=error)
                status, why = 500, "this is a defect of the console; the log of its process says more"
        session = self._sessions.find(request.cookies.get(_cookie_of(request), "")) or _NOBODY
        return Visit(self._console, request, session).show("_frame.html", status=status, why=why, code=status)

    async def _handled(self, request: web.Request, handler: _Plain) -> web.StreamResponse:
        if self._hosts and request.url.host not in self._hosts:
            raise web.HTTPMisdirectedRequest(reason="HIVE_MIND_CONSOLE_HOSTS does not name this host")
        return await handler(request)

    def _known(self, request: web.Request) -> Session:
        if (session := self._sessions.find(request.cookies.get(_cookie_of(request), ""))) is None:
            raise web.HTTPUnauthorized(reason="nobody is signed in here: hive-mind ui prints a link that lets this browser in")
        admit(request)
        return session


def _cookie_of(request: web.Request) -> str:
    """Cookies are common to all ports of a host, so that of another process must not replace this one's."""
    return f"hive-mind-{request.url.port}"


def _is_own(request: web.Request) -> bool:
    """Whether a browser says that the form stood on a page of ours. An old one does not say.

    Over TLS and on this machine a browser compares the two itself; a proxy may have changed the host that arrives here.
    """
    if site := request.headers.get("Sec-Fetch-Site"):
        return site == "same-origin"
    origin = request.headers.get("Origin", "")
    return not origin or urlsplit(origin).netloc == request.headers.get("Host", "")


async def _protect(request: web.Request, response: web.StreamResponse) -> None:
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    # Pages name the version with them.
    is_static = f"{PREFIX}/static/" in request.path
    response.headers["Cache-Control"] = "max-age=86400" if is_static and response.status == 200 else "no-store"


_LOOK_EVERY_S = 2.0
_SILENT = "silent"


@dataclass(frozen=True, slots=True)
class AgentRow:
    """An agent as it is shown. `heard` of `members`: nodes of the hive that its own node hears, itself among them."""

    name: str
    phase: str
    group: str
    process: str
    facts: int
    pending: int
    lag: int
    heard: int
    members: int
    since_ms: int
    error: str

    @property
    def completeness(self) -> float:
        """The share of the hive's nodes that answer it; 1 for an agent without a hive."""
        return self.heard / self.members if self.members else 1.0

    @property
    def is_of_use(self) -> bool:
        return self.phase in ("ready", "asleep", "learning")


def rows_of(processes: Sequence[ProcessSeen]) -> list[AgentRow]:
    """All agents, those with troubles first."""
    rows = [_row(process, agent, node) for process in processes for agent, node in process.agents]
    return sorted(rows, key=lambda row: (row.is_of_use and not row.error, row.name))


def matching(rows: Sequence[AgentRow], words: str, phase: str) -> list[AgentRow]:
    """Those whose name, group or process has all words, in this phase if one is given."""
    terms = words.casefold().split()
    texts = ((row, f"{row.name} {row.group} {row.process}".casefold()) for row in rows)
    return [row for row, text in texts if phase in ("", row.phase) and all(word in text for word in terms)]


def _row(process: ProcessSeen, agent: AgentStatus, node: NodeStatus | None) -> AgentRow:
    members = len(node.members) if node else 0
    return AgentRow(
        name=agent.name,
        phase=_SILENT if process.error else agent.phase,
        group=agent.group or (node.group if node else ""),
        process=process.name,
        facts=agent.facts,
        pending=agent.pending,
        lag=node.lag if node else 0,
        heard=members - len({*node.silent, *node.late}) if node else 0,
        members=members,
        since_ms=agent.since_ms,
        error=process.error or agent.error or agent.refusal or (node.error or node.refusal if node else ""),
    )


@dataclass(frozen=True, slots=True)
class _Seen:
    """All that the page shows."""

    shown: Paged[AgentRow]
    phases: Counter[str]
    processes: Sequence[ProcessSeen]
    words: str
    phase: str
    figures: dict[str, int]


async def _look(visit: Visit) -> _Seen:
    processes, words, phase = await visit.fleet.processes(), visit.given("q"), visit.given("phase")
    rows = rows_of(processes)
    page = paged(matching(rows, words, phase), visit.number("page", 1, 10**6))
    nodes = [node for process in processes if process.status for node in process.status.nodes]
    figures = {
        "agents": len(rows),
        "of use": sum(row.is_of_use for row in rows),
        "facts": sum(row.facts for row in rows),
        "pending": sum(row.pending for row in rows),
        "lag": sum(node.lag for node in nodes),
    }
    return _Seen(page, Counter(row.phase for row in rows), processes, words, phase, figures)


async def show(visit: Visit) -> web.StreamResponse:
    return visit.show("fleet.html", seen=await _look(visit), query=visit.request.rel_url.raw_query_string)


async def follow(visit: Visit) -> web.StreamResponse:
    """Its parts, each time that something has changed."""
    return await visit.stream(_changes(visit))


async def _changes(visit: Visit) -> AsyncGenerator[Any, None]:
    before = ""
    while True:
        look = await _look(visit)
        html = visit.part("fleet", look, PREFIX)
        yield {"figures": look.figures} | ({"html": html} if html != before else {})
        before = html
        await asyncio.sleep(_LOOK_EVERY_S)


FLEET = Page("Fleet", "/", {"/": show, "/fleet/live": follow})
PAGES: tuple[Page, ...] = (FLEET, ASK, FACTS, QUEUES, RUNS, MESSAGES, EVALUATIONS)
"""In the order in which they are offered."""
