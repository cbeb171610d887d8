"""Expressions that wait to be compiled do what compiled ones do."""

import re

import pytest

from hive_mind.regex import regex


def test_an_expression_finds_what_a_compiled_one_finds_at_its_first_use_and_later():
    word = regex(r"(?P<word>[a-z]+)", re.IGNORECASE)
    for _ in range(2):
        assert word.findall("The gate") == ["The", "gate"]
    assert (word.sub("x", "The gate"), word.groups, word.pattern) == ("x x", 1, r"(?P<word>[a-z]+)")


def test_a_wrong_expression_is_an_error_each_time_it_is_used():
    wrong = regex("(")
    for _ in range(2):
        with pytest.raises(re.error, match="unterminated"):
            wrong.search("")
