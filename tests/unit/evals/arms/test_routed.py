"""A coordinator that asks a few agents only, those whose facts are nearest by meaning."""

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.evals.experiments import Arm, Fault
from tests.sampled import thorough
from tests.unit.evals.arms.notes import NoVectors, drawn, scope_of, told

TOPICS = scope_of(
    ["red pump leaks", "the ferry leaves at nine", "blue door opens", "green pump", "the ferry is late", "the door closes"],
    ["which pump is red", "when is the ferry", "is the door blue"],
    topic=["pumps", "ferries", "doors"] * 2,
)


# The other modes are in test_parity.
@pytest.mark.parametrize("mode", ["lexical", thorough("semantic")])
def test_who_asks_everybody_finds_what_one_memory_finds(mode: str):
    scope = drawn()

    everybody = told(Arm("routed", 6, fan_out=6, deal="random"), scope, mode)

    assert everybody.facts == told(Arm("single"), scope, mode).facts
    assert {one.cost.completeness for one in everybody.outcomes} == {1.0}


def test_the_one_agent_who_knows_about_it_is_asked():
    one = told(Arm("routed", 3, fan_out=1, deal="topic"), TOPICS)

    assert list(map(sorted, one.found)) == [["d0", "d3"], ["d1", "d4"], ["d2", "d5"]]
    assert {outcome.cost.completeness for outcome in one.outcomes} == {1 / 3}
    # Each question is put by the agent that happens to know: it asks itself.
    assert one.messages == [0, 0, 0]


def test_messages_are_those_of_a_hive_of_the_chosen():
    scope = scope_of([document.text for document in TOPICS.documents], ["door blue"], topic=["pumps", "ferries", "doors"] * 2)

    (outcome,) = told(Arm("routed", 3, fan_out=1, deal="topic"), scope).outcomes

    # The agent of the pumps asks the one of the doors: search and hand over.
    assert (outcome.cost.fan_out, outcome.cost.messages) == (1, 2 * (1 + 1))


def test_facts_that_are_sure_enough_for_everyone_elsewhere_stay_where_they_are():
    texts = [document.text for document in TOPICS.documents]
    scope = scope_of(texts, ["ferry"], topic=["pumps", "ferries", "doors"] * 2, meta=[{"confidence": "0.95"}] * 6)

    assert sorted(told(Arm("routed", 3, fan_out=1, deal="topic"), scope).found[0]) == ["d1", "d4"]


def test_a_chosen_one_that_is_down_is_missing():
    found = [told(Arm("routed", 3, fan_out=1, deal="topic"), TOPICS, fault=Fault(down=1), seed=seed) for seed in range(4)]

    for one in found:
        assert sorted(outcome.cost.completeness for outcome in one.outcomes) == pytest.approx([0, 1 / 3, 1 / 3])
        assert sorted(len(names) for names in one.found) == [0, 2, 2]


def test_an_agent_that_learned_nothing_is_asked_last():
    scope = scope_of(["red pump"], ["something else altogether"])

    (outcome,) = told(Arm("routed", 4, fan_out=1), scope, "semantic").outcomes

    assert [hit.fact.content for hit in outcome.hits] == ["red pump"] or not outcome.hits
    assert outcome.cost.fan_out == 0


def test_what_another_was_told_first_is_none_of_what_an_agent_is_known_for():
    # The second agent is dealt what the first one keeps already, so it keeps nothing, and whoever asks it finds nothing.
    scope = scope_of(["red pump", "the ferry leaves", "red pump"], ["red pump"], topic=["pumps", "pumps", "again"])

    (outcome,) = told(Arm("routed", 2, fan_out=1, deal="topic"), scope).outcomes

    assert [hit.fact.content for hit in outcome.hits] == ["red pump"]


@pytest.mark.parametrize("fan_out", [0, 4])
def test_a_fan_out_that_can_not_be_is_refused(fan_out: int):
    with pytest.raises(InvalidInput, match="between 1 and all 3 of its agents"):
        told(Arm("routed", 3, fan_out=fan_out), TOPICS)


def test_without_a_model_there_is_no_meaning_to_go_by():
    with pytest.raises(InvalidInput, match="needs an embedding model"):
        told(Arm("routed", 3, fan_out=1), TOPICS, embedder=NoVectors())
