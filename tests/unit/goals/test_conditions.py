"""What conditions say of data, in the words of Python.

What means harm does none: it is refused, or comes to a plain value, in little memory and a bounded number of steps.
"""

import copy
import re
import tracemalloc
from contextlib import nullcontext

import pytest

from hive_mind.errors import ConditionError, InvalidInput
from hive_mind.goals import functions
from hive_mind.goals.condition import DEPTH_MAX, Condition
from hive_mind.goals.functions import TEXT_CHARS_MAX
from tests.unit.goals.attacks import ALL, CHANGING, DATA, EXHAUSTING, REACHING

RESULT = {
    "code": "x = eval('1')",
    "summary": "# Report\nAll pumps run [1]",
    "conflicts": [],
    "count": 3,
    "share": 0.75,
    "logs": ["started", "done"],
    "by_name": {"ada": 2, "ben": 5},
    "nothing": None,
    "ok": True,
}

BYTES_MAX = 10_000_000
PLAIN = (type(None), bool, int, float, str, list, tuple, dict)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("'eval(' in result.get('code', '')", True),
        ("'password' not in str(result.get('logs', ''))", True),
        ("len(output.conflicts) > 0", False),
        ("all(line.startswith('#') or '[' in line for line in output.summary.split('\\n'))", True),
        ("output.missing is None and output.nothing is None and output.code is not None", True),
        ("result['count'] + 1 == 4 and 7 // 2 == 3 and 7 % 4 == 3 and 1 - 2 * 3 == -5", True),
        ("1 < result['count'] <= 3 != 4", True),
        ("output.share / 3 * 4 == 1.0", True),
        ("'a' + 'b' == 'ab' and 'abc'[1:] == 'bc' and 'abc'[:2] == 'ab' and 'abc'[1] == 'b' and [1, 2, 3][-1] == 3", True),
        ("sum([n for n in output.by_name.values() if n > 2]) == 5", True),
        ("sorted_is_not_known", None),
        ("max(output.by_name.values()) == 5 and min(3, 2) == 2 and abs(-2) == 2 and round(2.6) == 3", True),
        ("any(name == 'ben' and n == 5 for name, n in output.by_name.items())", True),
        ("[a + b for a in ['x', 'y'] for b in ['1', '2']] == ['x1', 'x2', 'y1', 'y2']", True),
        ("{'a': [1, (2, 3)]} == {'a': [1, (2, 3)]} and 'a' in {'a': 1} and 'b' not in output.by_name.keys()", True),
        ("isinstance(result, dict) and isinstance(output.logs, (str, list)) and not isinstance('1', int)", True),
        ("isinstance(output.ok, int) and isinstance(output.ok, bool)", True),
        ("'long' if output.count > 2 else 'short'", True),
        ("int('42') == 42 and float('1.5') == 1.5 and bool([]) is False and str(1.0) == '1.0'", True),
        ("' A b '.strip().lower() == 'a b' and 'b'.upper() == 'B'", True),
        ("'a,b'.split(',').index('b') == 1 and 'ab'.index('b', 1) == 1", True),
        ("'banana'.count('an') == 2 and 'banana'.find('z') == -1 and 'x'.endswith('x') and [1, 1].count(1) == 2", True),
        ("[word for word in ['a', 'b'] if word != 'a'][0] == 'b' and output.count == 3", True),
        ("matches('^# \\\\w+', output.summary) and not matches('[0-9]{4}', output.summary)", True),
        ("output.nothing or output.count", True),
        ("not output.ok", False),
    ],
)
def test_a_condition_says_what_python_would_say(condition: str, holds: bool | None) -> None:
    if holds is None:
        with pytest.raises(ConditionError, match="there is no sorted_is_not_known; known here: output, result"):
            Condition(condition).holds(result=RESULT, output=RESULT)
    else:
        assert Condition(condition).holds(result=RESULT, output=RESULT) is holds


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ("", "a condition is a text"),
        ("1 +", "not an expression: invalid syntax"),
        ("1 + + * 2", "not an expression: invalid syntax at character 7"),
        ("x = 1", "not an expression"),
        ("import os", "not an expression"),
        ("(" * 300, "not an expression"),
        ("lambda: 1", "a lambda can't be used"),
        ("[x := 1]", "an assignment (:=) can't be used"),
        ("f'{result}'", "an f-string can't be used"),
        ("2 ** 9", "the operators are"),
        ("open('/etc/passwd')", "open() can't be called; functions are abs, all, any"),
        ("result.pop('code')", "pop() can't be called; methods are count, endswith, find, get"),
        ("result.__class__", "__class__ can't be used"),
        ("str(value=1)", "arguments have no names"),
        ("b'bytes'", "bytes values can't be used"),
        ("[1, 2][::2]", "no step"),
        ("{x for x in result}", "a set can't be used"),
        ("9223372036854775809", "larger than 64 bits"),
        ("x" * 2001, "more than 2,000 characters"),
        (" and ".join(["a"] * 250), "more than 200 parts"),
        ("not " * 60 + "a", "40 levels"),
        ("matches('(', 'a')", "pattern '(' can't be read: missing )"),
        ("matches(output.pattern, 'a')", "the pattern of matches() stands in the condition"),
        ("matches('a')", "takes a pattern in quotes and a text"),
        ("matches('" + "a" * 501 + "', 'a')", "more than 500 characters"),
    ],
)
def test_what_is_no_condition_is_refused_when_it_is_made_with_what_to_do(condition: str, why: str) -> None:
    with pytest.raises(ConditionError, match=re.escape(why)):
        Condition(condition)


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ("result['none']", "there is no 'none' in it; get() gives None instead"),
        ("{1: 2}[1.5]", "there is no 1.5 in it"),
        ("['a', 'b'].index('c')", "there is no 'c' in the list"),
        ("['a', 'b'].index('b', 0)", "index() of a list takes what is looked for"),
        ("[1][2]", "list index out of range"),
        ("1 / 0", "division by zero"),
        ("'a' < 1", "not supported"),
        ("'a' + 1", "str is not a number"),
        ("True + 1", "bool is not a number"),
        ("None + 1", "nothing (None) is not a number"),
        ("len(5)", "int has no length"),
        ("5 in 5", "int has nothing in it"),
        ("5 in '5'", "a text has no int in it"),
        ("result.missing.get('x')", "NoneType has no method get()"),
        ("[1, 2].lower()", "list has no method lower()"),
        ("[x for x in 5]", "int has no elements"),
        ("[a for a, b in [[1, 2, 3]]]", "can't be taken apart into a, b"),
        ("5[0]", "int has no parts"),
        ("isinstance(1, 2)", "isinstance asks for one or several of dict"),
        ("9223372036854775807 * 2", "larger than 64 bits"),
        ("matches('a', 5)", "searches texts, not int: use str()"),
    ],
)
def test_data_that_a_condition_can_not_be_put_to_is_told(condition: str, why: str) -> None:
    with pytest.raises(ConditionError, match=re.escape(why)):
        Condition(condition).holds(result=RESULT)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("output.rows is not None", True),
        ("output.rows == []", False),
        ("output.text != ''", True),
        ("output.text.startswith('abc')", True),
        ("'rows' in output.keys() and any(name == 'rows' for name, value in output.items())", True),
        ("len(output.rows) > 1000 and output.rows[-1] == 29999", True),
        ("matches('(?i)password|api[_-]?key', output.text)", False),
    ],
)
def test_what_is_not_looked_through_costs_nothing_however_large_it_is(condition: str, holds: bool) -> None:
    assert Condition(condition).holds(output={"rows": list(range(30_000)), "text": "abc" * 50_000}) is holds


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        # A name and what is asked of it are two levels.
        ("not " * (DEPTH_MAX - 1) + "output.ok", ""),
        ("not " * DEPTH_MAX + "output.ok", "levels"),
        ("output.half + output.half and output.ok", ""),
        ("output.half + output.more and output.ok", "more than 1,000,000 characters"),
    ],
)
def test_a_bound_is_what_it_says(condition: str, why: str) -> None:
    half = "x" * (TEXT_CHARS_MAX // 2)
    with pytest.raises(ConditionError, match=why) if why else nullcontext():
        Condition(condition).holds(output={"ok": True, "half": half, "more": half + "x"})


def test_any_name_can_be_asked_for() -> None:
    assert Condition("self + other == 3").holds(self=1, other=2)


def test_a_condition_changes_nothing_it_reads_and_leaves_no_names_behind() -> None:
    names = {"many": [1, 2, 3]}
    assert Condition("[n for n in many] == many").holds(**names)
    with pytest.raises(ConditionError, match="there is no n"):
        Condition("[n for n in many] == many and n").holds(**names)
    assert names == {"many": [1, 2, 3]}


def test_a_condition_without_the_extra_says_which_one_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "re2", None)
    with pytest.raises(ConditionError, match=r"matches\(\) can't be called: it needs an extra: .*pip install .*\[rules\]"):
        Condition("matches('a', 'b')")


def test_equal_texts_are_equal_conditions_and_an_error_is_bad_input() -> None:
    assert Condition("1 < 2") == Condition("1 < 2") != Condition("2 < 3")
    assert len({Condition("1 < 2"), Condition("1 < 2")}) == 1
    assert issubclass(ConditionError, InvalidInput)


def outcome(condition: str) -> object:
    try:
        return Condition(condition).put_to(DATA)
    except ConditionError as error:
        return error


def test_there_are_many_of_them() -> None:
    assert len(set(ALL)) == len(ALL) >= 120


@pytest.mark.parametrize("attack", [*REACHING, *CHANGING])
def test_nothing_outside_can_be_reached_or_changed(attack: str) -> None:
    result, many = copy.deepcopy(DATA["result"]), copy.copy(DATA["many"])
    assert isinstance(outcome(attack), ConditionError)
    assert (DATA["result"], DATA["many"]) == (result, many)


@pytest.mark.parametrize("attack", EXHAUSTING)
def test_no_expression_takes_much_memory_or_gives_anything_but_plain_data(attack: str) -> None:
    outcome("1 == 1")
    tracemalloc.start()
    try:
        found = outcome(attack)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert isinstance(found, (ConditionError, *PLAIN))
    assert peak < BYTES_MAX, f"{attack[:80]}: {peak / 1e6:.1f} MB"
