"""Results as files: short ones are shown whole, long ones with where the rest is, and every file can be read to its end."""

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hive_mind.runs.files import (
    LINE_CHARACTERS,
    SHOWN_CHARACTERS_MAX,
    as_text,
    file_of,
    is_plain_name,
    number_of,
    part,
    shown,
    without_pointer,
)


@pytest.mark.parametrize("length", [0, 1, 29_999, 30_000])
def test_a_result_of_up_to_30000_characters_is_shown_whole(length: int) -> None:
    text = "x" * length
    assert shown("look", text, "look_1.txt") == f"{text}\n[Saved to 'look_1.txt']"
    assert shown("look", text, "") == text


def test_a_longer_one_is_shown_as_far_and_says_where_the_rest_is() -> None:
    text = "x" * 30_000 + "y"
    assert shown("look", text, "look_1.txt") == (
        "x" * 30_000 + "\n[Result from look: 30,001 chars — too large for context, saved to 'look_1.txt'. "
        "Use load_data(filename='look_1.txt') to read the full result.]"
    )
    assert shown("look", text, "") == "x" * 30_000 + "\n[Only first 30,000 chars shown]"


@given(st.text(max_size=200), st.booleans(), st.integers(1, 99))
def test_a_result_is_the_same_whatever_file_it_is_in(text: str, is_long: bool, number: int) -> None:
    whole = text + "x" * SHOWN_CHARACTERS_MAX * is_long
    assert without_pointer(shown("look", whole, f"look_{number}.txt")) == whole[:SHOWN_CHARACTERS_MAX]


_PIECES = st.sampled_from(["a", "é", "\n", "\r\n", "\u2028", " ", "line\n", "x" * 1_999, "y" * 2_000, "z" * 4_001, "w" * 31_000])


@given(st.lists(_PIECES, max_size=30).map("".join), st.integers(1, 600))
@example("", 1)
@example("x" * 100_000, 500)
@example("line\n" * 20_000, 500)
def test_every_file_can_be_read_to_its_end(text: str, limit: int) -> None:
    found, offset = "", 0
    for _ in range(1 + len(text)):
        told = part(text, "f.txt", offset, limit)
        more = re.search(r"\n\[Lines [\d,]+ to [\d,]+ of [\d,]+; go on with offset=(\d+)\. Use offset/limit[^\n]*\]\Z", told)
        if more is None:
            found += told if text else ""
            break
        assert more.start() <= SHOWN_CHARACTERS_MAX
        assert int(more[1]) > offset
        found, offset = found + told[: more.start()], int(more[1])
    assert found == text


def test_behind_the_end_nothing_is_there_and_it_says_so() -> None:
    assert part("a\nb\n", "f.txt", 2, 10) == "[f.txt has 2 lines; there is nothing from line 2 on]"
    assert part("", "f.txt", 0, 10) == "[f.txt has 0 lines; there is nothing from line 0 on]"


def test_a_line_that_is_too_long_counts_as_several() -> None:
    text = "x" * (LINE_CHARACTERS + 1)
    assert part(text, "f.txt", 1, 1) == "x"


@given(st.text(max_size=150), st.integers(1, 10**6))
@example("_private", 1)
@example("mail/send", 2)
@example("..", 3)
@example("x" * 300, 4)
def test_whatever_a_tool_is_called_its_files_have_plain_names_with_their_numbers(tool: str, number: int) -> None:
    name = file_of(tool, number)
    assert is_plain_name(name)
    assert number_of(name) == number


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "a/b", "a\\b", "/etc/passwd", ".hidden", "a..b", "x\n", "a\0b", "ü.txt", "x" * 101, "C:x"]
)
def test_a_name_that_might_lead_elsewhere_is_none(name: str) -> None:
    assert not is_plain_name(name)


def test_other_files_have_no_number() -> None:
    assert [number_of(name) for name in ("notes.txt", "conversation_1.md", "look_x.txt", "_1.txt")] == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        ('{"a":1}', '{\n  "a": 1\n}'),
        ("{no json", "{no json"),
        ("[" * 100_000, "[" * 100_000),
        ("[x] a list of Markdown", "[x] a list of Markdown"),
        ({"a": "é"}, '{\n  "a": "é"\n}'),
        (None, "null"),
        (3, "3"),
    ],
)
def test_what_is_json_is_saved_in_lines_and_anything_else_as_it_is(value: object, text: str) -> None:
    assert as_text(value) == text


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda one: st.lists(one) | st.dictionaries(st.text(), one)
    )
)
def test_no_value_is_lost_on_its_way_into_a_file(value: object) -> None:
    if not isinstance(value, str):
        assert json.loads(as_text(value)) == value
