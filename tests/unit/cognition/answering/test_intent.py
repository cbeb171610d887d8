import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.cognition.answering.intent import Kind, intent_of


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Who owns billing?", Kind.LOOKUP),
        ("Where does Ana live?", Kind.LOOKUP),
        ("When did Ana move to Porto?", Kind.TEMPORAL),
        ("How long was the outage?", Kind.TEMPORAL),
        ("What date is the launch?", Kind.TEMPORAL),
        ("How many incidents were there?", Kind.COUNT),
        ("List all owners.", Kind.LIST),
        ("What are the known risks?", Kind.LIST),
        ("Which cities has Ana visited?", Kind.LIST),
        ("What is the difference between flat and sharded?", Kind.COMPARISON),
        ("Which service has the most errors?", Kind.COMPARISON),
        ("Is billing down?", Kind.YES_NO),
        ("What is the current budget?", Kind.CURRENT),
        ("Who is the owner now?", Kind.CURRENT),
        ("What was the budget before?", Kind.HISTORY),
        ("Who was the previous owner?", Kind.HISTORY),
        ("How has the deadline changed?", Kind.HISTORY),
        ("Where did Ana use to live originally?", Kind.HISTORY),
        ("", Kind.LOOKUP),
    ],
)
def test_the_kind_of_a_question_is_told_from_its_words(question: str, kind: Kind):
    assert intent_of(question).kind is kind


def test_only_the_past_wants_superseded_facts():
    assert intent_of("What was the budget before?").wants_superseded
    assert not intent_of("What is the budget?").wants_superseded
    assert not intent_of("What did Ana do before breakfast?").wants_superseded


def test_yes_or_no_wants_fewer_hits_than_a_look_up():
    assert intent_of("Does Ana own billing?").hits < intent_of("Who owns billing?").hits


@given(st.text())
def test_any_text_has_an_intent(question: str):
    assert intent_of(question).hits > 0


@pytest.mark.parametrize(
    "question", ["Summarise INC-7: cause and repair.", "Brief me on Grey Heron.", "Give me an overview of the pumps."]
)
def test_a_summary_wants_as_many_facts_as_a_list(question: str):
    assert intent_of(question).kind is Kind.LIST


def test_a_question_about_a_disagreement_wants_all_sides():
    assert intent_of("What conflicting statements are there on the budget?").kind is Kind.COMPARISON
