"""A worker over HTTP: liveness, readiness, metrics, and requests to its agents for clients with the token.

    GET  /healthz                    200 while it works, 500 when it has to be started again
    GET  /readyz                     200 when all of it is of use, else 503 and why
    GET  /metrics                    text for Prometheus
    GET  /v1/status                  `WorkerStatus`
    GET  /v1/openapi.json            a description of /v1, for programs
    POST /v1/agents/{name}/{request} a request of `api.requests` → {"ok": …} or {"error": …, "kind": …}; with
                                     Accept: text/event-stream as server-sent events
    POST /v1/agents/{name}           the same with the request's name as `do`
    GET  /v1/agents/{name}/events    events of its runs, as server-sent events; ?since=ID goes on behind one
    POST /v1/leave                   {"timeout_s": …}: leave the hive for good
    GET  /v1/members                 the members, as each node here sees them: a list of `MembersSeen`
    POST /v1/evict                   {"member": …}: put another member out of the hive for good
    GET  /ui/                        pages for people, where its process was given some (`hive_mind.console`)
    POST /v1/hooks/{agent}/{name}    begin a run of an agent whose trigger has this hook; the body has its inputs
    GET  /v1/replies/{agent}/{token} the item that a notice's link is about; POST takes its decision

A client that sends the header Hive-Mind-Beats gets a blank every few seconds while its request to /v1 is under way, and may give
up where none comes (`runtime.worker_http`). Once one was sent the status is 200, and the body alone tells an error.

A request that is for the command line alone (`api.requests`) is refused without the header `Hive-Mind-Door: command`.

Paths below /v1 need the header `Authorization: Bearer <token>`; a hook does with `X-Hub-Signature-256: sha256=<hex>`, the
HMAC of its body by the secret HIVE_MIND_HOOK_SECRET, and a reply with its own token. The same `Idempotency-Key` begins one run.
Errors are JSON, and a defect is in the log alone. While HIVE_MIND_HTTP_REQUESTS_MAX requests to agents are under way, further
ones are refused: 503, with Retry-After and the kind `BackendBusy`; nothing of them was begun.
On loopback requests for another host are refused: a page in a browser here may have a name that leads to this address.

A reply as server-sent events: what is known before it, then the reply or why there is none.
"""

import asyncio
import hmac
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from ipaddress import ip_address
from math import ceil
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

import msgspec
from aiohttp import web

from hive_mind.agents.notices import REPLIES, SIGNATURE_HEADER, signature
from hive_mind.agents.runs.event_streams import beating
from hive_mind.api.request import OnEvent
from hive_mind.api.requests import REQUESTS
from hive_mind.clocks import FINISH_S, LEAVE_S
from hive_mind.counted import counted
from hive_mind.errors import (
    BackendBusy,
    BackendError,
    BackendNotInstalled,
    BackendThrottled,
    BackendTimeout,
    BackendUnavailable,
    ConfigError,
    HiveError,
    InvalidInput,
    reason_of,
)
from hive_mind.model.decoding import json_decoder
from hive_mind.runtime.metrics import WorkerCollector, exposition
from hive_mind.runtime.replies import refusal
from hive_mind.runtime.settings import HTTP_REQUESTS_MAX, secret
from hive_mind.runtime.worker_http import BEAT_S, BEATS, DOOR
from hive_mind.runtime.workers import WorkerStatus
from hive_mind.runtime.workers.openapi import document
from hive_mind.runtime.workers.replies import ReplyPages
from hive_mind.runtime.workers.site import STRANGERS, Site, admit, body_of
from hive_mind.runtime.workers.strangers import Strangers
from hive_mind.runtime.workers.worker import Worker

# A reader that does not read keeps no more than this waiting; figures of progress are left out then.
_WAITING_MAX = 1000


async def replying(work: Callable[[OnEvent], Coroutine[Any, Any, Any]]) -> AsyncIterator[bytes]:
    """Events of one request. It goes on where the reader stops."""
    events: asyncio.Queue[bytes] = asyncio.Queue(_WAITING_MAX)

    def on_event(name: str, says: object) -> None:
        if not events.full():
            events.put_nowait(_event(name, says))

    async def reply_bytes() -> bytes:
        try:
            return _event("reply", {"ok": await work(on_event)})
        except HiveError as error:
            return _event("error", refusal(error))

    task = asyncio.ensure_future(reply_bytes())
    while not task.done():
        coming = asyncio.ensure_future(events.get())
        await asyncio.wait([task, coming], return_when=asyncio.FIRST_COMPLETED)
        if coming.done():
            yield coming.result()
        else:
            coming.cancel()
    while not events.empty():
        yield events.get_nowait()
    yield task.result()


def _event(name: str, says: object) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(says))


_log = logging.getLogger(__name__)

# The time of some hundred questions.
_AGAIN_S = 1.0

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class _LeaveRequest(msgspec.Struct, forbid_unknown_fields=True):
    timeout_s: float = LEAVE_S


class _EvictRequest(msgspec.Struct, forbid_unknown_fields=True):
    member: str


class WorkerServer:
    """Open with `serve_worker`. `port` is where it listens."""

    def __init__(self, worker: Worker, token: str, requests_max: int) -> None:
        self._worker, self._token, self._requests_max = worker, token.encode(), requests_max
        self._under_way = 0
        self._runner: web.AppRunner | None = None
        self._is_local = True
        self.port = 0

    async def start(self, host: str, port: int, below: Mapping[str, web.Application]) -> None:
        """Listen; `below` are further applications by path. Raises `BackendError` for a port that is taken."""
        app = web.Application(middlewares=[self._guard_requests], client_max_size=self._worker.hosting.request_bytes_max)
        app.add_routes(
            [
                web.get("/healthz", self._health),
                web.get("/readyz", self._ready),
                web.get("/metrics", self._metrics),
                web.get("/v1/status", self._status),
                web.get("/v1/openapi.json", self._openapi),
                web.post("/v1/agents/{name}", self._call),
                web.post("/v1/agents/{name}/{request}", self._request),
                web.get("/v1/agents/{name}/events", self._events),
                web.post("/v1/leave", self._leave),
                web.get("/v1/members", self._members),
                web.post("/v1/evict", self._evict),
                web.post("/v1/hooks/{agent}/{name}", self._hook),
                *ReplyPages(self._worker).routes(),
            ]
        )
        strangers = app[STRANGERS] = Strangers()
        for path, further in below.items():
            app.add_subapp(path, further)
        self._is_local = is_loopback(host)
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=FINISH_S)
        await self._runner.setup()
        try:
            await Site(self._runner, host, port, strangers).start()
        except OSError as error:
            await self._runner.cleanup()
            message = f"port {port} on {host} can't be listened on: {reason_of(error)}; give another one"
            raise BackendError("http", message) from error
        self.port = self._runner.addresses[0][1]

    async def close(self) -> None:
        """Answer what is under way, and listen no more."""
        if self._runner is not None:
            await self._runner.cleanup()

    @web.middleware
    async def _guard_requests(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Check whether a client may ask, and give errors their form."""
        is_reply = _is_reply(request)
        # Its link has the name by which people reach this worker, and a token that a page of somebody else does not know.
        if self._is_local and not is_reply and not _is_local_host(request.headers.get("Host", "")):
            return _refused(421, ConfigError("this is a worker on loopback: ask for 127.0.0.1 or localhost"))
        is_open = is_reply or not request.path.startswith("/v1/")
        if not is_open and not self._is_known(request) and not await _is_signed(request):
            return _refused(401, ConfigError("a request needs the header Authorization: Bearer <token>"))
        if not is_open:
            admit(request)
        if _is_of_agents(request) and self._under_way >= self._requests_max:
            message = f"{counted(self._under_way, 'request')} under way are as many as it takes; ask again"
            return _refused(503, BackendBusy(self._worker.config.process, message, _AGAIN_S))
        # A task of its own: a caller that goes away stops nothing that was begun, and a defect ends this request alone.
        task = asyncio.ensure_future(handler(request))
        if _is_of_agents(request):
            self._count(1)
            task.add_done_callback(lambda _: self._count(-1))
        if BEATS in request.headers and request.method == "POST" and request.path.startswith("/v1/"):
            # A blank goes ahead of the reply for each beat that it takes: so its client knows that this process lives.
            await asyncio.wait([task], timeout=BEAT_S)
            if task.done() or "text/event-stream" in request.headers.get("Accept", ""):
                # A stream of events has beats of its own.
                await asyncio.wait([task])
                return _outcome_of(request, task)
            response = web.StreamResponse(headers={"Content-Type": "application/json"})
            with suppress(ConnectionError):
                await response.prepare(request)
                while not task.done():
                    await response.write(b" ")
                    await asyncio.wait([task], timeout=BEAT_S)
                outcome = _outcome_of(request, task)
                await response.write(
                    outcome.body if isinstance(outcome, web.Response) and isinstance(outcome.body, bytes) else b""
                )
            return response
        await asyncio.wait([task])
        return _outcome_of(request, task)

    def _count(self, change: int) -> None:
        self._under_way += change

    def _is_known(self, request: web.Request) -> bool:
        presented = request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
        return hmac.compare_digest(presented, b"Bearer " + self._token)

    async def _health(self, _: web.Request) -> web.StreamResponse:
        status = self._worker.status()
        return _json({"phase": status.phase, "error": status.error}, 500 if status.phase == "failed" else 200)

    async def _ready(self, _: web.Request) -> web.StreamResponse:
        reasons = reasons_not_ready(self._worker.status())
        return _json({"ready": not reasons, "reasons": reasons}, 503 if reasons else 200)

    async def _metrics(self, _: web.Request) -> web.StreamResponse:
        if not self._worker.config.seen.metrics:
            raise web.HTTPNotFound(reason="metrics are switched off")
        text = exposition(self._worker.figures, WorkerCollector(self._worker.status, self._worker.tallies))
        return web.Response(body=text, headers={"Content-Type": "text/plain; version=0.0.4"})

    async def _status(self, _: web.Request) -> web.StreamResponse:
        return _json(self._worker.status())

    async def _call(self, request: web.Request) -> web.StreamResponse:
        fields = await _body(request, dict[str, Any])
        request_name, name = str(fields.pop("do", "")), request.match_info["name"]
        _refuse_at_door(request, request_name)
        return _json({"id": fields.get("id", 0), "ok": await self._worker.call(name, request_name, **fields)})

    async def _request(self, request: web.Request) -> web.StreamResponse:
        fields = await _body(request, dict[str, Any])
        request_name, name = request.match_info["request"], request.match_info["name"]
        if request_name not in REQUESTS:
            raise web.HTTPNotFound(reason=f"there is no request {request_name[:40]!r}; /v1/openapi.json lists them")
        _refuse_at_door(request, request_name)
        if key := request.headers.get("Idempotency-Key"):
            fields |= {"key": key}
        if "text/event-stream" not in request.headers.get("Accept", ""):
            return _json({"ok": await self._worker.put(name, request_name, fields)})
        return await _streamed(request, replying(lambda on_event: self._worker.put(name, request_name, fields, on_event)))

    async def _openapi(self, _: web.Request) -> web.StreamResponse:
        return _json(document())

    async def _events(self, request: web.Request) -> web.StreamResponse:
        """Until the caller goes away. A client that was cut off resumes after the last id, which the header may give, too."""
        since = request.headers.get("Last-Event-ID") or request.query.get("since", "0")
        if not since.isdecimal():
            raise web.HTTPBadRequest(reason="since is the id of an event, a number")
        events = await self._worker.events(request.match_info["name"], int(since))
        return await _streamed(request, events)

    async def _hook(self, request: web.Request) -> web.StreamResponse:
        inputs = await _body(request, dict[str, Any])
        agent, hook = request.match_info["agent"], request.match_info["name"]
        key = request.headers.get("Idempotency-Key", "")
        return _json({"ok": await self._worker.call(agent, "hook", title=hook, inputs=inputs, source=key)})

    async def _leave(self, request: web.Request) -> web.StreamResponse:
        wish = await _body(request, _LeaveRequest)
        await self._worker.leave(wish.timeout_s)
        return _json({"ok": {}})

    async def _members(self, _: web.Request) -> web.StreamResponse:
        return _json({"ok": self._worker.members_seen()})

    async def _evict(self, request: web.Request) -> web.StreamResponse:
        await self._worker.evict((await _body(request, _EvictRequest)).member)
        return _json({"ok": {}})


async def serve_worker(
    worker: Worker,
    host: str,
    port: int,
    token: str,
    below: Mapping[str, web.Application] = MappingProxyType({}),
    requests_max: int = HTTP_REQUESTS_MAX,
) -> WorkerServer:
    """Answer for a worker; port 0 is any free one. `below`: further applications by path. Raises `BackendError`.

    `requests_max`: of requests to its agents that are under way.
    """
    server = WorkerServer(worker, token, requests_max)
    await server.start(host, port, below)
    return server


def reasons_not_ready(status: WorkerStatus) -> list[str]:
    """Why not all of a worker is of use, in words; empty when it is. One that learns or sleeps is of use."""
    reasons: list[str] = []
    if status.phase != "ready":
        reasons += [f"{status.process} is {status.phase}" + (f": {status.error}" if status.error else "")]
    reasons += [f"node {node.name}: {node.error or 'not a member yet'}" for node in status.nodes if not node.is_ready]
    reasons += [
        f"agent {agent_status.name}: {agent_status.error or agent_status.phase}"
        for agent_status in status.agents
        if agent_status.phase in ("failed", "starting")
    ]
    return reasons


def _outcome_of(request: web.Request, task: "asyncio.Future[web.StreamResponse]") -> web.StreamResponse:
    match task.exception():
        case None:
            return task.result()
        case HiveError() as error:
            return _refused(_code_of(error), error)
        case web.HTTPRequestEntityTooLarge() as error:
            most = f"{request.client_max_size:,}"
            return _refused(error.status, InvalidInput(f"a request has at most {most} bytes: give a long text in parts"))
        case web.HTTPException() as error:
            return _refused(error.status, ConfigError(error.reason))
        case error:
            path = REPLIES if _is_reply(request) else request.path
            _log.error("a request to %s failed", path, exc_info=error)
            return _refused(500, HiveError("this is a defect of the worker; its log says more"))


async def _streamed(request: web.Request, events: AsyncIterator[bytes]) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
    await response.prepare(request)
    # A caller that went away is only noticed by writing to it.
    with suppress(ConnectionError):
        async for event in beating(events, BEAT_S):
            await response.write(event or b": nothing new\n\n")
    return response


def _refuse_at_door(request: web.Request, request_name: str) -> None:
    """Raises `InvalidInput` for a request that other programs may not put. No wall: a client with the token says which it is."""
    if request_name in REQUESTS and request.headers.get(DOOR) != "command" and "http" not in REQUESTS[request_name].doors:
        raise InvalidInput(f"{request_name} is for the command line alone; /v1/openapi.json lists what programs may ask")


def _is_reply(request: web.Request) -> bool:
    """A reply by link: its token says what it may."""
    return request.path.startswith(f"{REPLIES}/")


async def _is_signed(request: web.Request) -> bool:
    hook_secret, presented = secret("HOOK_SECRET"), request.headers.get(SIGNATURE_HEADER, "")
    if not request.path.startswith("/v1/hooks/") or not hook_secret:
        return False
    with suppress(InvalidInput):
        expected = signature(hook_secret, await body_of(request))
        return hmac.compare_digest(presented.encode("utf-8", "surrogateescape"), expected.encode())
    return False


async def _body(request: web.Request, kind: Any) -> Any:
    raw = await body_of(request)
    try:
        return json_decoder(kind)(raw or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise web.HTTPBadRequest(reason=f"no request: {str(error)[:200]}") from error


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_of_agents(request: web.Request) -> bool:
    return request.method == "POST" and request.path.startswith("/v1/agents/")


def _is_local_host(header: str) -> bool:
    try:
        return not header or is_loopback(urlsplit(f"//{header}").hostname or "")
    except ValueError:
        return False


def _json(value: object, status: int = 200) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), status=status, content_type="application/json")


def _refused(status: int, error: HiveError) -> web.Response:
    response = _json(refusal(error), status)
    if isinstance(error, BackendThrottled) and error.retry_after_s:
        response.headers["Retry-After"] = str(ceil(error.retry_after_s))
    return response


def _code_of(error: HiveError) -> int:
    match error:
        case BackendNotInstalled():
            return 501
        case ConfigError():
            return 400
        case BackendUnavailable() | BackendThrottled():
            return 503
        case BackendTimeout():
            return 504
    return 502
