"""A message as it goes to a receiver: what the sender wrote, and what the queue adds in header and annotations."""

from uuid import UUID

from hive_mind.devbroker.amqp.encoding import described, encode
from hive_mind.devbroker.amqp.sections import DELIVERY_ANNOTATIONS, HEADER, annotations_section
from hive_mind.devbroker.amqp.types import Int, Symbol, Timestamp, UInt
from hive_mind.devbroker.servicebus.kept import Kept, State

_SEQUENCE = encode(Symbol("x-opt-sequence-number"))
_ORIGIN = encode(Symbol("x-opt-enqueue-sequence-number"))
_ENQUEUED = encode(Symbol("x-opt-enqueued-time"))
_LOCKED_UNTIL = encode(Symbol("x-opt-locked-until"))
_STATE = encode(Symbol("x-opt-message-state"))
_DIED_IN = encode(Symbol("x-opt-deadletter-source"))
_TOKEN = Symbol("x-opt-lock-token")


def rendered(kept: Kept, locked_until: float | None = None) -> bytes:
    """The encoded message; with its lock when `locked_until` is given."""
    notes = [
        (_SEQUENCE, encode(kept.sequence)),
        (_ORIGIN, encode(kept.origin)),
        (_ENQUEUED, encode(milliseconds(kept.enqueued_at))),
    ]
    if kept.state is not State.ACTIVE:
        notes.append((_STATE, encode(Int(kept.state))))
    if kept.died_in:
        notes.append((_DIED_IN, encode(kept.died_in)))
    first = _header(kept)
    if locked_until is not None:
        notes.append((_LOCKED_UNTIL, encode(milliseconds(locked_until))))
        first += annotations_section(DELIVERY_ANNOTATIONS, {_TOKEN: kept.token})
    return kept.letter.content.encoded(header=first, annotations=notes)


def tag_of(token: UUID) -> bytes:
    """A lock token as a delivery tag, in the order of bytes clients expect."""
    return token.bytes_le


def milliseconds(time: float) -> Timestamp:
    """A time as it stands in messages."""
    return Timestamp(int(time * 1000))


def _header(kept: Kept) -> bytes:
    durable, priority, ttl, first_acquirer, _ = kept.letter.content.header_fields
    return described(HEADER, [encode(field) for field in (durable, priority, ttl, first_acquirer, UInt(kept.attempts))])
