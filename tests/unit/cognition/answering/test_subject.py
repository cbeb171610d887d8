"""In a dialogue "I" is who speaks and "you" is somebody else."""

import pytest

from hive_mind.cognition.answering.question_terms import asked_of
from hive_mind.cognition.answering.relevance import judgement
from hive_mind.cognition.answering.subject import only_about, only_asks, question_replied_to
from hive_mind.ranking.tokens import terms_in
from tests.unit.cognition.reading import answer, hit

ANA = (terms_in("Ana"),)


@pytest.mark.parametrize(
    ("question", "answering", "other"),
    [
        ("Who runs Slender Chestnut?", "Ana Berg runs Slender Chestnut.", "Ben Holm runs Slender Bellows."),
        ("Who runs Slender Chestnut?", "Ana Berg runs Chestnut.", "Ben Holm runs Bellows."),
        ("What does Pia Zanetti play?", "Pia Zanetti plays the flute.", "Pia Nolde plays the flute."),
    ],
)
def test_a_fact_about_a_namesake_does_not_answer(question: str, answering: str, other: str):
    assert answer(question, hit(answering, keyword=9.0)).is_known
    assert not answer(question, hit(other, keyword=9.0)).is_known


def test_a_namesake_that_speaks_is_another_person_too():
    question = "What does Pia Zanetti play?"

    assert answer(question, hit("I play the flute.", speaker="Pia Zanetti", keyword=9.0)).is_known
    assert not answer(question, hit("I play the flute.", speaker="Pia Nolde", keyword=9.0)).is_known


@pytest.mark.parametrize(("named", "is_known"), [("Hidden Wolf", True), ("Wolf", True), ("Hidden Galleon", False)])
def test_it_is_no_namesake_of_what_was_named_just_before(named: str, is_known: bool):
    before = f"Gideon: Let us move on to {named}."
    told = hit("Xenia: The date of the survey of it is 10 August 2021.", speaker="Xenia", before=before, keyword=9.0)

    assert answer("What is the date of the survey of Hidden Wolf?", told).is_known == is_known


def test_it_is_what_was_named_just_before_and_is_quoted_with_that():
    before = "Gideon: Hidden Wolf is next, who starts?"
    told = "Xenia: The date of the survey of it is 10 August 2021."
    question = "What is the date of the survey of Hidden Wolf?"

    found = answer(question, hit(told, speaker="Xenia", before=before, keyword=9.0))

    assert found.text.endswith(f"“{told}” (after “{before}”)")
    assert not answer(question, hit(told, speaker="Xenia", before="Gideon: Lunar Hornet is next.", keyword=9.0)).is_known


def test_it_is_not_what_is_named_in_its_own_clause_and_may_be_what_is_named_ahead_of_that():
    asked, before = asked_of("Who runs Hidden Wolf?"), "Hidden Wolf is next."

    assert judgement(asked, hit("Ana Berg runs it.", before=before)) is not None
    assert judgement(asked, hit("We put Ana Berg down as the boss of it.", before=before)) is not None
    assert judgement(asked, hit("Lunar Hornet is late, and Ana Berg runs it.", before=before)) is None
    assert judgement(asked, hit("Ana Berg has her own.", before=before)) is None


def test_an_identifier_may_stand_just_before():
    repaired = hit("It got a new cable.", before="wren-vpn-11 is down.", keyword=5.0)

    assert (found := judgement(asked_of("What cable did wren-vpn-11 get?"), repaired))
    assert found.is_named
    assert found.is_carried


def test_an_address_that_shares_a_word_is_no_other_name():
    assert answer("How do I get a key for the Tern API?", hit("Mail keys@tern.example for a key.", keyword=9.0)).is_known


@pytest.mark.parametrize("told", ["Ana, I sold my boat.", "Hey Ana! I sold my boat yesterday.", "I sold my boat, Ana!"])
def test_what_somebody_tells_ana_about_themselves_is_not_about_ana(told: str):
    assert not answer("Who did Ana sell the boat to?", hit(told, speaker="Ben", keyword=9.0)).is_known
    assert not answer("When did Ana sell her boat?", hit(told, speaker="Ben", keyword=9.0)).is_known


def test_what_somebody_tells_ana_about_her_is():
    assert judgement(asked_of("What was Ana sold?"), hit("I sold you the boat, Ana.", speaker="Ben")) is not None
    assert judgement(asked_of("What did Ana sell?"), hit("My sister Ana sold her boat.", speaker="Ben")) is not None


def test_who_spoke_just_before_is_not_whom_it_is_about():
    assert judgement(asked_of("What is the boat of Ana like?"), hit("It is blue.", speaker="Ben", before="Ana: A boat?")) is None


@pytest.mark.parametrize(
    ("speaker", "said", "about_ana"),
    [
        ("Ana", "That is great. Your boat is fast! I want a kayak.", "That is great. I want a kayak."),
        ("Ana", "I like your boat.", "I like your boat."),
        ("Ben", "Thanks, Ana! My grandmother was young then. Your boat is fast.", "Thanks, Ana! Your boat is fast."),
        ("Ben", "Woohoo Ana! I sold my boat.", "Woohoo Ana!"),
        ("Ben", "I met Ana. We sold my boat.", "I met Ana. We sold my boat."),
    ],
)
def test_of_an_utterance_the_sentences_about_the_other_are_left_out(speaker: str, said: str, about_ana: str):
    for lead in ("", f"{speaker}: "):
        told = only_about(ANA, hit(lead + said, speaker=speaker).fact)
        assert told is not None
        assert told.content == lead + about_ana


def test_so_are_those_of_what_stands_before_it():
    known = {"speaker": "Ana", "before": "Ben: I saw a whale, Ana. Did you see it?"}

    told = only_about(ANA, hit("Wow.", **known).fact)

    assert told is not None
    assert told.before == "Ben: Did you see it?"


def test_where_all_of_it_is_about_the_other_nothing_is_left_and_texts_without_speakers_stay():
    assert only_about(ANA, hit("Ana, I sold my boat.", speaker="Ben").fact) is None
    assert only_about(ANA, (text := hit("Ana, you sold your boat.")).fact) is text.fact


def test_what_ana_says_about_the_boat_of_ben_does_not_answer_what_is_asked_about_hers():
    question = "What colour is the boat of Ana?"

    assert not answer(question, hit("Ana: Wow, your boat is such a lovely blue!", speaker="Ana", keyword=9.0)).is_known
    assert answer(question, hit("Ana: My boat is blue like yours.", speaker="Ana", keyword=9.0)).is_known


@pytest.mark.parametrize(
    ("said", "asks"),
    [
        ("Ola: When does the pump start?", True),
        ("Ola: Hi Ben! Great. When does the pump start?", True),
        ("Ola: The pump started on Monday. How is yours?", False),
        ("Ola: The pump started on Monday.", False),
        ("Ola: When does it start? Ben: At nine.", False),
        ("[When does the pump start?](pump.md)", True),
        ("Ola: …", True),
    ],
)
def test_a_turn_that_states_something_ahead_of_its_question_does_not_only_ask(said: str, asks: bool):
    assert only_asks(hit(said, speaker="Ola" if said.startswith("Ola: ") else "").fact) is asks


@pytest.mark.parametrize(
    ("before", "speaker", "asked"),
    [
        ("Sanne: Heeft iemand de sleutel?", "Bram", "Heeft iemand de sleutel?"),
        ("Bram: Heeft iemand de sleutel?", "Bram", ""),
        ("Sanne: De sleutel is weg.", "Bram", ""),
        ("Heeft iemand de sleutel?", "", ""),
    ],
)
def test_a_reply_is_about_what_somebody_else_asked(before: str, speaker: str, asked: str):
    reply = hit(f"{speaker}: Die ligt bij Joost.", speaker=speaker, before=before)
    assert question_replied_to(reply.fact) == asked
