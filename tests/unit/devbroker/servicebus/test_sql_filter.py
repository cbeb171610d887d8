"""SQL filters, by examples and against Python's own evaluation of random conditions."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.devbroker.servicebus.sql_filter import DEPTH_MAX, LENGTH_MAX, Properties, filter_of
from hive_mind.devbroker.servicebus.sql_values import is_like, pattern_of
from hive_mind.errors import InvalidInput

MESSAGE = Properties(
    system={"subject": "hive.fact.learned.v1", "message_id": "m-1", "to": "agent-1"},
    application={"target": "agent-1", "n": 5, "half": 0.5, "ok": True, "nothing": None, "a name": "spaced", "it's": "'"},
)


@pytest.mark.parametrize(
    "text",
    [
        "target = 'agent-1'",
        "target IS NULL OR target = 'agent-1'",
        "TARGET IS NULL",  # names of application properties are as they are written
        "user.target = 'agent-1' and sys.Label LIKE 'hive.fact.%'",
        "sys.subject = sys.LABEL",
        "n > 4 AND n >= 5 AND n < 6 AND n <= 5 AND n <> 4 AND n != 4",
        "n = 5.0 AND half = .5 AND half = 5e-1 AND n = 0x5",
        "n + 1 * 2 = 7 AND (n + 1) * 2 = 12 AND 10 - 3 - 2 = n AND n % 3 = 2 AND n / 2 = 2.5",
        "-n = -5 AND - -n = +5 AND n - 1 = 4 AND n -1 = 4",
        "target IN ('agent-0', 'agent-1') AND target NOT IN ('agent-2')",
        "n IN (1, n)",
        "target LIKE 'agent-_' AND target NOT LIKE 'agent-'",
        "[a name] = 'spaced' AND \"it's\" = '''' AND [it's] LIKE '%'",
        "EXISTS(nothing) AND nothing IS NULL AND NOT EXISTS(gone) AND gone IS NULL AND EXISTS(sys.To)",
        "NOT EXISTS (sys.SessionId) AND sys.SessionId IS NULL",
        "ok AND ok = TRUE AND NOT (ok = false)",
        "NOT n = 4 AND NOT NOT n = 5",
        "n = 4 OR n = 6 OR n = 5",
        "n = 5 OR gone = 1 AND gone = 2",
        "1=1",
        "(((1)=(1)))",
        "n IS NOT NULL",
        "N'text' = 'text'",
    ],
)
def test_a_condition_that_is_true_matches(text):
    assert filter_of(text)(MESSAGE)


@pytest.mark.parametrize(
    "text",
    [
        "1=0",
        "target = 'AGENT-1'",
        "gone = 1",
        "NOT gone = 1",  # not unknown is unknown
        "gone <> 1",
        "gone NOT IN ('x')",
        "gone NOT LIKE 'x'",
        "target > 4",  # a text and a number can't be compared, whichever way
        "NOT target > 4",
        "ok = 1",
        "n / 0 = 1 OR n % 0 = 1",
        "target + 1 = 2",
        "n LIKE '5'",
        "n = NULL",
        "n",  # a number is no truth value
        "ok < TRUE OR nothing < nothing",
        "n = 5 AND gone = 1",
        "NOT (n = 4 OR gone = 1)",
        "n * 1e308 * 1e308 > 0",
    ],
)
def test_a_condition_that_is_false_or_unknown_does_not_match(text):
    assert not filter_of(text)(MESSAGE)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "at its end: expected a value"),
        ("target = ", "at its end: expected a value"),
        ("target = 'open", "at character 10 can't be read"),
        ("target == 'x'", "at '=' at character 9"),
        ('target = "x', "can't be read"),
        ("a b", "at 'b' at character 3: expected the end"),
        ("(a = 1", "expected )"),
        ("a IN ()", "expected a value"),
        ("a IN 1", "expected ("),
        ("a NOT 1", "expected IN or LIKE"),
        ("a IS 1", "expected NULL"),
        ("a LIKE 1", "LIKE takes a text"),
        ("a LIKE 'x' ESCAPE 'ab'", "ESCAPE takes one character"),
        ("a LIKE 'x!' ESCAPE '!'", "ends with its escape character"),
        ("a = b = c", "expected the end"),
        ("EXISTS(1)", "expected a value or the name of a property"),
        ("sys.colour = 1", "there is no system property colour"),
        ("box.colour = 1", "box is not a scope"),
        ("newid() = 1", "the function newid is not supported"),
        ("and = 1", "expected a value"),
        ("n = 1; drop", "';' at character 6"),
        ("n = @p", "'@' at character 5"),
        ("x" * (LENGTH_MAX + 1), f"at most {LENGTH_MAX} characters"),
        ("(" * (DEPTH_MAX + 1) + "1=1" + ")" * (DEPTH_MAX + 1), f"more than {DEPTH_MAX} levels"),
        ("NOT " * 200 + "n", f"more than {DEPTH_MAX} levels"),
        ("-" * 1000 + "n", f"more than {DEPTH_MAX} levels"),
    ],
)
def test_a_wrong_filter_is_refused_with_the_place(text, complaint):
    with pytest.raises(InvalidInput, match=re.escape(complaint)):
        filter_of(text)


def test_as_many_levels_as_there_may_be():
    assert filter_of("(" * DEPTH_MAX + "n=5" + ")" * DEPTH_MAX)(MESSAGE)


def test_the_longest_chain_is_no_deep_filter():
    assert filter_of(" OR ".join(["n=1"] * 145 + ["n=5"]))(MESSAGE)


@pytest.mark.parametrize(
    ("pattern", "escape", "text", "is_match"),
    [
        ("%", "", "", True),
        ("", "", "", True),
        ("", "", "x", False),
        ("a%b%c", "", "aXXbYYbZc", True),
        ("a%b", "", "ab c", False),
        ("100!%", "!", "100%", True),
        ("100!%", "!", "1000", False),
        ("!!_", "!", "!x", True),
        ("a.b*", "", "aXb*", False),
        ("%\n_", "", "two\nn", True),
    ],
)
def test_like(pattern, escape, text, is_match):
    assert is_like(text, pattern_of(pattern, escape)) is is_match


@given(pattern=st.text("ab%_.", max_size=8), text=st.text("ab.", max_size=12))
def test_like_agrees_with_a_regular_expression(pattern, text):
    expression = "".join({"%": ".*", "_": "."}.get(character, re.escape(character)) for character in pattern)
    assert is_like(text, pattern_of(pattern)) is (re.fullmatch(expression, text) is not None)


def test_like_needs_no_exponential_time():
    assert not is_like("a" * 5_000, pattern_of("%a" * 200 + "b"))


_NUMBERS = st.integers(-3, 3).map(lambda number: (str(number) if number >= 0 else f"(0 - {-number})", str(number)))
_NAMES = st.sampled_from(["p", "q"]).map(lambda name: (name, name))


def _joined(operators: dict[str, str], operands: st.SearchStrategy) -> st.SearchStrategy:
    """The same expression twice: as SQL and as Python."""
    return st.tuples(operands, st.sampled_from(sorted(operators)), operands).map(
        lambda parts: (f"({parts[0][0]} {parts[1]} {parts[2][0]})", f"({parts[0][1]} {operators[parts[1]]} {parts[2][1]})")
    )


_SUMS = st.recursive(_NUMBERS | _NAMES, lambda inner: _joined({"+": "+", "-": "-", "*": "*"}, inner), max_leaves=4)
_COMPARISONS = _joined({"=": "==", "<>": "!=", "<": "<", ">=": ">="}, _SUMS)
_CONDITIONS = st.recursive(
    _COMPARISONS,
    lambda inner: _joined({"AND": "and", "or": "or"}, inner) | inner.map(lambda each: (f"NOT {each[0]}", f"(not {each[1]})")),
    max_leaves=6,
)


@given(condition=_CONDITIONS, p=st.integers(-3, 3), q=st.integers(-3, 3))
def test_random_conditions_mean_what_python_says(condition, p, q):
    sql, python = condition
    expected = eval(python, {"p": p, "q": q})  # noqa: S307 - made above out of operators and small numbers
    assert filter_of(sql)(Properties({}, {"p": p, "q": q})) is expected, sql


@given(text=st.text(max_size=40) | st.text("()=<>'\"[]. notadrlikesxu,1-+*%", max_size=60))
def test_any_text_is_a_filter_or_a_complaint(text):
    try:
        matches = filter_of(text)
    except InvalidInput:
        return
    assert matches(MESSAGE) in (True, False)


@given(value=st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.uuids(), text=st.sampled_from(
    ["x = 1", "x < 'm'", "x IN (1, 'a', TRUE)", "x LIKE '%a%'", "-x > 0", "x * x / x + x % 3 >= 0", "NOT x", "x IS NULL", "x = x"]
))  # fmt: skip
def test_whatever_a_message_carries_a_filter_answers(value, text):
    assert filter_of(text)(Properties({}, {"x": value})) in (True, False)
