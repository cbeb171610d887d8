"""Conditions: questions to plain data, in a subset of Python's expressions that only reads, always ends and stays small.

    Condition("'eval(' in result.get('code', '')").holds(result={"code": "print(1)"})      # False

They are compiled once, where the rule or goal is loaded; what does not compile is refused there. Evaluating costs some
microseconds. Any fault of a condition, or of the data it is put to, is a `ConditionError` and nothing else.
"""

import ast
import warnings
from collections.abc import Mapping
from typing import Any

from hive_mind.errors import ConditionError
from hive_mind.goals.language import compiled
from hive_mind.goals.meter import Meter

CHARS_MAX = 2_000

# The errors of Python for data that does not fit: 1/0, [][3], "a" < 1, [[...]].
_OF_DATA = (ArithmeticError, LookupError, TypeError, ValueError, RecursionError)


class Condition:
    """One condition, ready to be evaluated. Raises `ConditionError` for a text that can't be one."""

    __slots__ = ("_value", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._value = compiled(_tree(text))

    def holds(self, /, **names: object) -> bool:
        """Whether it is true of these: texts, numbers, lists and mappings by name. Raises `ConditionError`."""
        return bool(self.put_to(names))

    def put_to(self, names: Mapping[str, object]) -> Any:
        """Its value for these names. Raises `ConditionError` for missing ones, and for data it fails on."""
        try:
            return self._value(Meter(names))
        except ConditionError:
            raise
        except _OF_DATA as error:
            raise ConditionError(f"it can't be evaluated on this data: {_error_text(error)}") from None

    def __repr__(self) -> str:
        return f"Condition({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Condition) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


def _tree(text: str) -> ast.expr:
    if not isinstance(text, str) or not text.strip():
        raise ConditionError("a condition is a text, such as len(output.summary) > 0")
    if len(text) > CHARS_MAX:
        raise ConditionError(f"it has more than {CHARS_MAX:,} characters: write two conditions")
    try:
        with warnings.catch_warnings():
            # "1 is 1" and "\d" are the writer's business, and no line on standard error.
            warnings.simplefilter("ignore")
            return ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        at = f" at character {error.offset}" if error.offset else ""
        raise ConditionError(f"it is not an expression: {error.msg}{at}") from None
    except (ValueError, RecursionError, MemoryError):
        raise ConditionError("it can't be read as an expression: nested too deep, or with characters that are not text") from None


def _error_text(error: Exception) -> str:
    return "it is nested too deep" if isinstance(error, RecursionError) else str(error)[:200]
