"""Bytes to values, for bytes that nobody vouches for.

For any bytes of a peer, the result is a value or a `DecodeError`. A value takes memory in proportion to its bytes: no element is
without width, no nesting is deeper than `DEPTH_MAX`, and nothing is read past the end that its container claims.
"""

import struct
import uuid
from collections.abc import Callable
from typing import Any

from hive_mind.devbroker.amqp import Array, Described, Int, Symbol, Timestamp, UByte, UInt, ULong, UShort

# Deepest in use: an error in a rejected outcome in a performative, some six levels.
DEPTH_MAX = 32

_U16, _U32, _U64 = (struct.Struct(code).unpack_from for code in (">H", ">I", ">Q"))
_I8, _I16, _I32, _I64 = (struct.Struct(code).unpack_from for code in (">b", ">h", ">i", ">q"))
_F32, _F64 = (struct.Struct(code).unpack_from for code in (">f", ">d"))

# Reads what follows a constructor: (bytes, position, nesting) → (value, position behind it).
_Decoder = Callable[[bytes, int, int], tuple[Any, int]]


class DecodeError(ValueError):
    """Bytes that are no AMQP."""


def decode(data: bytes, position: int = 0) -> tuple[Any, int]:
    """The value at a position, and the position behind it. Raises `DecodeError`."""
    try:
        return _decode(data, position, 0)
    except (IndexError, struct.error):
        raise DecodeError("the bytes end within a value") from None
    except UnicodeDecodeError:
        raise DecodeError("text that is not in its encoding") from None


def decode_only(data: bytes, position: int = 0) -> Any:
    """The value that reaches from a position to the end. Raises `DecodeError`."""
    value, end = decode(data, position)
    if end != len(data):
        raise DecodeError(f"{len(data) - end} bytes behind a value")
    return value


def skip(data: bytes, position: int) -> int:
    """The position behind a value, found without decoding it. Raises `DecodeError`."""
    try:
        return _skip(data, position, 0)
    except (IndexError, struct.error):
        raise DecodeError("the bytes end within a value") from None


def _decode(data: bytes, position: int, depth: int) -> tuple[Any, int]:
    decoder = _DECODERS.get(data[position])
    if decoder is None:
        raise DecodeError(f"no value begins with {data[position]:#04x}")
    return decoder(data, position + 1, depth)


def _skip(data: bytes, position: int, depth: int) -> int:
    code = data[position]
    if code == 0:
        _refuse_deep(depth)
        return _skip(data, _skip(data, position + 1, depth + 1), depth + 1)
    if code not in _DECODERS:
        raise DecodeError(f"no value begins with {code:#04x}")
    width = _WIDTHS.get(code >> 4)
    if width is None:
        width = 1 + data[position + 1] if code >> 4 in {0xA, 0xC, 0xE} else 4 + _U32(data, position + 1)[0]
    return _within(data, position + 1 + width)


def _within(data: bytes, end: int) -> int:
    if end > len(data):
        raise DecodeError("a value claims more bytes than there are")
    return end


def _refuse_deep(depth: int) -> None:
    if depth >= DEPTH_MAX:
        raise DecodeError(f"nested deeper than {DEPTH_MAX}")


def _described(data: bytes, position: int, depth: int) -> tuple[Described, int]:
    _refuse_deep(depth)
    descriptor, position = _decode(data, position, depth + 1)
    value, position = _decode(data, position, depth + 1)
    return Described(descriptor, value), position


def _nothing(value: Any) -> _Decoder:
    return lambda _data, position, _depth: (value, position)


def _number(unpack: Callable[[bytes, int], tuple[Any, ...]], width: int, kind: Callable[[Any], Any]) -> _Decoder:
    return lambda data, position, _depth: (kind(unpack(data, position)[0]), position + width)


def _byte(kind: Callable[[int], Any]) -> _Decoder:
    return lambda data, position, _depth: (kind(data[position]), position + 1)


def _opaque(width: int, kind: Callable[[bytes], Any]) -> _Decoder:
    """A value of fixed width that is handed on as it is: decimals, for which nothing here has a use."""
    return lambda data, position, _depth: (kind(data[position : _within(data, position + width)]), position + width)


def _boolean(data: bytes, position: int, _depth: int) -> tuple[bool, int]:
    if data[position] > 1:
        raise DecodeError("a boolean that is neither true nor false")
    return data[position] == 1, position + 1


def _character(data: bytes, position: int, _depth: int) -> tuple[str, int]:
    return data[position : _within(data, position + 4)].decode("utf-32-be"), position + 4


def _variable(kind: Callable[[bytes], Any], *, is_wide: bool) -> _Decoder:
    def short(data: bytes, position: int, _depth: int) -> tuple[Any, int]:
        end = _within(data, position + 1 + data[position])
        return kind(data[position + 1 : end]), end

    def wide(data: bytes, position: int, _depth: int) -> tuple[Any, int]:
        end = _within(data, position + 4 + _U32(data, position)[0])
        return kind(data[position + 4 : end]), end

    return wide if is_wide else short


def _header(data: bytes, position: int, *, is_wide: bool) -> tuple[int, int, int]:
    """Count of elements, where they begin and where they must end."""
    if is_wide:
        return _U32(data, position + 4)[0], position + 8, _within(data, position + 4 + _U32(data, position)[0])
    return data[position + 1], position + 2, _within(data, position + 1 + data[position])


def _refuse_end(position: int, end: int) -> None:
    if position != end:
        raise DecodeError("a container and its elements end in different places")


def _list(*, is_wide: bool) -> _Decoder:
    def read(data: bytes, position: int, depth: int) -> tuple[list[Any], int]:
        _refuse_deep(depth)
        count, position, end = _header(data, position, is_wide=is_wide)
        if count > end - position:
            raise DecodeError("a list claims more elements than it has bytes")
        items = []
        for _ in range(count):
            item, position = _decode(data, position, depth + 1)
            items.append(item)
        _refuse_end(position, end)
        return items, end

    return read


def _map(*, is_wide: bool) -> _Decoder:
    read_list = _list(is_wide=is_wide)

    def read(data: bytes, position: int, depth: int) -> tuple[dict[Any, Any], int]:
        items, end = read_list(data, position, depth)
        if len(items) % 2:
            raise DecodeError("a map with a key that has no value")
        try:
            return dict(zip(items[::2], items[1::2], strict=True)), end
        except TypeError:
            raise DecodeError("a map with a key that is itself a container") from None

    return read


def _array(*, is_wide: bool) -> _Decoder:
    def read(data: bytes, position: int, depth: int) -> tuple[Array, int]:
        _refuse_deep(depth)
        count, start, end = _header(data, position, is_wide=is_wide)
        descriptors, read_element, start = _element(data, start, depth + 1)
        # Elements may have no width: without this, nine bytes could claim four billion of them.
        if count > max(1, end - start):
            raise DecodeError("an array claims more elements than it has bytes")
        items = Array()
        for _ in range(count):
            item, start = read_element(data, start, depth + 1)
            for descriptor in descriptors:
                item = Described(descriptor, item)
            items.append(item)
        _refuse_end(start, end)
        return items, end

    return read


def _element(data: bytes, position: int, depth: int) -> tuple[list[Any], _Decoder, int]:
    """How the elements of an array are described (innermost first), how one is read, and where the first begins."""
    descriptors: list[Any] = []
    while data[position] == 0:
        _refuse_deep(depth + len(descriptors))
        descriptor, position = _decode(data, position + 1, depth)
        descriptors.insert(0, descriptor)
    decoder = _DECODERS.get(data[position])
    if decoder is None:
        raise DecodeError(f"no array has elements of {data[position]:#04x}")
    return descriptors, decoder, position + 1


def _text(raw: bytes) -> str:
    return raw.decode("utf-8")


def _symbol(raw: bytes) -> Symbol:
    return Symbol(raw.decode("ascii"))


# Bytes of a value by the upper half of its constructor; the others carry their length.
_WIDTHS = {0x4: 0, 0x5: 1, 0x6: 2, 0x7: 4, 0x8: 8, 0x9: 16}

_DECODERS: dict[int, _Decoder] = {
    0x00: _described,
    0x40: _nothing(None),
    0x41: _nothing(True),
    0x42: _nothing(False),
    0x56: _boolean,
    0x50: _byte(UByte),
    0x60: _number(_U16, 2, UShort),
    0x70: _number(_U32, 4, UInt),
    0x52: _byte(UInt),
    0x43: _nothing(UInt(0)),
    0x80: _number(_U64, 8, ULong),
    0x53: _byte(ULong),
    0x44: _nothing(ULong(0)),
    0x51: _number(_I8, 1, int),
    0x61: _number(_I16, 2, int),
    0x71: _number(_I32, 4, Int),
    0x54: _number(_I8, 1, Int),
    0x81: _number(_I64, 8, int),
    0x55: _number(_I8, 1, int),
    0x72: _number(_F32, 4, float),
    0x82: _number(_F64, 8, float),
    0x73: _character,
    0x74: _opaque(4, bytes),
    0x84: _opaque(8, bytes),
    0x94: _opaque(16, bytes),
    0x83: _number(_I64, 8, Timestamp),
    0x98: _opaque(16, lambda raw: uuid.UUID(bytes=raw)),
    0xA0: _variable(bytes, is_wide=False),
    0xB0: _variable(bytes, is_wide=True),
    0xA1: _variable(_text, is_wide=False),
    0xB1: _variable(_text, is_wide=True),
    0xA3: _variable(_symbol, is_wide=False),
    0xB3: _variable(_symbol, is_wide=True),
    0x45: lambda _data, position, _depth: ([], position),
    0xC0: _list(is_wide=False),
    0xD0: _list(is_wide=True),
    0xC1: _map(is_wide=False),
    0xD1: _map(is_wide=True),
    0xE0: _array(is_wide=False),
    0xF0: _array(is_wide=True),
}
