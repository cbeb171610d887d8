"""Results as files: what a conversation shows, to the character, and that every file can be read to its end."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.runs.pointers import CHARACTERS_MAX, as_text, file_of, is_plain_name, number_of, part, shown

POINTER = (
    "[Result from search: {n} chars — too large for context, saved to 'search_1.txt'. "
    "Use load_data(filename='search_1.txt') to read the full result.]"
)


@pytest.mark.parametrize("length", [0, 1, 29_999, 30_000])
def test_up_to_the_limit_all_of_it_is_shown_with_where_it_is(length: int) -> None:
    text = "x" * length
    assert shown("search", text, "search_1.txt") == f"{text}\n[Saved to 'search_1.txt']"


@pytest.mark.parametrize("length", [30_001, 85_000])
def test_above_it_the_beginning_and_the_sentence_of_the_document(length: int) -> None:
    text = "x" * length
    assert shown("search", text, "search_1.txt") == f"{text[:30_000]}\n{POINTER.format(n=f'{length:,}')}"


def test_without_a_folder_what_is_too_long_is_cut_and_says_so() -> None:
    assert shown("search", "short", "") == "short"
    assert shown("search", "x" * 30_001, "") == "x" * 30_000 + "\n[Only first 30,000 chars shown]"


def test_json_is_written_in_lines_and_other_texts_as_they_are() -> None:
    assert as_text('{"a": [1, 2]}') == json.dumps({"a": [1, 2]}, indent=2)
    assert as_text({"ä": 1}) == '{\n  "ä": 1\n}'
    assert as_text("{no json") == "{no json"
    assert as_text("") == ""


def test_files_are_called_after_tool_and_number_and_never_lead_anywhere() -> None:
    assert file_of("mcp:tickets/list", 7) == "mcp_tickets_list_7.txt"
    assert (number_of("web_search_12.txt"), number_of("notes.md")) == (12, 0)
    assert is_plain_name(file_of("x/../../etc/passwd", 1))


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "/etc/passwd", "a\\b", ".hidden", "a\n", "x" * 101, "a..b", "ä"])
def test_other_names_are_refused(name: str) -> None:
    assert not is_plain_name(name)


@given(
    text=st.lists(st.one_of(st.text(max_size=30), st.integers(1_990, 6_100).map(lambda n: "y" * n)), max_size=40).map("\n".join),
    limit=st.integers(1, 50),
)
def test_every_file_can_be_read_to_its_end(text: str, limit: int) -> None:
    read, offset = "", 0
    while True:
        told = part(text, "f.txt", offset, limit)
        assert len(told) <= CHARACTERS_MAX + 500
        body, more, hint = told.rpartition("\n[Lines ")
        if not more:
            read += told if text else ""
            break
        assert "Use offset/limit parameters to read smaller chunks." in hint
        read += body
        offset = int(hint.split("offset=")[1].split(".")[0])
    assert read == text


def test_beyond_the_end_there_is_nothing_and_it_says_so() -> None:
    assert part("one\ntwo", "f.txt", 9, 5) == "[f.txt has 2 lines; there is nothing from line 9 on]"
