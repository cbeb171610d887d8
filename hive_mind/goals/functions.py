"""Operators of conditions, and the functions and methods they may call, each paid for before it is taken.

A step is about the cost of one comparison. Making, copying or searching a text costs its length; searching a list costs its
number of elements. 20,000 steps bound the time (some 20 ms) and, since everything made is paid for, the memory. Numbers add as
numbers and texts as texts; nothing is repeated.

`matches(pattern, text)` is compiled where the condition is, and takes time linear in the text (RE2). The pattern stands in the
condition, in quotes: a wrong one is refused when its rule is loaded, and no data can bring one along. Needs the extra `rules`;
everything else about conditions does without.
"""

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hive_mind.errors import ConditionError
from hive_mind.installation import command_for_extra

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


def _one_step(calculate: Callable[..., object]) -> Callable[..., object]:
    def calculated(meter: Meter, *values: object) -> object:
        meter.pay()
        return calculate(*values)

    return calculated


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
    ast.Is: _one_step(operator.is_),
    ast.IsNot: _one_step(operator.is_not),
    ast.In: is_in,
    ast.NotIn: lambda meter, value, container: not is_in(meter, value, container),
}


Function = Callable[..., object]

_DIGITS_MAX = 40
_PLACES_MAX = 15
# "ΐ".upper() has three characters, and a list writes some as ten: "\\U000e0001".
_GROWTH = 5
_SPLIT_COST = 8

TYPES: Mapping[str, type] = {"dict": dict, "list": list, "tuple": tuple, "str": str, "int": int, "float": float, "bool": bool}
"""The types behind `isinstance`."""


def elements(meter: Meter, value: object) -> Sequence[object]:
    """The elements of a text, list or mapping: characters, elements, keys. Raises `ConditionError` for anything else."""
    if isinstance(value, dict):
        meter.pay_for_copy(value)
        return list(value)
    if isinstance(value, str | list | tuple):
        meter.pay_for_copy(value)
        return value
    raise ConditionError(f"{type(value).__name__} has no elements: only texts, lists and mappings have")


def call_method(meter: Meter, value: Any, name: str, arguments: Sequence[object]) -> object:
    """`value.name(*arguments)`, if it is one of those that may be called."""
    if name not in _METHODS.get(type(value), ()):
        raise ConditionError(f"{type(value).__name__} has no method {name}() that a condition may call")
    if isinstance(value, str):
        needle = next((argument for argument in arguments if isinstance(argument, str)), "")
        # As many parts as characters, at worst.
        growth = _SPLIT_COST if name == "split" else 0 if value.isascii() else _GROWTH
        meter.pay_for_text(len(value), times_for(needle) + growth)
    elif name == "get":
        meter.pay_for_key(arguments[0] if arguments else None)
    elif isinstance(value, dict):
        meter.pay(len(value))
    else:
        meter.pay_for_all(value)
    if name == "index" and not isinstance(value, str):
        # Python would write down whatever it did not find, however large.
        if len(arguments) != 1:
            raise ConditionError("index() of a list takes what is looked for, and nothing else")
        if arguments[0] not in value:
            raise ConditionError(f"there is no {shown(arguments[0])} in the list")
    outcome = getattr(value, name)(*arguments)
    return list(outcome) if name in ("keys", "values", "items") else outcome


def _str(meter: Meter, value: object = "") -> str:
    if isinstance(value, str):
        meter.pay_for_text(len(value))
    else:
        meter.pay_for_all(value, _GROWTH)
    return str(value)


def _len(meter: Meter, value: object) -> int:
    if not isinstance(value, str | list | tuple | dict):
        raise ConditionError(f"{type(value).__name__} has no length: only texts, lists and mappings have")
    meter.pay()
    return len(value)


def _int(meter: Meter, value: Any = 0) -> object:
    _check_digits(meter, value)
    return bounded(int(value))


def _float(meter: Meter, value: Any = 0) -> float:
    _check_digits(meter, value)
    return float(value)


def _check_digits(meter: Meter, value: object) -> None:
    meter.pay()
    if isinstance(value, str) and len(value) > _DIGITS_MAX:
        raise ConditionError(f"a number has more than {_DIGITS_MAX} digits")


def _abs(meter: Meter, value: object) -> object:
    meter.pay()
    return abs(number(value))


def _round(meter: Meter, value: object, places: object = None) -> object:
    meter.pay()
    if places is None:
        return bounded(round(number(value)))
    return round(number(value), max(-_PLACES_MAX, min(_PLACES_MAX, int(number(places)))))


def _sum(meter: Meter, values: object) -> object:
    of = elements(meter, values)
    meter.pay(len(of))
    return bounded(sum(map(number, of)))


def _best(choose: Callable[..., object]) -> Function:
    def best(meter: Meter, *values: object) -> object:
        of = elements(meter, values[0]) if len(values) == 1 else values
        meter.pay_for_all(of if isinstance(of, str) else list(of))
        return choose(of)

    return best


def _isinstance(meter: Meter, value: object, types: object) -> bool:
    kinds = types if isinstance(types, tuple) else (types,)
    if not all(kind in TYPES.values() for kind in kinds if isinstance(kind, type)) or not all(
        isinstance(kind, type) for kind in kinds
    ):
        raise ConditionError(f"isinstance asks for one or several of {', '.join(TYPES)}")
    meter.pay(len(kinds))
    return type(value) in kinds or (isinstance(value, bool) and int in kinds)


FUNCTIONS: Mapping[str, Function] = {
    "abs": _abs,
    "all": lambda meter, values: all(elements(meter, values)),
    "any": lambda meter, values: any(elements(meter, values)),
    "bool": _one_step(bool),
    "float": _float,
    "int": _int,
    "isinstance": _isinstance,
    "len": _len,
    "max": _best(max),
    "min": _best(min),
    "round": _round,
    "str": _str,
    "sum": _sum,
}
_TEXTS = ("lower", "upper", "strip", "startswith", "endswith", "split", "count", "find", "index")
_METHODS: Mapping[type, Sequence[str]] = {
    str: _TEXTS,
    dict: ("get", "keys", "values", "items"),
    list: ("count", "index"),
    tuple: ("count", "index"),
}
METHOD_NAMES: Sequence[str] = sorted({name for names in _METHODS.values() for name in names})

try:
    import re2
except ImportError:
    re2 = None

NAME = "matches"

_CHARS_MAX = 500
_BYTES_MAX = 1 << 20

# At worst RE2 takes 6 ns for each character and instruction of the program that a pattern becomes; a step stands for 2 µs.
_INSTRUCTIONS_A_STEP = 256


def matcher(pattern: object) -> Callable[[Meter, object], bool]:
    """Whether the pattern is found in a text. Raises `ConditionError` for one that can't be read."""
    if re2 is None:
        raise ConditionError(f"matches() can't be called: it needs an extra: {command_for_extra('rules')}")
    if not isinstance(pattern, str):
        raise ConditionError("the pattern of matches() stands in the condition, in quotes: matches('[0-9]+', output.code)")
    if len(pattern) > _CHARS_MAX:
        raise ConditionError(f"a pattern has more than {_CHARS_MAX} characters: use two")
    try:
        options = re2.Options()
        # Or it writes what is wrong with a pattern to standard error.
        options.log_errors = False
        options.never_capture = True
        options.max_mem = _BYTES_MAX
        compiled = re2.compile(pattern, options)
    except (re2.error, ValueError) as error:
        raise ConditionError(f"pattern {pattern[:60]!r} can't be read: {_error_text(error)}") from None
    return lambda meter, text: _is_found(meter, compiled, text)


def _is_found(meter: Meter, compiled: "re2._Regexp", text: object) -> bool:
    if not isinstance(text, str):
        raise ConditionError(f"matches() searches texts, not {type(text).__name__}: use str()")
    meter.pay_for_text(len(text))
    meter.pay(len(text) * compiled.programsize // _INSTRUCTIONS_A_STEP)
    return compiled.search(text) is not None


def _error_text(error: Exception) -> str:
    """RE2 says it in bytes."""
    detail = error.args[0] if error.args else ""
    return detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
