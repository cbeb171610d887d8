"""Requests about the messages of a queue: renew locks, peek, settle. An unknown operation is answered with status 501."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from hive_mind.devbroker.amqp.encoding import AmqpError, Array
from hive_mind.devbroker.amqp.sections import Message
from hive_mind.devbroker.entity import ManagementReply
from hive_mind.devbroker.requests import READ
from hive_mind.devbroker.servicebus.message import milliseconds, rendered, text_of, wrong_argument
from hive_mind.devbroker.servicebus.queue import Queue

# An answer is one message; clients ask again for what is beyond it.
PEEK_MAX = 250
PEEK_BYTES_MAX = 1 << 20

_PREFIX = "com.microsoft:"


class Request:
    """The operation, and its parameters by name; each reader raises `AmqpError` when one is missing or of another type."""

    def __init__(self, message: Message) -> None:
        body = message.value()
        self.operation = text_of(message.application_map.get("operation", "")).removeprefix(_PREFIX)
        self._body: Mapping[Any, Any] = body if isinstance(body, Mapping) else {}

    def number(self, name: str, default: int) -> int:
        value = self._body.get(name, default)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._wrong(name, "a whole number")
        return int(value)

    def count(self, name: str, most: int) -> int:
        """How many the client wants: at least none, and not more than `most`."""
        return min(max(self.number(name, most), 0), most)

    def text(self, name: str) -> str:
        value = self._body.get(name)
        if not isinstance(value, str):
            raise self._wrong(name, "a text")
        return str(value)

    def text_or_empty(self, name: str) -> str:
        return "" if self._body.get(name) is None else self.text(name)

    def tokens(self, name: str) -> list[UUID]:
        values = self._body.get(name)
        if not isinstance(values, list) or not all(isinstance(value, UUID) for value in values):
            raise self._wrong(name, "a list of UUIDs")
        return list(values)

    def _wrong(self, name: str, wish: str) -> AmqpError:
        return wrong_argument(f"{self.operation} needs {name!r}: {wish}")


def manage_queue(message: Message, queue: Queue, now: float) -> ManagementReply:
    """Do what was asked of a queue or a subscription. Raises `AmqpError`."""
    request = Request(message)
    operation = OPERATIONS.get(request.operation)
    return operation(request, queue, now) if operation is not None else unknown_operation(request)


def unknown_operation(request: Request) -> ManagementReply:
    """The answer to what an entity does not know."""
    hint = ": it is a queue or a topic, so give the hub another name" if request.operation == READ else ""
    return ManagementReply(501, f"this entity does not know the operation {request.operation!r}{hint}", {})


def _renew(request: Request, queue: Queue, now: float) -> ManagementReply:
    until = queue.renew(request.tokens("lock-tokens"), now)
    return ManagementReply(200, "OK", {"expirations": Array(map(milliseconds, until))})


def _peek(request: Request, queue: Queue, now: float) -> ManagementReply:
    count, messages = request.count("message-count", PEEK_MAX), list[bytes]()
    for message in queue.peek(request.number("from-sequence-number", 1), now):
        encoded = rendered(message)
        if len(messages) == count or (messages and sum(map(len, messages)) + len(encoded) > PEEK_BYTES_MAX):
            break
        messages.append(encoded)
    return (
        ManagementReply(200, "OK", {"messages": [{"message": each} for each in messages]})
        if messages
        else ManagementReply(204, "No Content", {})
    )


def _settle(request: Request, queue: Queue, now: float) -> ManagementReply:
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
    return ManagementReply(200, "OK", {})


OPERATIONS: Mapping[str, Callable[[Request, Queue, float], ManagementReply]] = {
    "renew-lock": _renew,
    "peek-message": _peek,
    "update-disposition": _settle,
}
