"""Messages read and written: envelopes as messages of the SDK, and pings that only prove that a subscription hears.

How hives and nodes are called on Service Bus: labels, subscriptions, targets.

A subscription is called `<hive>.<node>`; a message says in its property `target` whether it is for `<hive>.<node>` or, as
`<hive>.*`, for everyone in the hive. So two correlation filters per subscription are enough, and hives share a topic unseen.
Entities have at most 50 characters, and upper and lower case are the same there: names that do not fit get a label with a hash.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from azure.servicebus import ServiceBusMessage, ServiceBusReceivedMessage

from hive_mind.bus import codec
from hive_mind.bus.base import BRIEF_S, EVERYONE, Envelope, Key, key_of
from hive_mind.regex import regex

_PING = "hive-mind.ping"
# A node that was away finds no heap of them.
_PING_TTL = timedelta(seconds=60)
# Less than a second is no limit to the SDK, and AMQP counts milliseconds in 32 bits.
_KEPT_S_MIN, _KEPT_S_MAX = 1.0, 49 * 86_400.0

TARGET = "target"
"""The property that filters look at."""

_PLAIN = regex(r"[a-z0-9](?:[a-z0-9_]|-(?!-))*")
_CHARS_MAX = 24
_SLUG_CHARS = 6
_MESSAGE_ID_CHARS_MAX = 128


@dataclass(slots=True, eq=False)
class LockedMessage:
    """A message that we hold the lock of. Its identity is the sequence number, not the lock."""

    message: ServiceBusReceivedMessage
    locked_at: float
    """By the event loop's clock, when the lock was last taken or renewed."""
    is_taken: bool = False
    """Whether a subscriber had it in hand."""

    @property
    def number(self) -> int | None:
        return self.message.sequence_number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LockedMessage) and self.number == other.number

    def __hash__(self) -> int:
        return hash(self.number)


def messages_of(envelope: Envelope, data: bytes, kept_s: float) -> list[ServiceBusMessage]:
    return [message_to(name, envelope, data, kept_s) for name in envelope.target]


def message_to(name: str, envelope: Envelope, data: bytes, kept_s: float) -> ServiceBusMessage:
    """It has everything filters and people want to see outside."""
    kept_s = min(kept_s, BRIEF_S) if envelope.is_brief else kept_s
    time_to_live = timedelta(seconds=max(kept_s, _KEPT_S_MIN)) if kept_s < _KEPT_S_MAX else None
    target, key = target_of(envelope.hive, name), key_of(envelope)
    return ServiceBusMessage(
        data,
        message_id=message_id_of(envelope.hive, key, target),
        application_properties={TARGET: target, "type": envelope.type},
        content_type="application/vnd.msgpack",
        correlation_id=envelope.correlation_id[:128] or None,
        time_to_live=time_to_live,
    )


def ping_of(target: str, token: str) -> ServiceBusMessage:
    return ServiceBusMessage(
        token.encode(),
        message_id=f"{_PING}/{token}",
        application_properties={TARGET: target},
        subject=_PING,
        time_to_live=_PING_TTL,
    )


def is_ping(message: ServiceBusReceivedMessage) -> bool:
    """Whether it is no envelope but a sign of life."""
    return message.subject == _PING


def data_of(message: ServiceBusReceivedMessage) -> bytes:
    """The bytes of a message; those of another program may have none, or some value instead."""
    body = message.raw_amqp_message.body
    if isinstance(body, bytes | str | Mapping) or body is None:
        return b""
    try:
        return b"".join(body)
    except TypeError:
        return b""


def envelope_of(message: ServiceBusReceivedMessage) -> Envelope:
    """Raises `WireError`."""
    return codec.decode(data_of(message))


def attempt_of(message: ServiceBusReceivedMessage) -> int:
    """Number of this delivery, from 1."""
    return int(message.delivery_count or 0) + 1


def lock_s_of(message: ServiceBusReceivedMessage) -> float | None:
    """An upper bound of how long locks last, by the broker's clock alone: ours may be wrong."""
    until, since = message.locked_until_utc, message.enqueued_time_utc
    return (until - since).total_seconds() if until is not None and since is not None else None


def leave_to_broker(message: ServiceBusReceivedMessage) -> None:
    """Whether a lock has run out, the broker says. The SDK would compare its time with our clock and not even ask."""
    message._expiry = datetime.max.replace(tzinfo=UTC)  # noqa: SLF001 - has no public name


def text_of(value: Any) -> str:
    """A property as text; the SDK gives bytes."""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value or "")


def label_of(name: str) -> str:
    """A name as it is where it can be, else its beginning and a hash behind two dashes, which no name is let to have itself."""
    if len(name) <= _CHARS_MAX and _PLAIN.fullmatch(name) and name[-1] not in "-_":
        return name
    slug = re.sub(r"[^a-z0-9]", "", name.lower(), flags=re.ASCII)[:_SLUG_CHARS] or "x"
    return f"{slug}--{_digest(name)[: _CHARS_MAX - 2 - len(slug)]}"


def subscription_of(hive: str, name: str) -> str:
    """The subscription of a node, and the target that reaches it alone."""
    return f"{label_of(hive)}.{label_of(name)}"


def target_of(hive: str, name: str) -> str:
    """The target that reaches a node, or everyone."""
    return f"{label_of(hive)}.{EVERYONE[0]}" if name == EVERYONE[0] else subscription_of(hive, name)


def target_of_all(subscription: str) -> str:
    """The target that reaches everyone in the hive of a subscription."""
    return f"{subscription.partition('.')[0]}.{EVERYONE[0]}"


def name_of(hive: str, subscription: str) -> str | None:
    """The node of a subscription, as far as its label tells; None for one of another hive."""
    its_hive, _, name = subscription.partition(".")
    return name if name and its_hive == label_of(hive) else None


def message_id_of(hive: str, key: Key, target: str) -> str:
    """The same for the same envelope and target, so that the broker's duplicate detection drops what is sent again."""
    parts = (key.sender, key.id, key.mark)
    plain = f"{label_of(hive)}/{'/'.join(filter(None, parts))}/{target}"
    return plain if len(plain) <= _MESSAGE_ID_CHARS_MAX else _digest("\0".join((hive, *parts, target)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
