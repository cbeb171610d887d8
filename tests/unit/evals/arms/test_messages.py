"""What a question costs a hive, counted by hand."""

from dataclasses import replace
from itertools import pairwise
from typing import Literal

import pytest

from hive_mind.evals.arms import names_of
from hive_mind.evals.arms.node_per_agent import down_of
from hive_mind.evals.experiments import Arm, Cell, DataSource, Fault, Retrieval
from hive_mind.hive.topology.sharded import Sharded, first_placement
from tests.unit.evals.arms.notes import drawn, scope_of, told

THREE = scope_of(["alpha pump", "beta pump", "gamma pump"], ["pump"] * 3)
"""Dealt to three agents, each has one of them."""
APART = Arm("federated", 3, groups=3)


@pytest.mark.parametrize("arm", [Arm("single"), Arm("flat", 3)], ids=lambda arm: arm.kind)
def test_who_has_everything_sends_nothing(arm: Arm):
    outcome = told(arm, THREE).outcomes[0]

    assert (outcome.cost.messages, outcome.cost.bytes, outcome.cost.fan_out, outcome.cost.completeness) == (0, 0, 0, 1.0)


@pytest.mark.parametrize("place", ["in-process", "simulator"])
@pytest.mark.parametrize("mode", ["lexical", "semantic"])
def test_groups_search_then_hand_over_and_each_request_has_a_reply(place: Literal["in-process", "simulator"], mode: str):
    outcomes = told(replace(APART, place=place), THREE, mode).outcomes

    # Two other groups: a request and a reply each, to search, and for the one fact that each of them holds.
    assert [one.cost.messages for one in outcomes] == [2 * (2 + 2)] * 3
    assert {one.cost.fan_out for one in outcomes} == {2}
    assert {one.cost.completeness for one in outcomes} == {1.0}
    assert all(one.cost.bytes > 8 * 20 for one in outcomes)


@pytest.mark.parametrize(("word", "messages"), [("alpha", 2 * (2 + 0)), ("beta", 2 * (2 + 1)), ("delta", 2 * 2)])
def test_only_those_who_hold_what_is_shown_hand_something_over(word: str, messages: int):
    # The first question is asked by the first agent, who learned "alpha pump" itself.
    assert told(APART, scope_of([document.text for document in THREE.documents], [word])).messages == [messages]


def test_agents_of_one_group_have_one_node_between_them():
    # Six agents in two groups: one other group, whichever of them asks.
    outcomes = told(Arm("federated", 6, groups=2), drawn()).outcomes

    assert {one.cost.fan_out for one in outcomes} == {1}
    assert {one.cost.messages for one in outcomes} == {2 * (1 + 1)}


def test_of_the_owners_one_of_each_set_is_asked():
    # Nine agents, three replicas: three sets, of which the asker's own needs no message.
    outcomes = told(Arm("sharded", 9), drawn()).outcomes

    assert {one.cost.fan_out for one in outcomes} == {2}
    assert {one.cost.messages for one in outcomes} <= {2 * (2 + handing) for handing in (0, 1, 2)}


def test_a_group_that_is_down_is_asked_twice_and_hands_nothing_over():
    scope = scope_of(["alpha pump", "beta pump", "gamma pump", "delta pump"], ["pump"] * 4)

    outcomes = told(Arm("federated", 4, groups=4), scope, fault=Fault(down=1)).outcomes

    assert [one.cost.messages for one in outcomes] == [2 * (2 + 2) + 2] * 4
    assert {one.cost.fan_out for one in outcomes} == {3}
    assert {one.cost.completeness for one in outcomes} == {0.75}
    assert {len(one.hits) for one in outcomes} == {3}


@pytest.mark.parametrize(("down", "seed"), [(1, 1), (3, 2), (4, 3), (5, 4), (5, 5)])
def test_what_is_missing_of_a_sharded_hive_is_exact(down: int, seed: int):
    arm, fault = Arm("sharded", 6, replicas=2), Fault(down=down)
    stopped = down_of(Cell("cell", DataSource("notes"), arm, Retrieval(), seed, fault))
    topology = Sharded(first_placement(names_of(6), 2))
    gone = sum(1 for number in range(1024) if stopped.issuperset(topology.placement.holders(number)))

    one = told(arm, drawn(questions=3), fault=fault, seed=seed)

    assert [outcome.cost.completeness for outcome in one.outcomes] == pytest.approx([1 - gone / 1024] * 3)


def test_replicas_stand_in_without_a_message_more():
    scope, arm = drawn(), Arm("sharded", 6)
    alone = told(Arm("single"), scope)

    one = told(arm, scope, fault=Fault(down=2))

    assert one.facts == alone.facts
    assert {outcome.cost.completeness for outcome in one.outcomes} == {1.0}
    assert {outcome.cost.fan_out for outcome in one.outcomes} == {1}


def test_of_the_same_seed_those_who_are_down_stay_down_when_more_are():
    scope, arm = drawn(questions=8), Arm("federated", 8, groups=8)

    found = [told(arm, scope, fault=Fault(down=down), limit=60).found for down in (1, 3, 5)]

    for fewer, more in pairwise(found):
        assert all(set(after) <= set(before) for before, after in zip(fewer, more, strict=True))


def test_learning_costs_messages_only_where_facts_travel():
    scope = drawn()
    flat, sharded = told(Arm("flat", 6), scope, asked=slice(0)), told(Arm("sharded", 6), scope, asked=slice(0))

    assert (flat.learned.messages, flat.learned.bytes) == (0, 0)
    assert sharded.learned.messages
    assert sharded.learned.bytes
    # Each fact's text goes to two owners besides the one where it is learned, or to three.
    assert sharded.learned.bytes > 2 * sum(len(document.text) for document in scope.documents)
