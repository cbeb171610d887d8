"""What a misspelled name is taken for."""

import pytest

from hive_mind.counted import did_you_mean, similar

KNOWN = ("Federated", "flat", "sharded")


@pytest.mark.parametrize(("name", "meant"), [("federatd", "Federated"), ("FLAT", "flat"), ("shraded", "sharded"), ("nats", "")])
def test_the_name_most_like_it_is_meant_whatever_its_case(name: str, meant: str) -> None:
    assert similar(name, KNOWN) == meant


def test_where_nothing_is_like_it_the_rest_of_the_error_says_what_there_is() -> None:
    assert did_you_mean("flatt", KNOWN, "known are these") == "did you mean flat?"
    assert did_you_mean("redis", KNOWN, "known are these") == "known are these"


def test_a_name_of_a_million_characters_is_compared_by_its_beginning() -> None:
    assert similar("flat" * 250_000, [f"name{number}" for number in range(100_000)]) == ""
