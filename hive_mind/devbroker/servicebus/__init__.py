"""Queues, topics and subscriptions, with the semantics of Azure Service Bus: their messages, settings, rules and errors.

A message is read and checked once as it comes in, kept with number and state, rendered as it goes out. A queue never looks into
`content`; what it adds (numbers, locks, counts) is written into header and annotations at the end. Settings have the names of
Microsoft's Config.json; `MaxMessageCount` is ours, because messages are kept in memory here. Rules are correlation filters, which
name values that properties of a message have to equal; SQL filters and actions are the service's own, and refused by name. Errors
are in the service's words where its SDKs depend on them.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from math import inf
from typing import Any
from uuid import UUID, uuid4

import msgspec

from hive_mind.devbroker.amqp import NOT_ALLOWED, RESOURCE_LIMIT, AmqpError, Symbol, Timestamp, UInt, described, encode
from hive_mind.devbroker.amqp.entity import (
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
    messages_of,
    split,
)
from hive_mind.errors import InvalidInput
from hive_mind.model.decoding import converted

RULES_MAX = 100

# By lower-case name: names of system properties are the same in any case. `subject` is the younger name of `label`.
SYSTEM_NAMES = {
    "contenttype": "content_type",
    "correlationid": "correlation_id",
    "label": "subject",
    "messageid": "message_id",
    "replyto": "reply_to",
    "replytosessionid": "reply_to_session_id",
    "sessionid": "session_id",
    "subject": "subject",
    "to": "to",
}


@dataclass(frozen=True, slots=True)
class Properties:
    """The properties that rules look at. System properties go by the names on the right of `SYSTEM_NAMES`."""

    system: Mapping[str, object]
    application: Mapping[str, object]


Filter = Callable[[Properties], bool]


@dataclass(frozen=True, slots=True)
class Correlation:
    """The values that properties have to equal."""

    system: Mapping[str, Any]
    application: Mapping[str, Any]

    def __call__(self, properties: Properties) -> bool:
        # A plain loop is twice as fast as `all`, and this is done for every message and every rule of a topic.
        for name, value in self.application.items():
            if not _is_same(properties.application.get(name), value):
                return False
        return not self.system or all(properties.system.get(name) == value for name, value in self.system.items())


def rules_of(configured: Iterable[Mapping[str, Any]]) -> Filter:
    """From the `Rules` of a subscription in Config.json; without any it gets everything. Raises `InvalidInput`."""
    filters: dict[str, Filter] = {}
    for entry in configured:
        name, correlation = _configured(entry)
        if name in filters:
            raise InvalidInput(f"there is a rule {name!r} already")
        filters[name] = correlation
    if len(filters) > RULES_MAX:
        raise InvalidInput(f"a subscription has at most {RULES_MAX} rules")
    each = tuple(filters.values())
    return lambda properties: not each or any(is_match(properties) for is_match in each)


def _configured(entry: Mapping[str, Any]) -> tuple[str, Filter]:
    name, rule = entry.get("Name"), entry.get("Properties")
    if not isinstance(name, str) or not isinstance(rule, Mapping):
        raise InvalidInput(f"a rule has a Name and Properties, unlike {entry!r}")
    if rule.get("Action"):
        raise InvalidInput(f"rule {name!r}: actions are not supported")
    if (kind := rule.get("FilterType", "Correlation")) != "Correlation" or rule.get("SqlFilter"):
        kind = "Sql" if rule.get("SqlFilter") else kind
        raise InvalidInput(
            f"rule {name!r}: FilterType is Correlation here, not {kind!r}: "
            'name the values wanted, "CorrelationFilter": {"Properties": {"target": "agent-1"}}'
        )
    values = rule.get("CorrelationFilter") or {}
    if not isinstance(values, Mapping):
        raise InvalidInput(f"rule {name!r}: CorrelationFilter is an object, not {values!r}")
    return name, _correlation(name, values)


def _correlation(name: str, values: Mapping[Any, Any]) -> Correlation:
    system: dict[str, Any] = {}
    application: Mapping[str, Any] = {}
    for key, value in values.items():
        plain = str(key).replace("-", "").lower()
        if plain == "properties" and isinstance(value, Mapping):
            application = {str(of): each for of, each in value.items()}
        elif plain in SYSTEM_NAMES and (value is None or isinstance(value, str)):
            system |= {} if value is None else {SYSTEM_NAMES[plain]: value}
        elif value is not None:
            raise InvalidInput(f"rule {name!r}: {key!r} of a correlation filter can't be {value!r}")
    if not system and not application:
        raise InvalidInput(f"rule {name!r}: a correlation filter names at least one property")
    return Correlation(system, application)


def _is_same(value: Any, expected: Any) -> bool:
    """Equal and of one kind: `True` is not 1."""
    return bool(value == expected) and isinstance(value, bool) is isinstance(expected, bool)


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
    return [letter_of(message, now) for message in messages_of(split(payload), fmt)]


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
    reasons: Mapping[Any, Any] = {name: text for name, text in why.items() if text}
    if not reasons:
        return letter
    return replace(letter, content=letter.content.with_application({**letter.content.application_map, **reasons}))


def text_of(value: object) -> str:
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
    notes = [
        (_SEQUENCE, encode(message.sequence)),
        (_ORIGIN, encode(message.origin)),
        (_ENQUEUED, encode(milliseconds(message.enqueued_at))),
    ]
    if message.died_in:
        notes.append((_DIED_IN, encode(message.died_in)))
    durable, priority, ttl, first_acquirer, _ = message.letter.content.header_fields
    first = described(HEADER, [encode(field) for field in (durable, priority, ttl, first_acquirer, UInt(message.attempts))])
    if locked_until is not None:
        notes.append((_LOCKED_UNTIL, encode(milliseconds(locked_until))))
        first += annotations_section(DELIVERY_ANNOTATIONS, {_TOKEN: message.token})
    return message.letter.content.encoded(header=first, annotations=notes)


def milliseconds(time: float) -> Timestamp:
    return Timestamp(int(time * 1000))


def quota_reached(message: str) -> AmqpError:
    return AmqpError(RESOURCE_LIMIT, f"com.microsoft:quota-exceeded: {message}; receive messages, also dead ones, to make room")


def wrong_argument(message: str) -> AmqpError:
    return AmqpError(ARGUMENT, message)


def not_allowed(message: str) -> AmqpError:
    return AmqpError(NOT_ALLOWED, message)


@dataclass(frozen=True)
class QueueSettings:
    """Of a queue or a subscription; a topic uses those that go with sending."""

    lock_s: float = 60.0
    deliveries_max: int = 10
    ttl_s: float = inf
    buries_expired: bool = False
    """Whether a message that expires becomes a dead letter. Else it is gone."""
    duplicate_window_s: float = 0.0
    """How long message ids are remembered; 0: they are not looked at."""
    messages_max: int = 100_000
    bytes_max: int = 1024 << 20

    def __post_init__(self) -> None:
        for name in ("lock_s", "deliveries_max", "ttl_s", "messages_max", "bytes_max"):
            if not getattr(self, name) > 0:
                raise InvalidInput(f"{name} of a queue must be more than 0, not {getattr(self, name)}")


class _Properties(msgspec.Struct, rename="pascal", forbid_unknown_fields=True):
    lock_duration: timedelta | float = QueueSettings.lock_s
    max_delivery_count: int = QueueSettings.deliveries_max
    default_message_time_to_live: timedelta | float = QueueSettings.ttl_s
    dead_lettering_on_message_expiration: bool = False
    requires_duplicate_detection: bool = False
    duplicate_detection_history_time_window: timedelta | float = 600.0
    max_message_count: int = QueueSettings.messages_max
    max_size_in_megabytes: int = QueueSettings.bytes_max >> 20
    forward_to: str = ""
    forward_dead_lettered_messages_to: str = ""
    requires_session: bool = False


def settings_of(properties: Mapping[str, Any]) -> QueueSettings:
    """From the `Properties` of an entity; durations are texts such as PT1M30S, or seconds. Raises `InvalidInput`."""
    try:
        read = converted(dict(properties), _Properties)
    except msgspec.ValidationError as error:
        raise InvalidInput(str(error)) from None
    for name in ("ForwardTo", "ForwardDeadLetteredMessagesTo", "RequiresSession"):
        if properties.get(name):
            raise InvalidInput(f"{name} is not supported by this broker; leave it out")
    return QueueSettings(
        lock_s=_seconds(read.lock_duration),
        deliveries_max=read.max_delivery_count,
        ttl_s=_seconds(read.default_message_time_to_live),
        buries_expired=read.dead_lettering_on_message_expiration,
        duplicate_window_s=_seconds(read.duplicate_detection_history_time_window) if read.requires_duplicate_detection else 0.0,
        messages_max=read.max_message_count,
        bytes_max=read.max_size_in_megabytes << 20,
    )


def _seconds(duration: timedelta | float) -> float:
    return duration.total_seconds() if isinstance(duration, timedelta) else duration
