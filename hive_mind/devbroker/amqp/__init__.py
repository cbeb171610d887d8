"""AMQP 1.0 itself: types and frames, connections, sessions and links. Knows nothing of hubs or queues.

Here is the error that a peer gets for what is refused, and the types AMQP tells apart and Python does not: kinds of integers,
symbols, timestamps, arrays and described values. A plain `int` stands for AMQP's long, a `str` for its string, `bytes` for
binary, a `list` for a list and a `dict` for a map. A value that is decoded and encoded again has the same meaning, though not
always the same bytes: there are several forms for most values.
"""

import struct
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

# Conditions used in more than one place; the names are AMQP's and the service's own.
NOT_FOUND = "amqp:not-found"
NOT_ALLOWED = "amqp:not-allowed"
INVALID_FIELD = "amqp:invalid-field"
DECODE_ERROR = "amqp:decode-error"
FRAMING_ERROR = "amqp:connection:framing-error"
RESOURCE_LIMIT = "amqp:resource-limit-exceeded"
UNAUTHORIZED = "amqp:unauthorized-access"
FORCED = "amqp:connection:forced"
SERVER_BUSY = "com.microsoft:server-busy"


class AmqpError(Exception):
    """Refuses what a peer asked for. Where it is caught decides what ends: a delivery, a link, a session or the connection."""

    def __init__(self, condition: str, description: str = "") -> None:
        super().__init__(f"{condition}: {description}")
        self.condition, self.description = condition, description

    def encoded(self) -> bytes:
        """The error as it stands in `detach`, `end`, `close` and in a rejected outcome."""
        return described(0x1D, (encode(Symbol(self.condition)), encode(self.description), encode(None)))


class Symbol(str):
    """An ASCII name out of a constrained set."""

    __slots__ = ()


class UByte(int):
    """8 bits without a sign."""


class UShort(int):
    """16 bits without a sign."""


class UInt(int):
    """32 bits without a sign."""


class ULong(int):
    """64 bits without a sign."""


class Int(int):
    """32 bits with a sign."""


class Timestamp(int):
    """Milliseconds since 1970, UTC."""


class Array(list[Any]):
    """Many values of one type."""


@dataclass(frozen=True, slots=True)
class Described:
    """A value with a descriptor in front that says what it means."""

    descriptor: Any
    value: Any


NULL, TRUE, FALSE = b"\x40", b"\x41", b"\x42"

_PACK_U16, _PACK_U32, _PACK_U64 = struct.Struct(">H").pack, struct.Struct(">I").pack, struct.Struct(">Q").pack
_PACK_I32, _PACK_I64, _PACK_F64 = struct.Struct(">i").pack, struct.Struct(">q").pack, struct.Struct(">d").pack


def encode(value: Any) -> bytes:
    """One value. Raises `TypeError` for what AMQP has no type for, `struct.error` or `ValueError` for a number out of range."""
    try:
        encoder = _ENCODERS[type(value)]
    except KeyError:
        raise TypeError(f"AMQP has no type for {type(value).__name__}") from None
    return encoder(value)


def uint(value: int) -> bytes:
    if value == 0:
        return b"\x43"
    return bytes((0x52, value)) if value < 256 else b"\x70" + _PACK_U32(value)


def ulong(value: int) -> bytes:
    if value == 0:
        return b"\x44"
    return bytes((0x53, value)) if value < 256 else b"\x80" + _PACK_U64(value)


def ubyte(value: int) -> bytes:
    return bytes((0x50, value))


def ushort(value: int) -> bytes:
    return b"\x60" + _PACK_U16(value)


def boolean(value: object) -> bytes:
    return TRUE if value else FALSE


def encoded_list(items: Iterable[bytes]) -> bytes:
    parts = tuple(items)
    return _compound(0xC0, len(parts), b"".join(parts)) if parts else b"\x45"


def encoded_map(pairs: Iterable[tuple[bytes, bytes]]) -> bytes:
    parts = [part for pair in pairs for part in pair]
    return _compound(0xC1, len(parts), b"".join(parts))


def described(code: int, fields: Iterable[bytes]) -> bytes:
    """A described list, the form of all performatives, outcomes and errors."""
    return bytes((0x00, 0x53, code)) + encoded_list(fields)


def frame(channel: int, body: bytes, kind: int = 0) -> bytes:
    """A frame around a body; `kind` is 0 for AMQP and 1 for SASL."""
    return _PACK_U32(len(body) + 8) + bytes((2, kind)) + _PACK_U16(channel) + body


def _compound(short: int, count: int, body: bytes) -> bytes:
    if len(body) < 255 and count < 256:
        return bytes((short, len(body) + 1, count)) + body
    return bytes((short + 0x10,)) + _PACK_U32(len(body) + 4) + _PACK_U32(count) + body


def _variable(short: int, raw: bytes) -> bytes:
    if len(raw) < 256:
        return bytes((short, len(raw))) + raw
    return bytes((short + 0x10,)) + _PACK_U32(len(raw)) + raw


def _long(value: int) -> bytes:
    return bytes((0x55, value & 0xFF)) if -128 <= value < 128 else b"\x81" + _PACK_I64(value)


def _array(items: Array) -> bytes:
    """Elements share one constructor, so each is written in the widest form of its type."""
    if not items:
        return b"\xe0\x02\x00\x40"
    constructor, write = _element(items[0])
    contents = b"".join(write(item) for item in items)
    if len(items) > max(1, len(contents)):
        raise ValueError("an array of null values can't be encoded: it takes no bytes")
    body = constructor + contents
    return b"\xf0" + _PACK_U32(len(body) + 4) + _PACK_U32(len(items)) + body


def _element(first: Any) -> tuple[bytes, Callable[[Any], bytes]]:
    if type(first) is Described:
        constructor, write = _element(first.value)
        return b"\x00" + encode(first.descriptor) + constructor, lambda item: write(item.value)
    code, write = _ELEMENTS[type(first)]
    return bytes((code,)), write


def _wide(raw: bytes) -> bytes:
    return _PACK_U32(len(raw)) + raw


def _wide_items(count: int, items: Iterable[Any]) -> bytes:
    return _wide(_PACK_U32(count) + b"".join(map(encode, items)))


def _flat(value: dict[Any, Any]) -> Iterable[Any]:
    for pair in value.items():
        yield from pair


_ENCODERS: dict[type, Callable[[Any], bytes]] = {
    type(None): lambda _: NULL,
    bool: boolean,
    UByte: ubyte,
    UShort: ushort,
    UInt: uint,
    ULong: ulong,
    Int: lambda value: b"\x71" + _PACK_I32(value),
    int: _long,
    float: lambda value: b"\x82" + _PACK_F64(value),
    Timestamp: lambda value: b"\x83" + _PACK_I64(value),
    uuid.UUID: lambda value: b"\x98" + value.bytes,
    bytes: lambda value: _variable(0xA0, value),
    str: lambda value: _variable(0xA1, value.encode("utf-8")),
    Symbol: lambda value: _variable(0xA3, value.encode("ascii")),
    list: lambda value: encoded_list(map(encode, value)),
    tuple: lambda value: encoded_list(map(encode, value)),
    dict: lambda value: encoded_map((encode(key), encode(item)) for key, item in value.items()),
    Array: _array,
    Described: lambda value: b"\x00" + encode(value.descriptor) + encode(value.value),
}

_ELEMENTS: dict[type, tuple[int, Callable[[Any], bytes]]] = {
    type(None): (0x40, lambda _: b""),
    bool: (0x56, lambda value: bytes((value,))),
    UByte: (0x50, lambda value: bytes((value,))),
    UShort: (0x60, _PACK_U16),
    UInt: (0x70, _PACK_U32),
    ULong: (0x80, _PACK_U64),
    Int: (0x71, _PACK_I32),
    int: (0x81, _PACK_I64),
    float: (0x82, _PACK_F64),
    Timestamp: (0x83, _PACK_I64),
    uuid.UUID: (0x98, lambda value: value.bytes),
    bytes: (0xB0, _wide),
    str: (0xB1, lambda value: _wide(value.encode("utf-8"))),
    Symbol: (0xB3, lambda value: _wide(value.encode("ascii"))),
    list: (0xD0, lambda value: _wide_items(len(value), value)),
    dict: (0xD1, lambda value: _wide_items(2 * len(value), _flat(value))),
    Array: (0xF0, lambda value: _array(value)[1:] if value else _wide(_PACK_U32(0) + NULL)),
}
