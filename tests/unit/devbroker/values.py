"""AMQP values and messages of any shape, for laws; and bytes that somebody damaged."""

import math
from random import Random

from hypothesis import strategies as st

from hive_mind.devbroker.amqp import Array, Described, Int, Symbol, Timestamp, UByte, UInt, ULong, UShort, encode
from hive_mind.devbroker.amqp.entity import Message

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
_ASCII = st.text(st.characters(max_codepoint=127), max_size=300)


def _unsigned(kind, bits):
    return st.integers(0, 2**bits - 1).map(kind)


def _signed(kind, bits):
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1).map(kind)


SCALARS = (
    st.none(),
    st.booleans(),
    _unsigned(UByte, 8),
    _unsigned(UShort, 16),
    _unsigned(UInt, 32),
    _unsigned(ULong, 64),
    _signed(Int, 32),
    _signed(int, 64),
    st.floats(allow_nan=False),
    _signed(Timestamp, 64),
    st.uuids(),
    st.binary(max_size=300),
    _TEXT,
    _ASCII.map(Symbol),
)
_KEYS = st.one_of(_TEXT, _ASCII.map(Symbol), _signed(int, 64))


def _containers(inner):
    # An array of many nulls has no bytes for them; one alone is allowed.
    elements = st.one_of(
        st.just([None]), *(st.lists(kind, max_size=9) for kind in SCALARS[1:]), st.lists(st.lists(inner, max_size=3), max_size=3)
    )
    return st.one_of(
        st.lists(inner, max_size=5),
        st.dictionaries(_KEYS, inner, max_size=5),
        elements.map(Array),
        st.builds(Described, _unsigned(ULong, 64) | _ASCII.map(Symbol), inner),
    )


VALUES = st.recursive(st.one_of(SCALARS), _containers, max_leaves=20)


def section(code, value):
    return bytes((0, 0x53, code)) + encode(value)


MESSAGES = st.builds(
    Message,
    header=st.just(b"") | st.just(section(0x70, [True, UByte(4), UInt(1000)])),
    annotations=st.just(b"") | st.dictionaries(_ASCII.map(Symbol), _TEXT, max_size=4).map(lambda value: section(0x72, value)),
    properties=st.just(b"") | st.lists(_TEXT | st.none(), max_size=13).map(lambda value: section(0x73, value)),
    application=st.just(b"") | st.dictionaries(_TEXT, st.one_of(SCALARS), max_size=4).map(lambda value: section(0x74, value)),
    body=st.lists(st.binary(max_size=400), max_size=3).map(lambda parts: b"".join(section(0x75, part) for part in parts))
    | VALUES.map(lambda value: section(0x77, value)),
)


def damaged(data: bytes, random: Random) -> bytes:
    """The same bytes with some of them changed, lost, repeated or made up."""
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 5))):
        place = random.randrange(len(changed) + 1)
        match random.randrange(6):
            case 0 if place < len(changed):
                changed[place] = random.randrange(256)
            case 1 if place < len(changed):
                changed[place] ^= 1 << random.randrange(8)
            case 2:
                del changed[place:]
            case 3:
                del changed[place : place + random.randrange(1, 9)]
            case 4:
                changed[place:place] = random.randbytes(random.randrange(1, 9))
            case _:
                changed[place : place + 4] = random.choice((b"\xff" * 4, b"\0" * 4, b"\x7f\xff\xff\xff", b"\0\0\xff\xff"))
    return bytes(changed)


def is_same(one, other) -> bool:
    """Equal, and of the same AMQP type all the way down."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, dict):
        return is_same(list(one), list(other)) and is_same(list(one.values()), list(other.values()))
    if isinstance(one, Described):
        return is_same(one.descriptor, other.descriptor) and is_same(one.value, other.value)
    if isinstance(one, float):
        return math.copysign(1, one) == math.copysign(1, other) and one == other
    return one == other
