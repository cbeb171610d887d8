"""JSON with comments says what JSON says, and knows its lines."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from hive_mind.forms import Form
from hive_mind.forms.trees import json_tree


class Anything(BaseModel):
    """No form of its own."""


FORM = Form("file", Anything, "begin somewhere", "the help", "json")
NUMBERS = st.integers(-(10**15), 10**15) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


def value(text):
    tree, problems = json_tree(text, FORM)
    assert problems == ()
    assert tree is not None
    return tree.value


def told(text):
    return [(one.line, one.path, one.message) for one in json_tree(text, FORM)[1]]


@given(VALUES, st.sampled_from([None, 1, 4]), st.booleans())
def test_json_means_here_what_it_means_everywhere(any_value, indent, is_ascii):
    assert value(json.dumps(any_value, indent=indent, ensure_ascii=is_ascii)) == any_value


@given(st.dictionaries(st.text(max_size=8), NUMBERS, min_size=1, max_size=5))
def test_comments_between_change_nothing(any_value):
    commented = json.dumps(any_value, indent=1).replace("\n", ' // "a": {\n /* [ \n , */ ')
    assert value(f"/**/{commented}// the end") == any_value


@given(st.text(alphabet="{}[],:\"\\/*truefalsn0123456789.eE+- \n\t'NaI", max_size=40))
def test_no_text_is_taken_for_more_than_it_is(text):
    """What Python's strict reader takes without comments is taken alike; what it refuses is taken only because of a comment."""
    tree, problems = json_tree(text, FORM)

    assert (tree is None) <= bool(problems)
    try:
        known = json.loads(text, parse_constant=lambda word: pytest.fail(word))
    except (ValueError, pytest.fail.Exception):
        assert problems or "//" in text or "/*" in text
    else:
        assert problems or (tree is not None and tree.value == known)


def test_what_looks_like_a_comment_in_text_is_text():
    assert value('{"a": "http://x /* y */"}') == {"a": "http://x /* y */"}


def test_every_value_knows_its_line():
    tree, _ = json_tree('{\n"a": 1, // one\n/* two\nlines */ "b":\n [\n2,\n{"c":\ntrue}]}', FORM)
    assert tree is not None
    assert {name: part.line for name, part in tree.parts.items()} == {"a": 2, "b": 4}
    assert [part.line for part in tree.parts["b"].parts.values()] == [6, 7]
    assert tree.at(("b", 1, "c"))[0].line == 7


def test_windows_ends_of_lines_count_once():
    assert told('{\r\n"a": NaN\r\n}') == [(2, "a", "NaN is not a number in JSON; write one")]


def test_all_wrong_values_are_told_at_once():
    text = '{"a": nan,\n"b": yes,\n"c": hello,\n"d": +1,\n"a": 2,\n"e": -Infinity}'

    assert told(text) == [
        (1, "a", "nan is not a number in JSON; write one"),
        (2, "b", "yes is not JSON; write true"),
        (3, "c", 'text must be in double quotes: "hello"'),
        (4, "d", "+1 is not a number in JSON, such as 0.5, 60 or 1e-3"),
        (5, "a", "occurs twice in its section, first in line 1; keep one of them"),
        (6, "e", "-Infinity is not a number in JSON; write one"),
    ]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "it is empty; begin somewhere"),
        ("\n // nothing\n", 3, "it is empty; begin somewhere"),
        ("[1,]", 1, "a comma before ]; remove it"),
        ("[1 2]", 1, "a comma or ] is missing before this"),
        ("[,]", 1, "a value is missing here"),
        ('{"a"}', 1, 'a colon is missing after "a"'),
        ('{"a":}', 1, "a value is missing here"),
        ('{"a": 1,\n', 1, "the bracket of line 1 is never closed; add }"),
        ('{"a":\n', 2, "a bracket is never closed"),
        ("{1: 2}", 1, 'a key must be in double quotes: "1"'),
        ("{'a': 2}", 1, 'a key must be in double quotes: "a"'),
        ("['a']", 1, "text must be in double quotes in JSON"),
        ('["a', 1, "text that begins here has no end; add a quote"),
        ('["a\nb"]', 1, "text ends at the end of its line: a quote is missing, or write \\n for a new line"),
        ('["\\x"]', 1, "unknown escape sequence after \\; write \\\\"),
        ("[1] [2]", 1, "something follows after the end of the file; look at the brackets"),
        ("[\u00a01]", 1, "'\\xa0' is not white space in JSON; use spaces"),
        ("\x0c1", 1, "'\\x0c' is not white space in JSON; use spaces"),
        ('{"a": 1,\n\u00a0"b": 2}', 2, "'\\xa0' is not white space in JSON; use spaces"),
        ('{"a": 1\u3000}', 1, "'\\u3000' is not white space in JSON; use spaces"),
        ("/* a", 1, "a comment that begins with /* is never closed; add */"),
        ("[" * 10_000, 1, "nested deeper than 30; a file needs six levels"),
    ],
)
def test_what_can_not_be_read_is_told_with_what_to_do(text, line, message):
    tree, problems = json_tree(text, FORM)
    assert tree is None
    assert [(one.line, one.path, one.message) for one in problems] == [(line, "file", message)]


def test_a_large_text_takes_no_long_time():
    begun_s = time.process_time()
    tree, problems = json_tree("[\n" + "1,\n" * 60_000 + "1]", FORM)

    # Half a second on a quiet machine; counting lines anew for each value would take minutes.
    assert time.process_time() - begun_s < 20
    assert tree is None
    assert "more than 50,000 values" in problems[0].message
