"""Management requests: about messages (renew, peek, receive deferred, schedule, cancel, settle), about sessions, about rules.

An operation that is unknown is answered with status 501.
"""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from hive_mind.devbroker.amqp.error import NOT_FOUND, AmqpError
from hive_mind.devbroker.amqp.sections import Message, split
from hive_mind.devbroker.amqp.types import Array, Described, Int, ULong
from hive_mind.devbroker.entity import Reply
from hive_mind.devbroker.requests import READ
from hive_mind.devbroker.servicebus.errors import wrong_argument
from hive_mind.devbroker.servicebus.message import Letter, letter_of, milliseconds, rendered
from hive_mind.devbroker.servicebus.queue import Queue
from hive_mind.devbroker.servicebus.request import Request
from hive_mind.devbroker.servicebus.rules import RULES_MAX, Correlation, Rule, Rules, correlation_rule, sql_rule
from hive_mind.devbroker.servicebus.topic import Topic
from hive_mind.errors import InvalidInput

_PAGE_MAX = 1000

# From here on (the year 10000) a time means "whenever"; clients' date types end a little before or after it.
_WHENEVER_MS = 253_402_300_000_000

# Descriptors of the lists a rule is answered as; the numbers are the service's.
_RULE, _NO_ACTION = ULong(0x13700000004), ULong(0x13700000005)
_SQL, _TRUE, _CORRELATION = ULong(0x1370000006), ULong(0x1370000007), ULong(0x1370000009)
_CORRELATION_ORDER = "correlation_id message_id to reply_to subject session_id reply_to_session_id content_type".split()

# An answer is one message; clients ask again for what is beyond it.
PEEK_MAX = 250
PEEK_BYTES_MAX = 1 << 20

_FIRST_SETTLED = 0


def _renew_session(request: Request, queue: Queue, now: float) -> Reply:
    session = _held_session(request, queue, now)
    return Reply(200, "OK", {"expiration": milliseconds(queue.sessions.renew(session, now))})


def _get_state(request: Request, queue: Queue, now: float) -> Reply:
    session = _held_session(request, queue, now)
    return Reply(200, "OK", {"session-state": queue.sessions.state(session)})


def _set_state(request: Request, queue: Queue, now: float) -> Reply:
    session = _held_session(request, queue, now)
    queue.sessions.set_state(session, request.binary_or_none("session-state"), now)
    return Reply(200, "OK", {})


def _enumerate_sessions(request: Request, queue: Queue, now: float) -> Reply:
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
    "renew-session-lock": _renew_session,
    "get-session-state": _get_state,
    "set-session-state": _set_state,
    "get-message-sessions": _enumerate_sessions,
}


def _add_rule(request: Request, rules: Rules) -> Reply:
    try:
        rules.add(_rule(request.text("rule-name"), request.mapping("rule-description")))
    except InvalidInput as error:
        raise wrong_argument(str(error)) from error
    return Reply(200, "OK", {})


def _remove_rule(request: Request, rules: Rules) -> Reply:
    name = request.text("rule-name")
    if not rules.remove(name):
        raise AmqpError(NOT_FOUND, f"there is no rule {name!r}")
    return Reply(200, "OK", {})


def _enumerate_rules(request: Request, rules: Rules) -> Reply:
    skip = max(request.number("skip", 0), 0)
    page = [{"rule-description": _described(rule)} for rule in islice(rules, skip, skip + request.count("top", RULES_MAX))]
    return Reply(200, "OK", {"rules": page}) if page else Reply(204, "No Content", {})


def _rule(name: str, description: Mapping[Any, Any]) -> Rule:
    action = description.get("sql-rule-action")
    if isinstance(action, Mapping) and action.get("expression"):
        raise InvalidInput("actions are not supported")
    sql, correlation = description.get("sql-filter"), description.get("correlation-filter")
    if isinstance(sql, Mapping):
        return sql_rule(name, sql.get("expression"))
    if isinstance(correlation, Mapping):
        return correlation_rule(name, correlation)
    raise InvalidInput("a rule has a sql-filter or a correlation-filter")


def _described(rule: Rule) -> Described:
    return Described(_RULE, [_described_filter(rule), Described(_NO_ACTION, []), rule.name])


def _described_filter(rule: Rule) -> Described:
    if isinstance(rule.matches, Correlation):
        wanted = rule.matches
        return Described(_CORRELATION, [*map(wanted.system.get, _CORRELATION_ORDER), dict(wanted.application)])
    return Described(_TRUE, []) if rule.expression == "1=1" else Described(_SQL, [rule.expression])


RULE_OPERATIONS: Mapping[str, Callable[[Request, Rules], Reply]] = {
    "add-rule": _add_rule,
    "remove-rule": _remove_rule,
    "enumerate-rules": _enumerate_rules,
}


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
    hint = ": it is a queue or a topic, so give the hub another name" if request.operation == READ else ""
    return Reply(501, f"this entity does not know the operation {request.operation!r}{hint}", {})


MESSAGE_OPERATIONS: Mapping[str, Callable[[Request, Queue, float], Reply]] = {
    "renew-lock": _renew,
    "peek-message": _peek,
    "receive-by-sequence-number": _fetch,
    "schedule-message": _schedule,
    "cancel-scheduled-message": _cancel,
    "update-disposition": _settle,
}
