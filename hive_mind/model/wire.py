"""Messages as bytes and back: MessagePack behind one byte for the version.

Columns of numbers and query vectors travel as little-endian float32. All input is checked against the types of `messages`; any
misfit is a `WireError` and nothing else.
"""

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from hive_mind.errors import WireError
from hive_mind.model.decoding import msgpack_decoder
from hive_mind.model.messages import Message

VERSION = 1
_PREFIX = bytes([VERSION])
MESSAGE_BYTES_MAX = 16 << 20
"""Larger is no message of ours: outgoing ones are cut into batches and steps far below."""


def encode(message: Message) -> bytes:
    """The bytes of a message."""
    return _PREFIX + _encoder.encode(message)


def decode(data: bytes) -> Message:
    """The message of some bytes. Raises `WireError`."""
    if not data or len(data) > MESSAGE_BYTES_MAX:
        raise WireError(f"a message has between 1 and {MESSAGE_BYTES_MAX} bytes, not {len(data)}")
    if data[0] != VERSION:
        raise WireError(f"version {data[0]} of the wire format is not known here, only {VERSION}: upgrade this member")
    try:
        return _decode(data[1:])
    # Not only DecodeError: before msgspec 0.23 no UTF-8 raises UnicodeDecodeError, and brackets in brackets RecursionError.
    except (ValueError, RecursionError) as error:
        raise WireError(f"malformed message: {error}") from error


def _to_bytes(value: Any) -> bytes:
    if isinstance(value, np.ndarray):
        return value.astype("<f4").tobytes()
    raise NotImplementedError(f"{type(value).__name__} can't be encoded")


def _from_bytes(kind: Any, value: Any) -> Any:
    if not isinstance(value, bytes) or len(value) % 4:
        raise ValueError("numbers are little-endian float32")
    del kind
    return np.frombuffer(value, dtype="<f4")


_encoder = msgspec.msgpack.Encoder(enc_hook=_to_bytes)
_decode: Callable[[bytes | memoryview], Message] = msgpack_decoder(Message, _from_bytes)
