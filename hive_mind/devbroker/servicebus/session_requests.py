"""Requests about the sessions of a queue: renew, their state, which there are."""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from hive_mind.devbroker.amqp.types import Array, Int
from hive_mind.devbroker.entity import Reply
from hive_mind.devbroker.servicebus.queue import Queue
from hive_mind.devbroker.servicebus.rendering import milliseconds
from hive_mind.devbroker.servicebus.request import Request

_PAGE_MAX = 1000

# From here on (the year 10000) a time means "whenever"; clients' date types end a little before or after it.
_WHENEVER_MS = 253_402_300_000_000


def _renew(request: Request, queue: Queue, now: float) -> Reply:
    session = _held_session(request, queue, now)
    return Reply(200, "OK", {"expiration": milliseconds(queue.sessions.renew(session, now))})


def _get_state(request: Request, queue: Queue, now: float) -> Reply:
    session = _held_session(request, queue, now)
    return Reply(200, "OK", {"session-state": queue.sessions.state(session)})


def _set_state(request: Request, queue: Queue, now: float) -> Reply:
    session = _held_session(request, queue, now)
    queue.sessions.set_state(session, request.binary_or_none("session-state"), now)
    return Reply(200, "OK", {})


def _enumerate(request: Request, queue: Queue, now: float) -> Reply:
    queue.advance(now)
    since_ms = request.number("last-updated-time", _WHENEVER_MS)
    sessions = queue.active_sessions() if since_ms >= _WHENEVER_MS else queue.sessions.stored_since(since_ms / 1000)
    skip = max(request.number("skip", 0), 0)
    page: list[Any] = list(islice(sessions, skip, skip + request.count("top", _PAGE_MAX)))
    if not page:
        return Reply(204, "No Content", {})
    return Reply(200, "OK", {"skip": Int(skip + len(page)), "sessions-ids": Array(page)})


def _held_session(request: Request, queue: Queue, now: float) -> str:
    """The session a request is about. Raises `AmqpError` when nobody holds it."""
    queue.advance(now)
    return queue.sessions.lease_of(request.text("session-id")).session


SESSION_OPERATIONS: Mapping[str, Callable[[Request, Queue, float], Reply]] = {
    "renew-session-lock": _renew,
    "get-session-state": _get_state,
    "set-session-state": _set_state,
    "get-message-sessions": _enumerate,
}
