"""What a value knows about itself."""

import pytest

from hive_mind.model.fact import Sharing
from hive_mind.model.scores import Contributions, TermStatistics
from tests.builders import fact


@pytest.mark.parametrize(
    ("state", "is_current", "is_retracted"),
    [
        ({}, True, False),
        ({"superseded_by": "f" * 32}, False, False),
        ({"sharing": Sharing.RETRACTED}, False, True),
        ({"sharing": Sharing.SHARED}, True, False),
    ],
)
def test_a_fact_is_current_unless_it_was_replaced_or_taken_back(state: dict, is_current: bool, is_retracted: bool):
    some = fact(**state)
    assert (some.is_current, some.is_retracted) == (is_current, is_retracted)


def test_only_further_sources_confirm():
    assert [fact(sources=sources).confirmations for sources in [("a",), ("a", "b"), ("a", "b", "c")]] == [0, 1, 2]


def test_contributions_sum_to_the_score():
    assert Contributions(0.1, 0.2, 0.3, 1.0, 0.4).total == pytest.approx(2.0)


def test_statistics_of_disjoint_corpora_add_up():
    total = TermStatistics(2, 5.0, {"a": 1}) + TermStatistics(1, 2.5, {"a": 1, "b": 1})
    assert total == TermStatistics(3, 7.5, {"a": 2, "b": 1})
