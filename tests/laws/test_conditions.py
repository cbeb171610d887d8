"""Whatever is written as a condition: it is refused, or comes to plain data, and the only error is `ConditionError`.

`HIVE_CONDITIONS=100000` writes so many.
"""

import os
import random

from hypothesis import given
from hypothesis import strategies as st

from hive_mind.errors import ConditionError
from hive_mind.goals import functions
from hive_mind.goals.condition import Condition
from hive_mind.goals.functions import FUNCTIONS
from tests.unit.goals.attacks import ALL

COUNT = int(os.environ.get("HIVE_CONDITIONS", "1500"))
SEED = 20261123
NAMES = {
    "result": {"code": "eval(1)", "n": 3, "rows": [{"a": 1}, {"b": [None, 2.5]}]},
    "text": "one two\nthree",
    "many": [3, 1, 2],
}
LEAVES = ("result", "text", "many", "x", "0", "1", "-7", "2.5", "1e308", "'a'", "''", "None", "True", "[]", "{}", "str", "dict")
METHODS = ("get", "keys", "values", "items", "lower", "strip", "split", "count", "find", "index", "pop", "format", "__class__")
OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "<", "<=", "==", "!=", "in", "not in", "is", "and", "or", "|", "@")


def written(chance: random.Random, depth: int = 0) -> str:
    """An expression, often one that makes no sense."""
    if depth > 4 or chance.random() < 0.2:
        return chance.choice(LEAVES)

    def part() -> str:
        return written(chance, depth + 1)

    match chance.randrange(12):
        case 0 | 1 | 2:
            return f"({part()} {chance.choice(OPERATORS)} {part()})"
        case 3:
            return (
                f"{chance.choice((*sorted(FUNCTIONS), functions.NAME))}({', '.join(part() for _ in range(chance.randrange(4)))})"
            )
        case 4:
            return f"({part()}).{chance.choice(METHODS)}({', '.join(part() for _ in range(chance.randrange(3)))})"
        case 5:
            return f"({part()})[{part()}]"
        case 6:
            return f"({part()})[{part()}:{part()}]"
        case 7:
            return f"[{part()} for x in {part()} if {part()}]"
        case 8:
            return f"({part()} if {part()} else {part()})"
        case 9:
            return f"{{{part()}: {part()}}}"
        case 10:
            return f"not {part()}"
    return f"({part()}).{chance.choice(('code', 'n', 'rows', '_x'))}"


def spoiled(chance: random.Random, text: str) -> str:
    """The same with a few characters taken away, doubled or put elsewhere."""
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(text) + 1)
        text = chance.choice((text[:at] + text[at + 1 :], text[:at] + text[at:] + text[:at], text[at:] + text[:at]))[:2_500]
    return text


def judged(text: str) -> None:
    try:
        value = Condition(text).put_to(NAMES)
    except ConditionError:
        return
    assert isinstance(value, (type(None), bool, int, float, str, list, tuple, dict, type)), text


def test_of_very_many_expressions_none_raises_anything_else() -> None:
    chance = random.Random(SEED)
    for number in range(COUNT):
        text = written(chance) if number % 3 else spoiled(chance, chance.choice((written(chance), chance.choice(ALL))))
        try:
            judged(text)
        except Exception as error:
            raise AssertionError(f"{error!r} of {text!r}, number {number} of seed {SEED}") from error


@given(st.text(max_size=80))
def test_any_text_is_a_condition_or_is_refused(text: str) -> None:
    judged(text)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=12))
def test_any_plain_data_can_be_asked(value: object) -> None:
    assert Condition("value == value or value != value").holds(value=value)
    assert Condition("[value] == [value] or isinstance(value, float) or str(value) != ''").holds(value=value)
