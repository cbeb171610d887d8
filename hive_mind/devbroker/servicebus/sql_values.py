"""The values that SQL filters compute with: three-valued logic, comparisons, arithmetic and LIKE. `None` is "unknown".

A message may carry anything under a name, so values that don't fit together are unknown, never an error: a message of another
kind is simply not the one the filter looks for.
"""

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any, Final

from hive_mind.errors import InvalidInput

COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": lambda left, right: math.copysign(1, left) * (abs(left) % abs(right)),
}

_ANY: Final = None
_ONE: Final = ""

Pattern = tuple[str | None, ...]


def compared(sign: str, left: object, right: object) -> bool | None:
    """The comparison; unknown unless both are numbers, both texts, or both of one other type."""
    if not _fit_together(left, right):
        return None
    try:
        return bool(COMPARISONS[sign](left, right))
    except TypeError:
        return None


def calculated(sign: str, left: object, right: object) -> float | None:
    """The result; unknown for what are no numbers, for a division by zero and for what no float can hold."""
    if not (is_number(left) and is_number(right)):
        return None
    try:
        result = _ARITHMETIC[sign](left, right)  # type: ignore[arg-type]
    except (ZeroDivisionError, OverflowError):
        return None
    # Integers on the wire have 64 bits; here they must not grow without end either.
    return result if abs(result) < 2.0**1023 else None


def negated(value: object) -> bool | None:
    """NOT."""
    return not value if isinstance(value, bool) else None


def all_of(values: Iterable[object]) -> bool | None:
    """AND: one false decides, else one unknown does."""
    result: bool | None = True
    for value in values:
        if value is False:
            return False
        if value is not True:
            result = None
    return result


def any_of(values: Iterable[object]) -> bool | None:
    """OR: one true decides, else one unknown does."""
    result: bool | None = False
    for value in values:
        if value is True:
            return True
        if value is not False:
            result = None
    return result


def is_number(value: object) -> bool:
    """Whether it can be calculated with. Truth values can't, though Python's are integers."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _fit_together(left: object, right: object) -> bool:
    if left is None or right is None:
        return False
    if is_number(left):
        return is_number(right)
    if isinstance(left, str):  # symbols are texts too
        return isinstance(right, str)
    return type(left) is type(right)


def pattern_of(text: str, escape: str = "") -> Pattern:
    """The pattern as its characters, with marks for the wild ones."""
    if len(escape) > 1:
        raise InvalidInput("SQL filter: ESCAPE takes one character")
    result: list[str | None] = []
    characters = iter(text)
    for character in characters:
        if character == escape:
            result.append(_escaped(next(characters, "")))
        else:
            result.append({"%": _ANY, "_": _ONE}.get(character, character))
    return tuple(result)


def is_like(text: str, pattern: Pattern) -> bool:
    """Whether the whole text fits. Upper and lower case are different."""
    at = in_pattern = 0
    retry_at, retry_in_pattern = 0, -1
    while at < len(text):
        expected = pattern[in_pattern] if in_pattern < len(pattern) else "no character"
        if expected is _ANY:
            in_pattern += 1
            retry_at, retry_in_pattern = at, in_pattern
        elif expected in (_ONE, text[at]):
            at, in_pattern = at + 1, in_pattern + 1
        elif retry_in_pattern >= 0:  # let the last % take one character more
            retry_at += 1
            at, in_pattern = retry_at, retry_in_pattern
        else:
            return False
    return all(mark is _ANY for mark in pattern[in_pattern:])


def _escaped(character: str) -> str:
    if not character:
        raise InvalidInput("SQL filter: a LIKE pattern ends with its escape character")
    return character
