"""Requests about the messages of a queue: renew locks, peek, settle. An unknown operation is answered with status 501."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from hive_mind.devbroker.amqp.sections import Message
from hive_mind.devbroker.amqp.types import Array
from hive_mind.devbroker.entity import Reply
from hive_mind.devbroker.requests import READ
from hive_mind.devbroker.servicebus.errors import wrong_argument
from hive_mind.devbroker.servicebus.message import milliseconds, rendered
from hive_mind.devbroker.servicebus.queue import Queue
from hive_mind.devbroker.servicebus.request import Request

# An answer is one message; clients ask again for what is beyond it.
PEEK_MAX = 250
PEEK_BYTES_MAX = 1 << 20


def manage_queue(message: Message, queue: Queue, now: float) -> Reply:
    """Do what was asked of a queue or a subscription. Raises `AmqpError`."""
    request = Request(message)
    operation = OPERATIONS.get(request.operation)
    return operation(request, queue, now) if operation is not None else unknown_operation(request)


def unknown_operation(request: Request) -> Reply:
    """The answer to what an entity does not know."""
    hint = ": it is a queue or a topic, so give the hub another name" if request.operation == READ else ""
    return Reply(501, f"this entity does not know the operation {request.operation!r}{hint}", {})


def _renew(request: Request, queue: Queue, now: float) -> Reply:
    until = queue.renew(request.tokens("lock-tokens"), now)
    return Reply(200, "OK", {"expirations": Array(map(milliseconds, until))})


def _peek(request: Request, queue: Queue, now: float) -> Reply:
    count, found = request.count("message-count", PEEK_MAX), list[bytes]()
    for kept in queue.peek(request.number("from-sequence-number", 1), now):
        encoded = rendered(kept)
        if len(found) == count or (found and sum(map(len, found)) + len(encoded) > PEEK_BYTES_MAX):
            break
        found.append(encoded)
    return Reply(200, "OK", {"messages": [{"message": each} for each in found]}) if found else Reply(204, "No Content", {})


def _settle(request: Request, queue: Queue, now: float) -> Reply:
    status, tokens = request.text("disposition-status"), request.tokens("lock-tokens")
    reason, description = request.text_or_empty("deadletter-reason"), request.text_or_empty("deadletter-description")
    settle: Mapping[str, Callable[[UUID], Any]] = {
        "completed": lambda token: queue.complete(token, now),
        "abandoned": lambda token: queue.abandon(token, now),
        "suspended": lambda token: queue.bury(token, now, reason, description),
    }
    if status not in settle:
        raise wrong_argument(f"a message can't be {status!r}")
    queue.advance(now)
    for token in tokens:
        queue.locks.find(token)
    for token in dict.fromkeys(tokens):
        settle[status](token)
    return Reply(200, "OK", {})


OPERATIONS: Mapping[str, Callable[[Request, Queue, float], Reply]] = {
    "renew-lock": _renew,
    "peek-message": _peek,
    "update-disposition": _settle,
}
