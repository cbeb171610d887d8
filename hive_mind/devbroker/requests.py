"""`$cbs` and `$management`: a request comes on one link, and its answer goes out on another link of the same session.

`$cbs` takes tokens; `$management` hands a request to the entity it is about.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from hive_mind.devbroker.amqp.decoding import DecodeError
from hive_mind.devbroker.amqp.encoding import NOT_FOUND, RESOURCE_LIMIT, SERVER_BUSY, UNAUTHORIZED, AmqpError, Int, Symbol
from hive_mind.devbroker.amqp.sections import CORRELATION_ID, REPLY_TO, Message, split, value_message
from hive_mind.devbroker.amqp.switchboard import RoutedLink, Switchboard
from hive_mind.devbroker.entity import DeliveryOutcome, ManagementReply

CBS, MANAGEMENT = "$cbs", "$management"
READ = "READ"
"""The operation that clients of Event Hubs ask first, and no others."""

# Audiences of one connection, and answers that its client does not fetch.
_AUDIENCES_MAX, _ANSWERS_MAX, _ANSWERS_BYTES_MAX = 1024, 256, 4 << 20

_STATUS = {
    NOT_FOUND: 404,
    UNAUTHORIZED: 401,
    SERVER_BUSY: 503,
    "com.microsoft:auth-failed": 401,
    "com.microsoft:message-not-found": 404,
    "com.microsoft:message-lock-lost": 410,
    "com.microsoft:session-lock-lost": 410,
    "com.microsoft:timeout": 408,
    "amqp:internal-error": 500,
}

# Takes the request and the link it came on. Raises `AmqpError`.
Handler = Callable[[RoutedLink, Message], ManagementReply]


# For a request and its link, the kind and the address under which a fault would strike.
Place = Callable[[RoutedLink, Message], tuple[str, str]]


class RequestEntity:
    """Answers the requests that come to one address by one handler. To a link it is what an `entity.Entity` is."""

    def __init__(self, handler: Handler, place: Place) -> None:
        self._handler, self._place = handler, place
        self._answers: WeakKeyDictionary[RoutedLink, deque[bytes]] = WeakKeyDictionary()

    def on_attach(self, link: RoutedLink) -> None:
        if link.is_sender:
            self._answers[link] = deque()

    def on_detach(self, link: RoutedLink) -> None:
        self._answers.pop(link, None)

    def on_message(self, link: RoutedLink, payload: bytes, fmt: int) -> None:  # noqa: ARG002 - a request has one format
        request = split(payload)
        self._answer(link, request, lambda: self._handler(link, request))

    def refuse(self, link: RoutedLink, payload: bytes, error: AmqpError) -> None:
        self._answer(link, split(payload), partial(_raise, error))

    def fault_place(self, link: RoutedLink, payload: bytes) -> tuple[str, str]:
        """Under which kind and address a fault would strike this request. Raises `DecodeError`."""
        return self._place(link, split(payload))

    def _answer(self, link: RoutedLink, request: Message, handle: Callable[[], ManagementReply]) -> None:
        answers = self._answers_for(link, str(request.property_fields[REPLY_TO] or ""))
        if answers is None:
            raise AmqpError("amqp:not-allowed", "a request needs a receiving link at the same address for its answer")
        queue = self._answers[answers]
        if len(queue) >= _ANSWERS_MAX or sum(map(len, queue)) >= _ANSWERS_BYTES_MAX:
            raise AmqpError(RESOURCE_LIMIT, "too many answers wait to be received")
        queue.append(_answer_to(request, handle, link.peer.broker))
        self.pump(answers)

    def pump(self, link: RoutedLink) -> None:
        queue = self._answers.get(link)
        while queue and link.can_send:
            link.send(queue.popleft(), b"\0\0\0\1")

    def settle(self, link: RoutedLink, held: Any, outcome: DeliveryOutcome) -> None:
        """Answers are sent settled."""

    def _answers_for(self, link: RoutedLink, reply_to: str) -> RoutedLink | None:
        """The link the client named, or the newest at the same address."""
        address = link.address.lower()
        links = [sibling for sibling in link.siblings if sibling in self._answers and sibling.address.lower() == address]
        routed_links = [routed_link for routed_link in links if reply_to and routed_link.reply_address == reply_to]
        return next(reversed(routed_links or links), None)


def note_audience(link: RoutedLink, path: str, expires: float) -> None:
    """From now on the connection may use what lies at a path and below it."""
    token = link.peer.authorised
    if len(token) >= _AUDIENCES_MAX and path not in token:
        raise AmqpError(RESOURCE_LIMIT, "too many tokens on one connection")
    token[path] = expires


def _description(error: Exception) -> str:
    return error.description if isinstance(error, AmqpError) else str(error)


def _raise(error: AmqpError) -> ManagementReply:
    raise error


def _answer_to(request: Message, handle: Callable[[], ManagementReply], broker: Switchboard) -> bytes:
    condition = ""
    try:
        reply = handle()
    except (AmqpError, DecodeError) as error:
        condition = error.condition if isinstance(error, AmqpError) else "amqp:decode-error"
        reply = ManagementReply(_STATUS.get(condition, 400), _description(error), {})
        broker.count(f"failed requests {condition}")
    # Two spellings: one service's clients look for the first, the other's for the second.
    properties: dict[str, Any] = {"status-code": Int(reply.status), "status-description": reply.text}
    properties |= {"statusCode": Int(reply.status), "statusDescription": reply.text}
    if condition:
        properties["errorCondition"] = Symbol(condition)
    return value_message(reply.body, properties={CORRELATION_ID: request.message_id}, application=properties)
