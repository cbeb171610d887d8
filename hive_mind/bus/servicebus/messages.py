"""What is read and written: envelopes as messages of the SDK, and pings that only prove that a subscription hears."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from azure.servicebus import ServiceBusMessage, ServiceBusReceivedMessage

from hive_mind.bus import codec
from hive_mind.bus.base import BRIEF_S, Envelope, key_of
from hive_mind.bus.servicebus.names import TARGET, message_id_of, target_of

_PING = "hive-mind.ping"
# Somebody who is away finds no heap of them.
_PING_TTL = timedelta(seconds=60)
# Less than a second is no limit to the SDK, and AMQP counts milliseconds in 32 bits.
_KEPT_S_MIN, _KEPT_S_MAX = 1.0, 49 * 86_400.0


@dataclass(slots=True, eq=False)
class Parcel:
    """A message that we hold the lock of. Its identity is the sequence number, not the lock."""

    message: ServiceBusReceivedMessage
    locked_at: float
    """By the event loop's clock, when the lock was last taken or renewed."""
    is_taken: bool = False
    """Whether a subscriber had it in hand."""

    @property
    def number(self) -> int | None:
        """Its place in the subscription."""
        return self.message.sequence_number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parcel) and self.number == other.number

    def __hash__(self) -> int:
        return hash(self.number)


def messages_of(envelope: Envelope, data: bytes, kept_s: float) -> list[ServiceBusMessage]:
    """One message per target."""
    return [message_to(name, envelope, data, kept_s) for name in envelope.target]


def message_to(name: str, envelope: Envelope, data: bytes, kept_s: float, suffix: str = "") -> ServiceBusMessage:
    """It has everything filters and people want to see outside. `suffix` makes it one that is new."""
    kept_s = min(kept_s, BRIEF_S) if envelope.is_brief else kept_s
    kept = timedelta(seconds=max(kept_s, _KEPT_S_MIN)) if kept_s < _KEPT_S_MAX else None
    target, key = target_of(envelope.hive, name), key_of(envelope)
    return ServiceBusMessage(
        data,
        message_id=message_id_of(envelope.hive, key._replace(id=key.id + suffix), target),
        application_properties={TARGET: target, "type": envelope.type},
        content_type="application/vnd.msgpack",
        correlation_id=envelope.correlation_id[:128] or None,
        time_to_live=kept,
    )


def ping_of(target: str, token: str) -> ServiceBusMessage:
    """A message to oneself."""
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
