"""The types AMQP tells apart and Python does not: kinds of integers, symbols, timestamps, arrays and described values.

A plain `int` stands for AMQP's long, a `str` for its string, `bytes` for binary, a `list` for a list and a `dict` for a map. A
value that is decoded and encoded again has the same meaning, though not always the same bytes: there are several forms for most
values.
"""

from dataclasses import dataclass
from typing import Any


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
