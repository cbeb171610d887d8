"""Who learns which document."""

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.evals.arms import DEALS, deal_by, names_of, worded
from hive_mind.evals.datasets import Document

TURNS = [
    Document(
        f"d{number}",
        f"Turn {number}.",
        "talk",
        speaker=("Ines", "Otto")[number % 2],
        section=f"session {number // 4}",
        topic=("pumps", "doors", "ferries")[number % 3],
    )
    for number in range(12)
]


@pytest.mark.parametrize("name", DEALS)
@pytest.mark.parametrize("agents", [1, 3, 10, 20])
def test_every_document_goes_to_exactly_one_agent(name: str, agents: int):
    dealt = deal_by(name)(TURNS, agents)

    assert len(dealt) == agents
    assert sorted(document.id for some in dealt for document in some) == sorted(document.id for document in TURNS)


def test_one_after_the_other_everybody_gets_as_much():
    assert [[one.id for one in some] for some in deal_by("round-robin")(TURNS[:5], 2)] == [["d0", "d2", "d4"], ["d1", "d3"]]


@pytest.mark.parametrize(("name", "field"), [("session", "section"), ("speaker", "speaker"), ("topic", "topic")])
def test_what_belongs_together_is_learned_by_one_agent_in_its_order(name: str, field: str):
    dealt = deal_by(name)(TURNS, 5)

    learners = {getattr(document, field): set() for document in TURNS}
    for number, some in enumerate(dealt):
        for document in some:
            learners[getattr(document, field)].add(number)
        assert [one.id for one in some] == sorted((one.id for one in some), key=lambda name: int(name[1:]))
    assert all(len(agents) == 1 for agents in learners.values())
    assert sum(map(bool, dealt)) == len(learners)


def test_where_a_deal_is_drawn_the_seed_decides_and_nothing_else():
    once, again, other = (deal_by("random", seed)(TURNS, 4) for seed in (7, 7, 8))

    assert once == again
    assert once != other


@pytest.mark.parametrize("name", [name for name in DEALS if name != "random"])
def test_where_nothing_is_drawn_the_seed_changes_nothing(name: str):
    assert deal_by(name, 7)(TURNS, 4) == deal_by(name, 8)(TURNS, 4)


def test_a_way_to_deal_that_does_not_exist_is_refused_with_those_that_do():
    with pytest.raises(InvalidInput, match="'by moon'; known: round-robin, session, speaker, topic, random"):
        deal_by("by moon")


def test_agents_have_names_that_sort_as_they_are_numbered():
    names = names_of(100)

    assert names[:2] == ("agent-00", "agent-01")
    assert list(names) == sorted(set(names))
    assert len(names) == 100


def test_only_documents_that_say_something_are_kept():
    assert [one.id for one in worded([Document("a", "Word.", "x"), Document("b", "…!", "x"), Document("c", "", "x")])] == ["a"]
