"""What SQL filters compute with: three-valued logic, comparisons, arithmetic and LIKE. `None` is "unknown".

A message may carry anything under a name, so values that don't fit together are unknown, never an error: a message of another
kind is simply not what the filter looks for.
"""

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

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
