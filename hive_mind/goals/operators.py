"""Arithmetic and comparisons of conditions, each paid for. Numbers add as numbers and texts as texts; nothing is repeated.

The budget of an evaluation: every step is paid for before it is taken, so that no condition runs long or grows large.

A step is about the cost of one comparison. Making, copying or searching a text costs its length; searching a list costs its
number of elements. 20,000 steps bound the time (some 20 ms) and, since everything made is paid for, the memory.
"""

import ast
import operator
from collections.abc import Callable, Mapping

from hive_mind.errors import ConditionError

STEPS_MAX = 20_000
TEXT_CHARS_MAX = 1_000_000
INT_MAX = 2**63
"""Nothing that anybody measured is a larger number."""

_CHARS_A_STEP = 64
_ELEMENTS_A_STEP = 16


class Meter:
    """One evaluation: the steps it has left and the names it may read. Raises `ConditionError` when they are spent."""

    __slots__ = ("_left", "names")

    def __init__(self, names: Mapping[str, object], steps: int = STEPS_MAX) -> None:
        self._left, self.names = steps, names

    def pay(self, steps: int = 1) -> None:
        """Pay for steps before they are taken."""
        self._left -= steps
        if self._left < 0:
            raise ConditionError("it takes too many steps: ask for less, or look at a part of the output")

    def pay_for_text(self, chars: int, times: int = 1) -> None:
        """For a text that is made or looked through, `times` over."""
        if chars > TEXT_CHARS_MAX:
            raise ConditionError(f"a text has more than {TEXT_CHARS_MAX:,} characters: look at a part of it")
        self.pay(1 + chars // _CHARS_A_STEP * times)

    def pay_for_copy(self, value: object) -> None:
        """For a list or text that is copied or asked for its size; what it holds is not looked at."""
        if isinstance(value, str):
            self.pay_for_text(len(value))
        elif isinstance(value, list | tuple | dict):
            self.pay(1 + len(value) // _ELEMENTS_A_STEP)

    def pay_for_key(self, key: object) -> None:
        """For looking something up by it: a tuple is gone through to its last element, each time anew."""
        self.pay_for_all(key) if isinstance(key, tuple) else self.pay()

    def pay_for_all(self, value: object, growth: int = 1) -> None:
        """For a value and all that it holds, however deep: what comparing or, with `growth`, writing it costs."""
        waiting, chars = [value], 0
        while waiting:
            part = waiting.pop()
            self.pay()
            if isinstance(part, str):
                chars += len(part)
                self.pay_for_text(chars, 0)
                self.pay(len(part) // _CHARS_A_STEP * (1 if part.isascii() else growth))
            elif isinstance(part, dict):
                self.pay(len(part))
                waiting += [*part.keys(), *part.values()]
            elif isinstance(part, list | tuple):
                self.pay(len(part))
                waiting += part


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
