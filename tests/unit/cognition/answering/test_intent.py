import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.cognition.answering.intent import Kind, direct, intent_of, parts_of
from tests.unit.cognition.reading import answer, hit


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


@pytest.mark.parametrize(
    "question", ["Summarise INC-7: cause and repair.", "Brief me on Grey Heron.", "Give me an overview of the pumps."]
)
def test_a_summary_wants_as_many_facts_as_a_list(question: str):
    assert intent_of(question).kind is Kind.LIST


def test_a_question_about_a_disagreement_wants_all_sides():
    assert intent_of("What conflicting statements are there on the budget?").kind is Kind.COMPARISON


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


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Summarise INC-2024-1: cause, repair and damage.", ("cause: INC-2024-1", "repair: INC-2024-1", "damage: INC-2024-1")),
        ("Who sold the boat, and what did it cost?", ("Who sold the boat", "what did it cost")),
        ("What came first in Blue Fox, the fence or the roof?", ("the fence: Blue Fox", "the roof: Blue Fox")),
        (
            "What is the plan for Ana Roth, including the window, the route and the key?",
            ("What is the plan for Ana Roth", "the window: Ana Roth", "the route: Ana Roth", "the key: Ana Roth"),
        ),
        (
            "What is the slot of Blue Fox, which door should he use, and who has the key?",
            ("What is the slot of Blue Fox", "which door should he use: Blue Fox", "who has the key: Blue Fox"),
        ),
        ("What is the rent, including heating?", ()),
        ("Who sold the boat?", ()),
        ("Do we need bread or milk?", ()),
    ],
)
def test_a_question_for_several_things_has_a_part_for_each(question: str, parts: tuple[str, ...]):
    assert parts_of(question) == parts


BLUE_FOX = [hit(f"The {what} of Blue Fox is {how}.", keyword=5.0) for what, how in (("vendor", "Ana"), ("colour", "red"))]


def test_what_stands_in_front_of_a_list_is_not_said_to_be_unknown():
    found = answer("What is told of Blue Fox, including the vendor, the colour and the weight?", *BLUE_FOX)

    assert found.text.endswith(
        "Partly: “the vendor: Blue Fox”, “the colour: Blue Fox” is answered, “the weight: Blue Fox” is not."
    )


def test_each_part_is_answered_by_a_fact_of_its_own():
    found = answer("Give me an overview of Blue Fox: vendor, colour and weight.", *BLUE_FOX)

    assert {source.fact.content for source in found.sources} == {told.fact.content for told in BLUE_FOX}


@given(st.text(max_size=300))
def test_any_text_has_parts_or_none(text: str):
    assert len(parts_of(text)) <= 8


def test_asking_what_it_is_asks_for_nothing_else():
    assert parts_of("Is the opening of Grey Heron confirmed, and what is it?") == ()
