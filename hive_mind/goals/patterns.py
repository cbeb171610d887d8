"""`matches(pattern, text)`: regular expressions in conditions, compiled where the condition is, in time linear in the text (RE2).

The pattern stands in the condition, in quotes: a wrong one is refused when its rule is loaded, and no data can bring one along.
Needs the extra `rules`; everything else about conditions does without.
"""

from collections.abc import Callable

from hive_mind.errors import ConditionError
from hive_mind.goals.meter import Meter

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
        raise ConditionError("matches() can't be called: it needs an extra: pip install 'hive-mind[rules]'")
    if not isinstance(pattern, str):
        raise ConditionError("the pattern of matches() stands in the condition, in quotes: matches('[0-9]+', output.code)")
    if len(pattern) > _CHARS_MAX:
        raise ConditionError(f"a pattern has more than {_CHARS_MAX} characters: use two")
    try:
        compiled = re2.compile(pattern, _options())
    except (re2.error, ValueError) as error:
        raise ConditionError(f"pattern {pattern[:60]!r} can't be read: {_told(error)}") from None
    return lambda meter, text: _is_found(meter, compiled, text)


def _options() -> "re2.Options":
    options = re2.Options()
    # Or it writes what is wrong with a pattern to standard error.
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _BYTES_MAX
    return options


def _is_found(meter: Meter, compiled: "re2._Regexp", text: object) -> bool:
    if not isinstance(text, str):
        raise ConditionError(f"matches() searches texts, not {type(text).__name__}: use str()")
    meter.pay_for_text(len(text))
    meter.pay(len(text) * compiled.programsize // _INSTRUCTIONS_A_STEP)
    return compiled.search(text) is not None


def _told(error: Exception) -> str:
    """RE2 says it in bytes."""
    said = error.args[0] if error.args else ""
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
