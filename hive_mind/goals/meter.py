"""The budget of an evaluation: every step is paid for before it is taken, so that no condition runs long or grows large.

A step is about the cost of one comparison. Making, copying or searching a text costs its length; searching a list costs its
number of elements. 20,000 steps bound the time (some 20 ms) and, since everything made is paid for, the memory.
"""

from collections.abc import Mapping

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
