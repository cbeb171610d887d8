"""Who fits a task: by words in common, and the same for a queen as for the routing of a federated hive."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.hive.topology.federated import Federated
from hive_mind.judge.capability import CapabilityLevel, can_handle, chosen

WORDS = st.sampled_from(["pump", "pumps", "ferry", "IT", "tidal power", "harbour", "Gates", "the", ""])


@pytest.mark.parametrize(
    ("task", "domains", "level"),
    [
        (["repair", "the", "pump"], ["ferries"], CapabilityLevel.CANNOT_HANDLE),
        (["repair", "the", "pump"], ["sluice pump motor gates"], CapabilityLevel.UNCERTAIN),
        (["repair", "the", "pump"], ["pump motors"], CapabilityLevel.CAN_HANDLE),
        (["repair", "the", "pumps"], ["pump"], CapabilityLevel.BEST_FIT),
        (["anything"], [], CapabilityLevel.CANNOT_HANDLE),
    ],
)
def test_the_four_levels(task: list[str], domains: list[str], level: CapabilityLevel) -> None:
    found = can_handle(task, domains)
    assert found.level is level
    assert 0.0 <= found.confidence <= 1.0
    assert found.why


def test_the_best_level_gets_the_work_and_nobody_who_can_not() -> None:
    agents = [("ann", ["sluice pump motor gates"]), ("ben", ["pump"]), ("cleo", ["ferries"])]
    assert chosen(["repair", "pump"], agents) == "ben"
    assert chosen(["paint", "ceiling"], agents) == ""
    assert chosen(["pump"], [("b", ["pump"]), ("a", ["pump"])]) == "b"


def test_tools_count_like_a_domain() -> None:
    assert can_handle(["write_report"], ["write_report"]).level is CapabilityLevel.BEST_FIT


@given(words=st.lists(WORDS, max_size=4), domains=st.lists(WORDS, max_size=3))
def test_a_group_matches_exactly_where_somebody_of_its_domain_comes_into_question(words: list[str], domains: list[str]) -> None:
    hive = Federated({"north": ["n"], "south": ["s"]}, {"north": domains})
    assert ("north" in hive.favoured(words)) == can_handle(words, domains).may
