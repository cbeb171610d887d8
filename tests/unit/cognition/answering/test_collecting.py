import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.cognition.answering.tallying import aggregations_of, collected_answer
from hive_mind.model.aggregation import Aggregated, Aggregation
from tests.unit.cognition.reading import hit


@pytest.mark.parametrize(
    ("question", "kind", "about"),
    [
        ("How many notes are there on D4?", "count", "D4"),
        ("How many facts do we know about the cooling pump?", "count", "cooling pump"),
        ("How many records mention INC-7?", "count", "INC-7"),
        ("How often is INC-7 mentioned?", "count", "INC-7"),
        ("List all facts about D4.", "list", "D4"),
        ("Show me everything we know about Ana Berg", "list", "Ana Berg"),
        ("List all incidents", "list", "incidents"),
        ("What is the latest note on D4?", "latest", "D4"),
        ("What's the most recent news about D4?", "latest", "D4"),
        ("What was the first thing said about D4?", "earliest", "D4"),
    ],
)
def test_a_question_for_all_facts_is_told_by_its_words(question: str, kind: str, about: str):
    first = next(aggregations_of(question))

    assert (first.kind, first.about) == (kind, about)


@pytest.mark.parametrize(
    "question",
    [
        "How many solar panels does the cooperative own?",
        "How many pumps are there?",
        "What is the latest bus?",
        "Who said something about D4?",
        "What is the first rule of the house?",
        "",
    ],
)
def test_a_question_that_some_fact_answers_is_none(question: str):
    assert list(aggregations_of(question)) == []


def test_what_is_about_several_is_tried_in_the_singular_too():
    assert [one.about for one in aggregations_of("List all incidents")] == ["incidents", "incident"]


@given(st.text(max_size=400))
def test_any_text_is_looked_at(text: str):
    assert len(list(aggregations_of(text))) <= 2


def test_a_count_is_a_sentence_and_a_list_quotes():
    facts = (hit("D4 is red.", said_at="2025-01-02").fact, hit("D4 was blue.", said_at="2025-01-01").fact)

    assert collected_answer(Aggregated(Aggregation("count", "D4"), 2)).text == "2 facts about D4."
    listed = collected_answer(Aggregated(Aggregation("list", "D4"), 2, facts))
    assert listed.text == "All of 2 facts about D4, the latest first:\n“D4 is red.” — 2 Jan 2025\n“D4 was blue.” — 1 Jan 2025"
    assert (listed.is_known, listed.method, [one.fact for one in listed.sources]) == (True, "collected", list(facts))
    shown = collected_answer(Aggregated(Aggregation("latest", "D4"), 2, facts[:1]))
    assert shown.text.startswith("The latest of 2 facts about D4:\n")


def test_what_did_not_answer_is_told():
    found = collected_answer(Aggregated(Aggregation("count", "D4"), 2, (), 0.75, ("n1", "n4")))

    assert found.text == "2 facts about D4 in 75% of the hive; 2 members did not answer (n1, n4)."
    assert found.completeness == 0.75
