import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.cognition.answering.intent import direct
from tests.unit.cognition.reading import answer, hit


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("Can you tell me when the ferry leaves?", "when the ferry leaves?"),
        ("Does anybody know who owns the van?", "who owns the van?"),
        ("Do we know the rent of the flat?", "What is the rent of the flat?"),
        ("I'd like to know where the key is", "where the key is"),
        ("Weißt du, wann das Bad öffnet?", "wann das Bad öffnet?"),
    ],
)
def test_what_is_asked_politely_is_asked_directly(asked: str, meant: str):
    assert direct(asked) == meant


@pytest.mark.parametrize("question", ["Do you know Ana?", "Tell me the whole story of the flood.", "Can the ferry leave?", ""])
def test_other_questions_stay_as_they_are(question: str):
    assert direct(question) == question


def test_a_polite_question_is_not_answered_by_what_only_shares_a_word():
    notes = hit("Grey Heron got a new rent table, 12 pages.", keyword=8.0)

    assert not answer("Do we know the price of Grey Heron?", notes).is_known
    assert answer("Can you tell me the price of Grey Heron?", hit("Grey Heron costs 300 euros.", keyword=6.0)).is_known


@given(st.text())
def test_any_text_can_be_asked(question: str):
    assert direct(question) or not question
