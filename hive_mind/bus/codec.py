"""Messages and envelopes as bytes and back, the same for every broker: MessagePack behind one byte for the version.

Columns of numbers and query vectors travel as little-endian float32. Keys of an envelope are the attribute names of CloudEvents
1.0; `as_cloud_event` gives the JSON form for people and other tools. All input is checked; any misfit is a `WireError` and
nothing else."""

import base64
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec
import numpy as np

from hive_mind.bus import EVERYONE, UNREADABLE_BYTES_MAX, DeadLetter, Envelope, type_of
from hive_mind.errors import WireError
from hive_mind.model.decoding import msgpack_decoder
from hive_mind.model.messages import Message

_Read = TypeVar("_Read")

MESSAGE_VERSION = 1
_PREFIX = bytes([MESSAGE_VERSION])
MESSAGE_BYTES_MAX = 16 << 20
"""Larger is no message of ours: outgoing ones are cut into batches and steps far below."""


def encode_message(message: Message) -> bytes:
    return _PREFIX + _message_encoder.encode(message)


def decode_message(data: bytes) -> Message:
    """The message of some bytes. Raises `WireError`."""
    return _read(data, "message", MESSAGE_BYTES_MAX, MESSAGE_VERSION, _message_of)


def _read(data: bytes, kind: str, bytes_max: int, version: int, decoded: Callable[[bytes | memoryview], _Read]) -> _Read:
    if not data or len(data) > bytes_max:
        raise WireError(f"{kind}s have between 1 and {bytes_max} bytes, not {len(data)}")
    if data[0] != version:
        raise WireError(f"version {data[0]} of {kind}s is not known here, only {version}: upgrade this member")
    try:
        return decoded(memoryview(data)[1:])
    # Not only DecodeError: before msgspec 0.23 no UTF-8 raises UnicodeDecodeError, and brackets in brackets RecursionError.
    except (ValueError, RecursionError) as error:
        raise WireError(f"malformed {kind}: {error}") from error


def _to_bytes(value: Any) -> bytes:
    if isinstance(value, np.ndarray):
        return value.astype("<f4").tobytes()
    raise NotImplementedError(f"{type(value).__name__} can't be encoded")


def _from_bytes(kind: Any, value: Any) -> Any:
    if not isinstance(value, bytes) or len(value) % 4:
        raise ValueError("numbers are little-endian float32")
    del kind
    return np.frombuffer(value, dtype="<f4")


_message_encoder = msgspec.msgpack.Encoder(enc_hook=_to_bytes)
_message_of: Callable[[bytes | memoryview], Message] = msgpack_decoder(Message, _from_bytes)


VERSION = 1
ENVELOPE_BYTES_MAX = MESSAGE_BYTES_MAX + (1 << 20)
_NAME_CHARS_MAX = 256
_TARGETS_MAX = 10_000
_SEAL_BYTES_MAX = 256
_VOUCHED_MAX = 4


class _Packed(msgspec.Struct, frozen=True, omit_defaults=True):
    """An envelope on the wire."""

    id: str
    source: str
    type: str
    hive: str
    target: tuple[str, ...]
    data: bytes
    correlationid: str = ""
    traceparent: str = ""
    time: int = 0
    seal: bytes = b""
    vouched: tuple[bytes, ...] = ()


_encoder = msgspec.msgpack.Encoder()
_decode = msgpack_decoder(_Packed)


def encode(envelope: Envelope) -> bytes:
    """The bytes of an envelope. Raises `WireError` for an unpaired surrogate, or a number beyond 64 bits."""
    try:
        return bytes([VERSION]) + _encoder.encode(_packed(envelope))
    except (ValueError, OverflowError, NotImplementedError) as error:
        raise WireError(f"this {envelope.type} can't be encoded: {error}") from error


def misfit(data: bytes) -> str:
    """In few words why `decode` takes none of these bytes: a message that can't be read is counted by this."""
    if not data or len(data) > ENVELOPE_BYTES_MAX:
        return "empty" if not data else "too large"
    return "malformed" if data[0] == VERSION else "of another version"


IsMeant = Callable[[Envelope], bool]


def may_be_meant(data: bytes, is_meant: IsMeant) -> bool:
    """Whether some bytes are to be forgotten. Unreadable ones may hold anything."""
    try:
        return is_meant(decode(data))
    except WireError:
        return True


def dead_letter(name: str, data: bytes, attempts: int, reason: str, id: str, at_ms: int) -> DeadLetter:
    try:
        return DeadLetter(name, decode(data), attempts, reason, id, at_ms)
    except WireError:
        return DeadLetter(name, None, attempts, reason, id, at_ms, data[:UNREADABLE_BYTES_MAX])


def decode(data: bytes) -> Envelope:
    """The envelope of some bytes. Raises `WireError`."""
    packed = _read(data, "envelope", ENVELOPE_BYTES_MAX, VERSION, _decode)
    _refuse(packed)
    message = decode_message(packed.data)
    if type_of(message) != packed.type:
        raise WireError(f"the envelope says {packed.type[:40]!r}, the message in it is a {type_of(message)!r}")
    return Envelope(
        packed.id,
        packed.hive,
        packed.source,
        packed.target,
        packed.type,
        message,
        packed.correlationid,
        packed.traceparent,
        packed.time,
        seal=packed.seal,
        vouched=packed.vouched,
        data=packed.data if packed.seal else b"",
    )


def as_cloud_event(envelope: Envelope) -> dict[str, Any]:
    """CloudEvents 1.0 in its JSON form: `msgspec.json.encode` writes it."""
    event = {
        "specversion": "1.0",
        "id": envelope.id,
        "source": f"hive://{envelope.hive}/{envelope.sender}",
        "type": f"hive.{envelope.type.rstrip('?')}.{'request' if envelope.type.endswith('?') else 'message'}.v{VERSION}",
        "time": datetime.fromtimestamp(envelope.sent_ms / 1000, UTC).isoformat() if envelope.sent_ms else "",
        "datacontenttype": "application/vnd.msgpack",
        "hive": envelope.hive,
        "target": ",".join(envelope.target),
        "correlationid": envelope.correlation_id,
        "traceparent": envelope.trace,
        "data_base64": base64.b64encode(encode_message(envelope.message)).decode(),
    }
    return {name: value for name, value in event.items() if value}


def _packed(envelope: Envelope) -> _Packed:
    return _Packed(
        envelope.id,
        envelope.sender,
        envelope.type,
        envelope.hive,
        envelope.target,
        envelope.data or encode_message(envelope.message),
        envelope.correlation_id,
        envelope.trace,
        envelope.sent_ms,
        envelope.seal,
        envelope.vouched,
    )


def _refuse(packed: _Packed) -> None:
    must, may = (packed.id, packed.source, packed.hive, *packed.target), (packed.correlationid, packed.traceparent)
    if not packed.target or len(packed.target) > _TARGETS_MAX or len(set(packed.target)) < len(packed.target):
        raise WireError(f"an envelope has between 1 and {_TARGETS_MAX} targets, each once")
    if packed.source in EVERYONE or (EVERYONE[0] in packed.target and packed.target != EVERYONE):
        raise WireError(f"target {EVERYONE[0]!r} (everyone) must be the only target")
    if not all(must) or max(map(len, must + may)) > _NAME_CHARS_MAX:
        raise WireError(f"the names on an envelope have between 1 and {_NAME_CHARS_MAX} characters")
    if len(packed.seal) > _SEAL_BYTES_MAX or len(packed.vouched) > _VOUCHED_MAX:
        raise WireError(f"an envelope has at most {_SEAL_BYTES_MAX} bytes of seal and {_VOUCHED_MAX} certificates")
    if not 0 <= packed.time < 1 << 53:
        raise WireError("an envelope has an invalid send time")
