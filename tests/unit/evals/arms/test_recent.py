"""Newest first: what is new, what is a candidate, and what breaks ties."""

import pytest

from hive_mind.evals.arms import CANDIDATES_PER_HIT, newness_of
from hive_mind.evals.experiments import Arm
from tests.unit.evals.arms.notes import NoVectors, drawn, scope_of, told

SAID = ["pump pump leaks", "the pump is blue", "pump pump pump", "a door"]


@pytest.mark.parametrize("arm", [Arm("single"), Arm("flat", 2), Arm("federated", 4, groups=2), Arm("sharded", 4)], ids=str)
def test_what_was_said_later_comes_first_and_of_equally_new_the_more_relevant(arm: Arm):
    scope = scope_of(SAID, ["pump leaks"], said_at=["2026-03-01", "2026-03-02", "2026-03-01", "2026-03-05"])

    assert told(arm, scope, "lexical", limit=3).found == [["d0", "d2", "d1"]]
    # The door is the newest and has nothing to do with it: without vectors only words make a candidate.
    assert told(arm, scope, "recent", limit=3, embedder=NoVectors()).found == [["d1", "d0", "d2"]]


def test_where_nobody_says_when_the_place_in_the_data_counts():
    scope = scope_of(SAID, ["pump"])

    assert told(Arm("flat", 3, deal="random"), scope, "recent", limit=2, embedder=NoVectors()).found == [["d2", "d1"]]


def test_what_does_not_say_when_is_older_than_all_that_does_and_less_precise_is_earlier():
    scope = scope_of(["one", "two", "three"], [], said_at=["", "2026", "2026-01-01"])

    assert list(newness_of(scope.documents).values()) == [0, 1, 2]


def test_what_several_said_is_as_new_as_the_newest_of_them():
    scope = scope_of(["same", "other", "same"], [], said_at=["2026-01-01", "2026-01-02", "2026-01-03"])

    assert sorted(newness_of(scope.documents).values()) == [1, 2]


def test_candidates_are_the_best_of_a_hybrid_search_five_times_as_many_as_are_wanted():
    scope = drawn(questions=6)
    newness = newness_of(scope.documents)

    hybrid = told(Arm("single"), scope, "hybrid", limit=2 * CANDIDATES_PER_HIT).facts
    recent = told(Arm("single"), scope, "recent", limit=2).facts

    assert recent == [sorted(found, key=lambda fact: -newness[fact])[:2] for found in hybrid]
