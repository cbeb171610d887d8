"""Source diversity, worked by hand."""

from math import log2

import pytest

from hive_mind.measure.results import source_diversity


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (["chat", "log"], 1.0),
        (["chat", "log", "note"], 1.0),
        (["chat", "chat", "chat"], 0.0),
        (["chat"], 0.0),
        (["chat", "chat", "chat", "log"], -(0.75 * log2(0.75) + 0.25 * log2(0.25))),
        (["chat", "chat", "log", "note"], 1.5 / log2(3)),
    ],
)
def test_an_even_spread_is_1_a_single_kind_0_and_what_lies_between_its_entropy(kinds: list[str], expected: float) -> None:
    assert source_diversity(kinds) == pytest.approx(expected)


def test_a_result_whose_kind_is_not_known_is_no_kind_of_its_own() -> None:
    assert source_diversity(["chat", "", "chat"]) == 0.0
    assert source_diversity(["", "chat", "log"]) == 1.0


@pytest.mark.parametrize("kinds", [[], ["", ""]])
def test_where_no_kind_is_known_diversity_is_undefined(kinds: list[str]) -> None:
    assert source_diversity(kinds) is None
