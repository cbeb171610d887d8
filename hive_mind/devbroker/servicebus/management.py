"""Requests about messages: renew locks, peek, fetch what was deferred, schedule and cancel, settle by token.

Those about sessions and rules have their own files. An operation nobody knows is answered with "not implemented".
"""

from collections.abc import Callable, Mapping

from hive_mind.devbroker.amqp.sections import Message, split
from hive_mind.devbroker.amqp.types import Array
from hive_mind.devbroker.entity import Reply
from hive_mind.devbroker.servicebus.errors import wrong_argument
from hive_mind.devbroker.servicebus.letters import Letter, letter_of
from hive_mind.devbroker.servicebus.queue import Queue
from hive_mind.devbroker.servicebus.rendering import milliseconds, rendered
from hive_mind.devbroker.servicebus.request import Request
from hive_mind.devbroker.servicebus.rule_requests import RULE_OPERATIONS
from hive_mind.devbroker.servicebus.rules import Rules
from hive_mind.devbroker.servicebus.session_requests import SESSION_OPERATIONS
from hive_mind.devbroker.servicebus.topic import Topic

# An answer is one message; clients ask again for what is beyond it.
PEEK_MAX = 250
PEEK_BYTES_MAX = 1 << 20

_FIRST_SETTLED = 0


def manage_queue(message: Message, queue: Queue, rules: Rules | None, now: float) -> Reply:
    """Do what was asked of a queue or a subscription. Raises `AmqpError`."""
    request = Request(message)
    if rules is not None and request.operation in RULE_OPERATIONS:
        return RULE_OPERATIONS[request.operation](request, rules)
    operation = MESSAGE_OPERATIONS.get(request.operation) or SESSION_OPERATIONS.get(request.operation)
    return operation(request, queue, now) if operation is not None else _unknown(request)


def manage_topic(message: Message, topic: Topic, now: float) -> Reply:
    """Do what was asked of a topic. Raises `AmqpError`."""
    request = Request(message)
    if request.operation == "schedule-message":
        return _scheduled(topic.send(_letters(request, now), now))
    if request.operation == "cancel-scheduled-message":
        topic.cancel(request.numbers("sequence-numbers"), now)
        return _done()
    return _unknown(request)


def _renew(request: Request, queue: Queue, now: float) -> Reply:
    until = queue.renew(request.tokens("lock-tokens"), now)
    return Reply(200, "OK", {"expirations": Array(map(milliseconds, until))})


def _peek(request: Request, queue: Queue, now: float) -> Reply:
    count, found = request.count("message-count", PEEK_MAX), list[bytes]()
    for kept in queue.peek(request.number("from-sequence-number", 1), request.text_or_none("session-id"), now):
        encoded = rendered(kept)
        if len(found) == count or (found and sum(map(len, found)) + len(encoded) > PEEK_BYTES_MAX):
            break
        found.append(encoded)
    return Reply(200, "OK", {"messages": [{"message": each} for each in found]}) if found else Reply(204, "No Content", {})


def _fetch(request: Request, queue: Queue, now: float) -> Reply:
    for_good = request.number("receiver-settle-mode", 1) == _FIRST_SETTLED
    found = queue.take_deferred(request.numbers("sequence-numbers"), now, for_good=for_good)
    if for_good:
        return Reply(200, "OK", {"messages": [{"message": rendered(kept)} for kept in found]})
    locked = [{"message": rendered(kept, queue.locked_until(kept)), "lock-token": kept.token} for kept in found]
    return Reply(200, "OK", {"messages": locked})


def _schedule(request: Request, queue: Queue, now: float) -> Reply:
    return _scheduled(queue.send(_letters(request, now), now))


def _cancel(request: Request, queue: Queue, now: float) -> Reply:
    queue.cancel(request.numbers("sequence-numbers"), now)
    return _done()


def _settle(request: Request, queue: Queue, now: float) -> Reply:
    status, tokens = request.text("disposition-status"), request.tokens("lock-tokens")
    queue.advance(now)
    for token in tokens:
        queue.locks.find(token)
    for token in dict.fromkeys(tokens):
        if status == "completed":
            queue.complete(token, now)
        elif status == "abandoned":
            queue.abandon(token, now)
        elif status == "defered":  # the service's own spelling
            queue.defer(token, now)
        elif status == "suspended":
            reason, description = request.text_or_none("deadletter-reason"), request.text_or_none("deadletter-description")
            queue.bury(token, now, reason or "", description or "")
        else:
            raise wrong_argument(f"a message can't be {status!r}")
    return _done()


def _letters(request: Request, now: float) -> list[Letter]:
    return [letter_of(split(encoded), now) for encoded in request.messages("messages")]


def _scheduled(numbers: list[int]) -> Reply:
    return Reply(200, "OK", {"sequence-numbers": Array(numbers)})


def _done() -> Reply:
    return Reply(200, "OK", {})


def _unknown(request: Request) -> Reply:
    # What clients of Event Hubs ask first.
    hint = ": it is a queue or a topic, so give the hub another name" if request.operation == "READ" else ""
    return Reply(501, f"this entity does not know the operation {request.operation!r}{hint}", {})


MESSAGE_OPERATIONS: Mapping[str, Callable[[Request, Queue, float], Reply]] = {
    "renew-lock": _renew,
    "peek-message": _peek,
    "receive-by-sequence-number": _fetch,
    "schedule-message": _schedule,
    "cancel-scheduled-message": _cancel,
    "update-disposition": _settle,
}
