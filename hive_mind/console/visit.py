"""One request for a page: its session, the values that came along, the ways to answer, and the record of what was decided.

Sessions are of browsers that followed a link which was good once; only a program with the worker's token gets such a link. They
are in memory, so they end with the process. A decision is a line of JSON in a file of the fleet, on disk before the page says
that it is done; of the person who decided only the session is known, and of that a digest is kept.

All that a template shows is escaped; what a fact, a source or a log says is text and never markup.
"""

import asyncio
import hmac
import os
import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec
from aiohttp import web

from hive_mind import __version__
from hive_mind.agents.runs.event_streams import beating
from hive_mind.console import LINK_S, PREFIX
from hive_mind.console.seen import Fleet, RunFolders
from hive_mind.counted import counted
from hive_mind.errors import BackendError, BackendUnavailable, HiveError, InvalidInput, reason_of
from hive_mind.model.decoding import json_decoder
from hive_mind.regex import regex
from hive_mind.runtime.workers.site import form_of
from hive_mind.safe_files import append_line

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).parent / "templates"
_DRIVE = regex(r"[A-Za-z]:\\")
# A root, a folder and a name are no longer than what would stand for them.
_PARTS_SHOWN = 3
_UNITS = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))


@cache
def environment() -> "Environment":
    """The templates. A name that a template does not get is an error and not an empty place."""
    # Loaded with the first page: a worker that nobody looks at holds no templates.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made_environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made_environment.filters |= {"counted": counted, "when": when, "since": since, "link": link, "share": share, "figure": figure}
    made_environment.filters["brief"] = brief
    return made_environment


def when(at_us: int) -> str:
    """A moment, in microseconds since 1970, as a person reads it; "" for 0."""
    return datetime.fromtimestamp(at_us / 1e6, UTC).strftime("%Y-%m-%d %H:%M UTC") if at_us else ""


def since(at_ms: int) -> str:
    """For how long it has been so: "3 h"; "" where that is not known."""
    if not at_ms:
        return ""
    age_s = max(0.0, time.time() - at_ms / 1000)
    size, unit = next(((size, unit) for size, unit in _UNITS if age_s >= size), _UNITS[-1])
    return f"{int(age_s // size)} {unit}"


def link(source: str) -> str:
    """The address of a source that is one of the web; "" for all others, above all for what would run: `javascript:`."""
    try:
        parts = urlsplit(source)
    except ValueError:
        return ""
    return source if parts.scheme in ("http", "https") and parts.netloc else ""


def brief(source: str) -> str:
    """A source that is a whole path, by its last folder and its name: the rest is the same in every line. Others as they are."""
    path = PureWindowsPath(source) if _DRIVE.match(source) else PurePosixPath(source)
    return f"…/{path.parent.name}/{path.name}" if path.is_absolute() and len(path.parts) > _PARTS_SHOWN else source


def share(part: float) -> str:
    """0.5 as "50 %". Rounded down: what is not complete must not read as if it was."""
    return f"{int(part * 100 + 1e-9)} %"


def figure(number: float | None) -> str:
    """A score as it is compared by eye."""
    return "–" if number is None else f"{number:.3f}"


SESSION_S = 12 * 3600.0
# Beyond these the oldest goes.
LINKS_MAX, SESSIONS_MAX = 20, 100
_BYTES = 32


@dataclass(frozen=True, slots=True)
class Session:
    """A browser. `csrf` is what its forms send along, which no other page knows."""

    cookie: str
    csrf: str
    until_s: float

    def knows(self, csrf: str) -> bool:
        """Whether a form is one of ours."""
        return hmac.compare_digest(csrf.encode("utf-8", "replace"), self.csrf.encode())


@dataclass(slots=True)
class Sessions:
    """All browsers that were let in. `clock_s` only goes forward."""

    clock_s: Callable[[], float]
    _links: dict[str, float] = field(default_factory=dict)
    _sessions: dict[str, Session] = field(default_factory=dict)

    def link(self) -> str:
        """A code that lets one browser in, once."""
        code = secrets.token_urlsafe(_BYTES)
        self._links[code] = self.clock_s() + LINK_S
        _keep_newest(self._links, LINKS_MAX)
        return code

    def enter(self, code: str) -> Session | None:
        """The session that a code begins; None for one that was used, is too old or never was."""
        link_kept = next((link for link in self._links if _same(link, code)), "")
        if self.clock_s() >= self._links.pop(link_kept, 0.0):
            return None
        session = Session(secrets.token_urlsafe(_BYTES), secrets.token_urlsafe(_BYTES), self.clock_s() + SESSION_S)
        self._sessions[session.cookie] = session
        _keep_newest(self._sessions, SESSIONS_MAX)
        return session

    def find(self, cookie: str) -> Session | None:
        """The session of a cookie; None where it has none any more."""
        session = next((session_kept for token, session_kept in self._sessions.items() if _same(token, cookie)), None)
        if session is not None and self.clock_s() >= session.until_s:
            del self._sessions[session.cookie]
            return None
        return session


def _same(expected: str, presented: str) -> bool:
    return hmac.compare_digest(expected.encode(), presented.encode("utf-8", "replace"))


def _keep_newest(entries_by_key: dict[str, float] | dict[str, Session], most: int) -> None:
    while len(entries_by_key) > most:
        del entries_by_key[next(iter(entries_by_key))]


_BYTES_SHOWN_MAX = 256 << 10


class DecisionLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """One of them. `outcome`: begun, done, or failed and why. A line that was begun and has no other was cut short."""

    at_ms: int
    session: str
    agent: str
    did: str
    about: str
    reason: str
    outcome: str


class Decisions:
    """The file. None: they are kept while the process runs, for one that keeps nothing."""

    def __init__(self, path: Path | None) -> None:
        self._path, self._kept = path, list[DecisionLine]()
        self._turn = asyncio.Lock()

    async def note(self, session: str, agent: str, did: str, about: str, reason: str, outcome: str) -> None:
        """Keep one. Raises `BackendError` where that can't be."""
        line = DecisionLine(
            time.time_ns() // 1_000_000, sha256(session.encode()).hexdigest()[:8], agent, did, about, reason, outcome
        )
        async with self._turn:
            if self._path is None:
                self._kept = [*self._kept[-999:], line]
                return
            try:
                await asyncio.to_thread(append_line, self._path, msgspec.json.encode(line))
            except OSError as error:
                raise BackendError("decisions", f"{self._path} can't be written: {reason_of(error)}; nothing was done") from error

    async def last(self, limit: int) -> list[DecisionLine]:
        """The last ones, the newest first."""
        lines = self._kept if self._path is None else await asyncio.to_thread(_read, self._path)
        return lines[: -limit - 1 : -1]


def _read(path: Path) -> list[DecisionLine]:
    """Those at the end of the file. A line that was cut off is left out."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _BYTES_SHOWN_MAX))
            lines = file.read().splitlines()
    except OSError:
        return []
    return [line for text in lines if (line := _line(text)) is not None]


def _line(text: bytes) -> DecisionLine | None:
    try:
        return json_decoder(DecisionLine)(text)
    except msgspec.MsgspecError:
        return None


PER_PAGE = 50

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Paged(Generic[_Item]):
    """One page. `count`: of all items; `number` counts from 1."""

    items: Sequence[_Item]
    count: int
    number: int
    per_page: int = PER_PAGE

    @property
    def last(self) -> int:
        """The number of the last page."""
        return max(1, -(-self.count // self.per_page))

    @property
    def first_item(self) -> int:
        """The place of its first item in the whole list, from 1."""
        return (self.number - 1) * self.per_page + 1 if self.count else 0

    @property
    def last_item(self) -> int:
        """The place of its last item."""
        return min(self.number * self.per_page, self.count)


def paged(items: Sequence[_Item], number: int, per_page: int = PER_PAGE) -> Paged[_Item]:
    """The page of this number, or the last one where there are fewer."""
    last = max(1, -(-len(items) // per_page))
    number = min(number, last)
    return Paged(items[(number - 1) * per_page : number * per_page], len(items), number, per_page)


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
        return {name: value.strip() for name, value in (await form_of(self.request)).items()}

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
        frame = {
            "prefix": PREFIX,
            "pages": self.console.pages,
            "here": self.request.path,
            "csrf": self.session.csrf,
            "version": __version__,
            # Not to a browser that was not let in.
            "fleet_name": self.console.name if self.session.cookie else "",
        }
        page = environment().get_template(template).render(**frame, **values)
        return web.Response(text=page, status=status, content_type="text/html")

    def part(self, macro: str, /, *values: Any) -> str:
        """A part of a page, to be put in its place."""
        return str(getattr(environment().get_template("_macros.html").module, macro)(*values))

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
