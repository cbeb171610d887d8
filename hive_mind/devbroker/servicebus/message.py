"""A message as a queue sees it: read and checked once as it comes in, kept with number and state, rendered as it goes out.

The queue never looks into `content`; what it adds (numbers, locks, counts) is written into header and annotations at the end.

The errors of Service Bus, in the service's words where its SDKs depend on them.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any
from uuid import UUID, uuid4

from hive_mind.devbroker.amqp.encoding import described, encode
from hive_mind.devbroker.amqp.error import NOT_ALLOWED, RESOURCE_LIMIT, AmqpError
from hive_mind.devbroker.amqp.sections import (
    CONTENT_TYPE,
    CORRELATION_ID,
    DELIVERY_ANNOTATIONS,
    HEADER,
    MESSAGE_ID,
    PROPERTIES,
    REPLY_TO,
    REPLY_TO_SESSION_ID,
    SESSION_ID,
    SUBJECT,
    TO,
    Message,
    annotations_section,
    unbatch,
)
from hive_mind.devbroker.amqp.types import Symbol, Timestamp, UInt
from hive_mind.devbroker.servicebus.rules import Properties

ID_LENGTH_MAX = 128

_TIME_TO_LIVE, _ABSOLUTE_EXPIRY = 2, 8
_SYSTEM = {
    "content_type": CONTENT_TYPE,
    "correlation_id": CORRELATION_ID,
    "message_id": MESSAGE_ID,
    "reply_to": REPLY_TO,
    "reply_to_session_id": REPLY_TO_SESSION_ID,
    "session_id": SESSION_ID,
    "subject": SUBJECT,
    "to": TO,
}

_SEQUENCE = encode(Symbol("x-opt-sequence-number"))
_ORIGIN = encode(Symbol("x-opt-enqueue-sequence-number"))
_ENQUEUED = encode(Symbol("x-opt-enqueued-time"))
_LOCKED_UNTIL = encode(Symbol("x-opt-locked-until"))
_DIED_IN = encode(Symbol("x-opt-deadletter-source"))
_TOKEN = Symbol("x-opt-lock-token")
_SCHEDULED = "x-opt-scheduled-enqueue-time"

ARGUMENT = "com.microsoft:argument-error"


@dataclass(frozen=True, slots=True)
class BrokeredMessage:
    """`id` as the sender gave it."""

    content: Message
    id: Hashable | None = None
    ttl_s: float = inf
    size: int = 0


def letters_of(payload: bytes, fmt: int, now: float) -> list[BrokeredMessage]:
    """Those of a delivery: one, or a batch. Raises `AmqpError` or `DecodeError`."""
    return [letter_of(message, now) for message in unbatch(payload, fmt)]


def letter_of(message: Message, now: float) -> BrokeredMessage:
    """Read what a queue needs. Raises `AmqpError` for ids of wrong types or lengths, and for what is to be sent later."""
    if message.annotations and message.annotation_map.get(_SCHEDULED) is not None:
        raise wrong_argument("this broker sends everything at once; it schedules no messages")
    return BrokeredMessage(
        message if message.message_id is not None else _named(message),
        id=_id_of(message.message_id),
        ttl_s=_ttl_of(message, now),
        size=sum(map(len, (message.header, message.annotations, message.properties, message.application, message.body))),
    )


def properties_of(message: Message) -> Properties:
    """The properties that rules look at. Senders may write names as bytes."""
    fields = message.property_fields
    system = {name: fields[place] for name, place in _SYSTEM.items() if fields[place] is not None}
    return Properties(system, {text_of(name): value for name, value in message.application_map.items()})


def buried(letter: BrokeredMessage, reason: str, description: str) -> BrokeredMessage:
    """The letter with why it is dead, which receivers of dead letters read in its application properties."""
    why = {"DeadLetterReason": reason, "DeadLetterErrorDescription": description}
    said: Mapping[Any, Any] = {name: text for name, text in why.items() if text}
    if not said:
        return letter
    return replace(letter, content=letter.content.with_application({**letter.content.application_map, **said}))


def text_of(value: object) -> str:
    """A text that may have come as bytes."""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _named(message: Message) -> Message:
    """With an id of ours: clients tell messages apart by it, and rely on the service to give one where the sender did not."""
    fields = (uuid4().hex, *message.property_fields[1:])
    return replace(message, properties=described(PROPERTIES, map(encode, fields)))


def _id_of(value: object) -> Hashable | None:
    if value is None or (isinstance(value, str | bytes) and len(value) <= ID_LENGTH_MAX) or isinstance(value, int | UUID):
        return value
    raise wrong_argument(f"a message id is a string of up to {ID_LENGTH_MAX} characters, a number or a UUID")


def _ttl_of(message: Message, now: float) -> float:
    """SDKs write it twice, and some cap the first at 49 days. A time to live of 0 means none was given."""
    ttl_ms, expiry_ms = message.header_fields[_TIME_TO_LIVE], message.property_fields[_ABSOLUTE_EXPIRY]
    if isinstance(ttl_ms, int) and ttl_ms > 0:
        return ttl_ms / 1000
    return max(expiry_ms / 1000 - now, 0.0) if isinstance(expiry_ms, int) and expiry_ms > 0 else inf


@dataclass(slots=True)
class StoredMessage:
    """`attempts` are deliveries that failed. `origin` is its number where it was sent to: the topic, or the queue it died in."""

    letter: BrokeredMessage
    sequence: int
    origin: int
    enqueued_at: float
    expires_at: float = inf
    attempts: int = 0
    token: UUID | None = None
    locked_until: float = 0.0
    died_in: str = ""


def rendered(message: StoredMessage, locked_until: float | None = None) -> bytes:
    """The encoded message; with its lock when `locked_until` is given."""
    notes = [
        (_SEQUENCE, encode(message.sequence)),
        (_ORIGIN, encode(message.origin)),
        (_ENQUEUED, encode(milliseconds(message.enqueued_at))),
    ]
    if message.died_in:
        notes.append((_DIED_IN, encode(message.died_in)))
    first = _header(message)
    if locked_until is not None:
        notes.append((_LOCKED_UNTIL, encode(milliseconds(locked_until))))
        first += annotations_section(DELIVERY_ANNOTATIONS, {_TOKEN: message.token})
    return message.letter.content.encoded(header=first, annotations=notes)


def tag_of(token: UUID) -> bytes:
    """A lock token as a delivery tag, in the order of bytes clients expect."""
    return token.bytes_le


def milliseconds(time: float) -> Timestamp:
    return Timestamp(int(time * 1000))


def _header(message: StoredMessage) -> bytes:
    durable, priority, ttl, first_acquirer, _ = message.letter.content.header_fields
    return described(HEADER, [encode(field) for field in (durable, priority, ttl, first_acquirer, UInt(message.attempts))])


def message_lock_lost() -> AmqpError:
    """The token locks nothing, or no longer."""
    return AmqpError("com.microsoft:message-lock-lost", "the lock expired, or the message was settled already; receive it again")


def quota_reached(what: str) -> AmqpError:
    """The sender has to wait until receivers made room."""
    return AmqpError(RESOURCE_LIMIT, f"com.microsoft:quota-exceeded: {what}; receive messages, also dead ones, to make room")


def wrong_argument(what: str) -> AmqpError:
    """A request or a message that can't be taken as it is."""
    return AmqpError(ARGUMENT, what)


def not_allowed(what: str) -> AmqpError:
    """A request that does not go with this kind of entity."""
    return AmqpError(NOT_ALLOWED, what)
