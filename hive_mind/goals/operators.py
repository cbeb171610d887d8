"""Arithmetic and comparisons of conditions, each paid for. Numbers add as numbers and texts as texts; nothing is repeated."""

import ast
import operator
from collections.abc import Callable, Mapping

from hive_mind.errors import ConditionError
from hive_mind.goals.meter import INT_MAX, Meter

Binary = Callable[[Meter, object, object], object]

# A text of twenty letters that is looked for costs twice as much as one of ten where it almost fits everywhere.
_NEEDLE_CHARS = 32

_SHOWN = 60
_WITH_PARTS = (str, list, tuple, dict)


def number(value: object) -> int | float:
    """The value. Raises `ConditionError` for anything but a number; true and false are not numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConditionError(f"{_kind(value)} is not a number")
    return value


def bounded(value: int | float) -> int | float:
    """The value. Raises `ConditionError` for whole numbers beyond 64 bits."""
    if isinstance(value, int) and abs(value) > INT_MAX:
        raise ConditionError("a number is larger than 64 bits")
    return value


def is_in(meter: Meter, value: object, container: object) -> bool:
    """`value in whole`: part of a text, element of a list, key of a mapping."""
    if isinstance(container, str):
        if not isinstance(value, str):
            raise ConditionError(f"a text has no {_kind(value)} in it: compare with str()")
        meter.pay_for_text(len(container), times_for(value))
    elif isinstance(container, dict):
        meter.pay_for_key(value)
    elif isinstance(container, list | tuple):
        meter.pay_for_all(container)
    else:
        raise ConditionError(f"{_kind(container)} has nothing in it to look for")
    return value in container


def shown(value: object) -> str:
    """A value in a message: texts and numbers in short, of anything else what it is."""
    if isinstance(value, str | int | float):
        return repr(value[:_SHOWN] if isinstance(value, str) else value)[:_SHOWN]
    return _kind(value)


def times_for(needle: str) -> int:
    """How often a text is gone through, at worst, to find another one in it."""
    return 1 + len(needle) // _NEEDLE_CHARS


def _add(meter: Meter, left: object, right: object) -> object:
    if isinstance(left, str) and isinstance(right, str):
        meter.pay_for_text(len(left) + len(right))
        return left + right
    return bounded(number(left) + number(right))


def _calculated(calculate: Callable[..., int | float]) -> Binary:
    def calculated(meter: Meter, left: object, right: object) -> object:
        meter.pay()
        return bounded(calculate(number(left), number(right)))

    return calculated


def _compared(compare: Callable[..., bool]) -> Binary:
    def compared(meter: Meter, left: object, right: object) -> object:
        if isinstance(left, _WITH_PARTS) and isinstance(right, _WITH_PARTS):
            # Both are gone through side by side, until the shorter one ends.
            meter.pay_for_all(left if len(left) < len(right) else right)
        else:
            meter.pay()
        return compare(left, right)

    return compared


def _identical(compare: Callable[..., bool]) -> Binary:
    def compared(meter: Meter, left: object, right: object) -> object:
        meter.pay()
        return compare(left, right)

    return compared


def _is_not_in(meter: Meter, value: object, container: object) -> bool:
    return not is_in(meter, value, container)


def _kind(value: object) -> str:
    return "nothing (None)" if value is None else type(value).__name__


CALCULATIONS: Mapping[type[ast.operator], Binary] = {
    ast.Add: _add,
    ast.Sub: _calculated(operator.sub),
    ast.Mult: _calculated(operator.mul),
    ast.Div: _calculated(operator.truediv),
    ast.FloorDiv: _calculated(operator.floordiv),
    ast.Mod: _calculated(operator.mod),
}

COMPARISONS: Mapping[type[ast.cmpop], Binary] = {
    ast.Eq: _compared(operator.eq),
    ast.NotEq: _compared(operator.ne),
    ast.Lt: _compared(operator.lt),
    ast.LtE: _compared(operator.le),
    ast.Gt: _compared(operator.gt),
    ast.GtE: _compared(operator.ge),
    ast.Is: _identical(operator.is_),
    ast.IsNot: _identical(operator.is_not),
    ast.In: is_in,
    ast.NotIn: _is_not_in,
}
